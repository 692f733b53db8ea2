"""Ask a model about a run: verdicts on claims and proposals in one call, and a second call to reword a refused one.

Its answers are recorded whole, so that a replay calls no model. Where they are unusable, the rules do all of it, and an
outcome ``degraded`` records that. The verdicts are merged with those of arithmetic. Without a model of the role
``learn``, that of ``decide`` gives verdicts alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from phronesis.core.confidence import DEMOTION_CONTRA
from phronesis.core.entries import Entry, Outcome
from phronesis.engine.handler import Decisions, answer_outcomes, degraded_outcome
from phronesis.engine.prompt_injection import find_order
from phronesis.errors import ModelUnavailable
from phronesis.log.payloads import fit
from phronesis.models.decision import CONTRA, SUPPORT, ask_claim
from phronesis.models.structured_client import Answer, StructuredClient, Task, prompt
from phronesis.reasoning.claim_effects import BY_MODEL, BY_RULE, ClaimJudge, test_of
from phronesis.reasoning.claim_gate import KB_ALIAS, NEXT_STEP, POSITIVE_CONSTRAINT, gate
from phronesis.reasoning.laws.claim_status import text_of
from phronesis.reasoning.laws.records import Claim, ReasoningBlock
from phronesis.reasoning.learn_candidates import RULES, Proposal
from phronesis.reasoning.learn_prompt import (
    ClaimClass,
    Lesson,
    ProposedItem,
    RewriteAnswer,
    block_of_proposal,
    build_prompt,
    claim_text,
    facts_text,
    repair_prompt_data,
    rewritten_block,
    stands_in,
    words_of,
)
from phronesis.reasoning.proposal_filter import ORDER, OUTSIDE

ROLE: Final = "learn"
ASKED: Final = "asked"
"""The role of the outcome that names the model asked and the items shown."""

PROMPT_VERSION: Final = "learn/2"
"""Version of ``prompts/learn.md`` and ``prompts/learn_rewrite.md``, recorded with every outcome."""

REPAIR: Final = "claims-repair/1"
"""Name of the repair by rules, where no model does it."""

_WORDING: Final = frozenset({KB_ALIAS, NEXT_STEP, POSITIVE_CONSTRAINT})
"""Rules that another wording can satisfy. Eleven claims, or an empty claim, cannot be fixed by wording."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The data of a question about a run: FACTS, and the current candidates.

    ``used`` are, by item, the ids that a new claim must not have.
    """

    entry: Entry
    run_id: str
    facts: Mapping[str, Any]
    known: Mapping[str, ReasoningBlock]
    used: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVerdicts:
    """A model's answer about a run. If ``answered`` is false, rules take over.

    ``rewrites`` maps the text of a block to the same block in valid form; ``ids`` are the items by the numbers under
    which they were shown, ``told`` the FACTS as shown.
    """

    model: str
    outcomes: Sequence[Outcome]
    answered: bool = False
    proposals: Sequence[Proposal] = ()
    rewrites: Mapping[str, str] = field(default_factory=dict)
    classes: Sequence[ClaimClass] = ()
    ids: Sequence[str] = ()
    told: str = ""

    @property
    def made_by(self) -> str:
        """Gateway, model and prompt version."""
        return f"{self.model} {PROMPT_VERSION}"


def unknown_model_result(reference: str) -> ModelVerdicts:
    """Return the result for a model whose gateway no longer exists: no answer, recorded as degraded."""
    outcome = degraded_outcome(ROLE, ModelUnavailable.code, model=reference, by=RULES)
    return ModelVerdicts(model=reference, outcomes=[outcome])


def ask_about_run(asker: StructuredClient, tenant: str, question: Question) -> ModelVerdicts:
    """Ask about a run. Errors of models and servers are not raised; no transaction may be open during the call."""
    seen = build_prompt(question.entry.id, question.facts, question.known)
    answer: Answer[Lesson] = asker.ask(tenant, Task(prompt("learn"), seen.data, Lesson))
    body = {"model": asker.name, "shown": list(seen.ids), "left_out": len(question.known) - len(seen.ids)}
    outcomes = [Outcome(role=ASKED, made_by=f"{asker.name} {PROMPT_VERSION}", body=body)]
    outcomes += answer_outcomes(ROLE, answer, model=asker.name, by=RULES)
    verdicts = ModelVerdicts(model=asker.name, outcomes=outcomes, ids=seen.ids, told=seen.facts)
    if answer.value is None:
        return verdicts

    def ask_again(data: str) -> RewriteAnswer | None:
        again: Answer[RewriteAnswer] = asker.ask(tenant, Task(prompt("learn_rewrite"), data, RewriteAnswer))
        outcomes.extend(answer_outcomes(ROLE, again, model=asker.name, by=REPAIR, after=outcomes))
        return again.value

    meant = [_proposal(asker.name, one, question, seen.ids) for one in answer.value.proposals]
    put_right = ((made.content, _put_right(ask_again, question.entry.id, made, block)) for made, block in meant)
    rewrites = {content: right for content, right in put_right if right is not None}
    proposals, classes = [made for made, _ in meant], answer.value.classes
    return replace(verdicts, answered=True, proposals=proposals, rewrites=rewrites, classes=classes)


def _proposal(model: str, one: ProposedItem, question: Question, ids: Sequence[str]) -> tuple[Proposal, ReasoningBlock]:
    item_id = ids[one.item] if one.action == "update" and one.item is not None and one.item < len(ids) else None
    current = None if item_id is None else question.known[item_id]
    used = question.used.get(item_id or "", frozenset())
    block = block_of_proposal(one, current, question.run_id, used)
    made_by = f"{model} {PROMPT_VERSION}"
    return Proposal(action=one.action, content=text_of(block), made_by=made_by, item_id=item_id), block


def _put_right(
    ask: Callable[[str], RewriteAnswer | None], entry_id: str, made: Proposal, block: ReasoningBlock
) -> str | None:
    """Ask once for another wording of a block refused for its wording alone; None if it is still invalid."""
    violations = gate(made.content)
    outside = made.action == "update" and made.item_id is None
    if outside or not violations or not _WORDING.issuperset(one.rule for one in violations):
        return None
    answer = ask(repair_prompt_data(entry_id, block, violations))
    right = None if answer is None else rewritten_block(block, answer, [one.claim_id for one in violations])
    return None if right is None or gate(text_of(right)) else text_of(right)


# Merging verdicts: arithmetic where a test decides, else the model's verdict with its evidence (RB-18).

UNKNOWN: Final = "unknown_claim"
TWICE: Final = "classed_twice"
UNSHOWN: Final = "nothing_shown"
OWN_RUN: Final = "own_run"
OVERRULED: Final = "decided_by_rule"
NOT_WRONG: Final = "not_plainly_wrong"
REWORDED: Final = "worded_anew"
"""Rules of this module."""


@dataclass(slots=True)
class Classes:
    """A model's verdicts by item and claim, and those that do not count."""

    model: str = ""
    given: dict[tuple[str, str], ClaimClass] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)

    def row(self, scales: ClaimJudge, item_id: str, claim: Claim) -> dict[str, Any]:
        """Return the recorded row of the run's verdict on a claim."""
        verdict = scales.weigh(claim)
        row: dict[str, Any] = {"claim_id": claim.claim_id, "verdict": verdict, "by": BY_RULE}
        one = self.given.get((item_id, claim.claim_id))
        if one is None:
            return row
        if scales.test_of(claim) is not None:
            if one.says != verdict:
                self.refuse(item_id, claim.claim_id, one.says, OVERRULED, f"its test says {verdict}")
        elif one.says != "irrelevant" and _is_of_run(claim, scales.run.run_id):
            self.refuse(item_id, claim.claim_id, one.says, OWN_RUN, "the claim was made of this run alone")
        else:
            said = {name: text for name, text in (("quote", one.quote), ("reason", one.reason)) if text}
            row |= {"verdict": one.says, "by": BY_MODEL, "model": self.model, **said}
        if one.delete:
            self._delete(scales, item_id, claim, one, row)
        return row

    def refuse(self, item_id: str | None, claim_id: str, said: str, rule: str, reason: str) -> None:
        """Record a verdict of the model that does not count."""
        self.refused.append({"item_id": item_id, "claim_id": claim_id, "said": said, "rule": rule, "reason": reason})

    def spare_reworded(
        self,
        bearing: Mapping[str, Sequence[dict[str, Any]]],
        known: Mapping[str, ReasoningBlock],
        blocks: Mapping[str, ReasoningBlock],
    ) -> None:
        """Cancel the deletion of claims that the same learn rewords: the refuted statement is gone already."""
        for item_id, rows in bearing.items():
            before, after = _words(known[item_id]), _words(blocks[item_id])
            for row in rows:
                claim_id = row["claim_id"]
                if "delete" in row and claim_id in after and after[claim_id] != before[claim_id]:
                    del row["delete"]
                    self.refuse(item_id, claim_id, "delete", REWORDED, "a proposal words the claim anew")

    def _delete(self, scales: ClaimJudge, item_id: str, claim: Claim, one: ClaimClass, row: dict[str, Any]) -> None:
        if one.reason and count_contradicting_runs(claim, row["verdict"], scales.run.run_id) >= DEMOTION_CONTRA:
            row |= {"delete": one.reason, "model": self.model}
            return
        why = f"fewer than {DEMOTION_CONTRA} runs contradict it, this one among them" if one.reason else "no reason"
        self.refuse(item_id, claim.claim_id, "delete", NOT_WRONG, why)


