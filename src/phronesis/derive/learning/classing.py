"""How a run bears on claims, put together: arithmetic where a test decides, else what a model said and showed (RB-18).

What a model said that does not count is told, with the rule that kept it out: a claim that it was not shown, a class
without anything that shows it, a verdict of a run on what was made of this run alone, a deletion that too few runs
bear.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.reasoning.records import Claim, ReasoningBlock
from phronesis.core.state_machine import DEMOTION_CONTRA
from phronesis.derive.instructions import find_order
from phronesis.derive.learning.answer import ClaimClass
from phronesis.derive.learning.bearing import BY_MODEL
from phronesis.derive.learning.showing import stands_in, words_of
from phronesis.derive.learning.sifting import ORDER, OUTSIDE
from phronesis.derive.learning.teaching import Taught
from phronesis.derive.learning.weighing import BY_RULE, Scales
from phronesis.truth.reader import fit

UNKNOWN: Final = "unknown_claim"
TWICE: Final = "classed_twice"
UNSHOWN: Final = "nothing_shown"
OWN_RUN: Final = "own_run"
OVERRULED: Final = "decided_by_rule"
NOT_WRONG: Final = "not_plainly_wrong"
REWORDED: Final = "worded_anew"
"""Rules of this place."""


@dataclass(slots=True)
class Classes:
    """Classes that a model gave, by item and claim, and those that do not count."""

    model: str = ""
    given: dict[tuple[str, str], ClaimClass] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)

    def row(self, scales: Scales, item_id: str, claim: Claim) -> dict[str, Any]:
        """Give what is recorded of the run's bearing on a claim."""
        verdict = scales.weigh(claim)
        row: dict[str, Any] = {"claim_id": claim.claim_id, "verdict": verdict, "by": BY_RULE}
        one = self.given.get((item_id, claim.claim_id))
        if one is None:
            return row
        if scales.test_of(claim) is not None:
            if one.says != verdict:
                self.refuse(item_id, claim.claim_id, one.says, OVERRULED, f"its test says {verdict}")
        elif one.says != "irrelevant" and list(claim.facts.get("source_run_ids", ())) == [scales.run.run_id]:
            self.refuse(item_id, claim.claim_id, one.says, OWN_RUN, "the claim was made of this run alone")
        else:
            said = {name: text for name, text in (("quote", one.quote), ("reason", one.reason)) if text}
            row |= {"verdict": one.says, "by": BY_MODEL, "model": self.model, **said}
        if one.delete:
            self._delete(scales, item_id, claim, one, row)
        return row

    def refuse(self, item_id: str | None, claim_id: str, said: str, rule: str, reason: str) -> None:
        """Note something that a model said and that does not count."""
        self.refused.append({"item_id": item_id, "claim_id": claim_id, "said": said, "rule": rule, "reason": reason})

    def spare_reworded(
        self,
        bearing: Mapping[str, Sequence[dict[str, Any]]],
        known: Mapping[str, ReasoningBlock],
        blocks: Mapping[str, ReasoningBlock],
    ) -> None:
        """Take back the deletion of claims that the same learn words anew: what was wrong is no longer said."""
        for item_id, rows in bearing.items():
            before, after = _words(known[item_id]), _words(blocks[item_id])
            for row in rows:
                claim_id = row["claim_id"]
                if "delete" in row and claim_id in after and after[claim_id] != before[claim_id]:
                    del row["delete"]
                    self.refuse(item_id, claim_id, "delete", REWORDED, "a proposal words the claim anew")

    def _delete(self, scales: Scales, item_id: str, claim: Claim, one: ClaimClass, row: dict[str, Any]) -> None:
        if one.reason and against(claim, row["verdict"], scales.run.run_id) >= DEMOTION_CONTRA:
            row |= {"delete": one.reason, "model": self.model}
            return
        why = f"fewer than {DEMOTION_CONTRA} runs contradict it, this one among them" if one.reason else "no reason"
        self.refuse(item_id, claim.claim_id, "delete", NOT_WRONG, why)


def against(claim: Claim, verdict: str, run_id: str) -> int:
    """Give how many runs contradict a claim once this one is counted; 0 where this one is not among them.

    ``claim`` is as it stands; a run counts by its first verdict.
    """
    if run_id in claim.contra.run_ids:
        return claim.contra.count
    return claim.contra.count + 1 if verdict == "contra" and run_id not in claim.support.run_ids else 0


def may_go(claim: Claim, rows: Sequence[Mapping[str, Any]], run_id: str) -> bool:
    """Tell whether enough runs contradict a claim for it to be deleted; ``rows`` are those of its item."""
    verdict = next((row["verdict"] for row in rows if row["claim_id"] == claim.claim_id), "irrelevant")
    return against(claim, verdict, run_id) >= DEMOTION_CONTRA


def _words(block: ReasoningBlock) -> dict[str, dict[str, Any]]:
    return {claim.claim_id: words_of(claim) for claim in block.claims}


def classes_of(taught: Taught, facts: Mapping[str, Any], known: Mapping[str, ReasoningBlock]) -> Classes:
    """Part the classes that may count from those of claims that were not shown, or that nothing shows."""
    classes = Classes(taught.model)
    for one in taught.classes:
        claim_id = fit(one.claim_id)
        item_id = taught.ids[one.item] if one.item < len(taught.ids) else None
        if item_id is None:
            classes.refuse(None, claim_id, one.says, OUTSIDE, f"no item was shown as {one.item}")
        elif all(claim.claim_id != one.claim_id for claim in known[item_id].claims):
            classes.refuse(item_id, claim_id, one.says, UNKNOWN, "the item has no such claim")
        elif (item_id, one.claim_id) in classes.given:
            classes.refuse(item_id, claim_id, one.says, TWICE, "its first class counts")
        else:
            _take(classes, one, item_id, facts, taught.told)
    return classes


def _take(classes: Classes, one: ClaimClass, item_id: str, facts: Mapping[str, Any], told: str) -> None:
    quote, reason = (" ".join(fit(text).split()) for text in (one.quote, one.reason))
    if quote and not stands_in(quote, facts, told):
        quote = ""
    if find_order(f"{quote}\n{reason}") is not None:
        classes.refuse(item_id, one.claim_id, one.says, ORDER, "what should show it reads like an order")
    elif one.says != "irrelevant" and not quote and not reason:
        classes.refuse(item_id, one.claim_id, one.says, UNSHOWN, "it quotes nothing of the FACTS and gives no reason")
    else:
        classes.given[item_id, one.claim_id] = one.model_copy(update={"quote": quote, "reason": reason})