def _is_of_run(claim: Claim, run_id: str) -> bool:
    """Return whether a claim was made of this run alone, which then proves nothing."""
    return list(claim.facts.get("source_run_ids", ())) == [run_id]


def count_contradicting_runs(claim: Claim, verdict: str, run_id: str) -> int:
    """Return the number of runs that contradict a claim with this one; 0 if this one is not among them.

    ``claim`` is in its current state; a run counts by its first verdict.
    """
    if run_id in claim.contra.run_ids:
        return claim.contra.count
    return claim.contra.count + 1 if verdict == "contra" and run_id not in claim.support.run_ids else 0


def may_go(claim: Claim, rows: Sequence[Mapping[str, Any]], run_id: str) -> bool:
    """Return whether enough runs contradict a claim for its deletion; ``rows`` are those of its item."""
    verdict = next((row["verdict"] for row in rows if row["claim_id"] == claim.claim_id), "irrelevant")
    return count_contradicting_runs(claim, verdict, run_id) >= DEMOTION_CONTRA


def _words(block: ReasoningBlock) -> dict[str, dict[str, Any]]:
    return {claim.claim_id: words_of(claim) for claim in block.claims}


def classes_of(taught: ModelVerdicts, facts: Mapping[str, Any], known: Mapping[str, ReasoningBlock]) -> Classes:
    """Separate the verdicts that may count from those on claims not shown, or without evidence."""
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
            _add_class(classes, one, item_id, facts, taught.told)
    return classes


_SAYS: Final[Mapping[str, Literal["support", "contra"]]] = {SUPPORT: "support", CONTRA: "contra"}


def decide_classes(decisions: Decisions, question: Question) -> Classes:
    """Ask the model of ``decide`` about each claim that no test decides; a doubtful answer counts for nothing.

    FACTS that read like an order are not shown to it: its answer quotes nothing that could be examined.
    """
    classes = Classes(decisions.decider.name)
    facts = facts_text(question.facts)
    if find_order(facts) is not None:
        return classes
    for item_id, block in question.known.items():
        for claim in block.claims:
            if not decisions.can_ask:
                return classes
            if test_of(claim) is not None or _is_of_run(claim, question.run_id):
                continue
            asked = ask_claim(facts, claim_text(claim), seed=question.entry.id)
            decision = decisions.ask(asked, item_id=item_id, claim_id=claim.claim_id)
            says = _SAYS.get(decision.option) if decision is not None and decision.is_surely(*_SAYS) else None
            if says is not None:
                classes.given[item_id, claim.claim_id] = ClaimClass(item=0, claim_id=claim.claim_id, says=says)
    return classes


def _add_class(classes: Classes, one: ClaimClass, item_id: str, facts: Mapping[str, Any], told: str) -> None:
    quote, reason = (" ".join(fit(text).split()) for text in (one.quote, one.reason))
    if quote and not stands_in(quote, facts, told):
        quote = ""
    if find_order(f"{quote}\n{reason}") is not None:
        classes.refuse(item_id, one.claim_id, one.says, ORDER, "what should show it reads like an order")
    elif one.says != "irrelevant" and not quote and not reason:
        classes.refuse(item_id, one.claim_id, one.says, UNSHOWN, "it quotes nothing of the FACTS and gives no reason")
    else:
        classes.given[item_id, one.claim_id] = one.model_copy(update={"quote": quote, "reason": reason})
