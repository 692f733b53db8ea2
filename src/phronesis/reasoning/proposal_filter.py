"""Filter proposals before they enter the bank: only candidates are updated, the gate decides, code writes the FACTS.

Proposals of rules and of models both pass through here (RB-15, RB-16, RB-17). A dropped proposal is reported with every
rule that it breaks.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final

from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.engine.prompt_injection import find_order
from phronesis.errors import Violation
from phronesis.log.payloads import fit
from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.claim_repair import repair
from phronesis.reasoning.comparisons import read_comparison
from phronesis.reasoning.laws.block_format import block_of, text_of
from phronesis.reasoning.laws.block_rules import read_draft
from phronesis.reasoning.laws.claim_status import current_block
from phronesis.reasoning.laws.facts import excerpt
from phronesis.reasoning.laws.records import REASONING, Claim, ReasoningBlock, Tally, folded_name
from phronesis.reasoning.learn_candidates import Proposal
from phronesis.reasoning.learn_prompt import (
    SHOWN_OF_LIST,
    ProposedClaim,
    ProposedItem,
    RewriteAnswer,
    RewrittenClaim,
    in_short,
    listed_in_short,
)

# Blocks built from a model's fields: only wording is taken from the model; code sets the rest.

SLACK: Final = 20
"""Characters by which a repaired text may grow: for ``avoid[…]`` around a constraint."""

_NUMBER: Final = re.compile(r"\d+")
_OURS: Final = re.compile(r"c(\d{1,6})")


def block_of_proposal(
    one: ProposedItem, current: ReasoningBlock | None, run_id: str, used: Iterable[str] = ()
) -> ReasoningBlock:
    """Return the block of a proposal; an update (``current``) keeps all claims that it does not name.

    A new claim gets an id that neither a claim nor a verdict has (``used``), since old verdicts would count for it. A
    claim that the item has already is not new. A test stays with its claim, unless new text states a comparison.
    """
    claims = {claim.claim_id: claim for claim in current.claims} if current is not None else {}
    free = _first_free([*claims, *used])
    for said in one.claims:
        old = claims.get(said.claim_id) if said.claim_id is not None else None
        if old is not None:
            claims[old.claim_id] = _with_wording(old, _restore_texts(old, said))
            continue
        new = _with_wording(Claim(claim_id=f"c{free}", status=said.status, facts={"source_run_ids": [run_id]}), said)
        if folded_words(new) not in map(folded_words, claims.values()):
            claims[new.claim_id] = new
            free += 1
    topic = " ".join(fit(one.topic).split())
    if current is not None:
        return replace(current, topic=topic or current.topic, claims=tuple(claims.values()))
    return ReasoningBlock(topic=topic, claims=tuple(claims.values()))


def rewritten_block(
    block: ReasoningBlock, answer: RewriteAnswer, broken: Iterable[str | None]
) -> ReasoningBlock | None:
    """Return a block with the rewritten texts of the claims in ``broken`` only.

    None if more than the form changed: a rewrite may add no number that the claim did not contain, and no text may grow
    by more than `SLACK`.
    """
    wrong = set(broken)
    given = {one.n: one for one in answer.claims}
    claims = []
    for n, claim in enumerate(block.claims):
        one = given.get(n) if claim.claim_id in wrong else None
        if one is not None and not _is_form(_texts_of(claim), _texts_of(one)):
            return None
        claims.append(claim if one is None else _with_wording(claim, one))
    topic = " ".join(fit(answer.topic).split()) if None in wrong else block.topic
    if topic != block.topic and not _is_form([block.topic], [topic]):
        return None
    return replace(block, topic=topic, claims=tuple(claims))


def folded_words(claim: Claim) -> tuple[str, ...]:
    """Return the statement and conditions of a claim, folded for comparison."""
    return tuple(folded_name(text) for text in (claim.inference, claim.constraint, *claim.conditions))


def _with_wording(claim: Claim, said: ProposedClaim | RewrittenClaim) -> Claim:
    inference = fit(said.inference).strip()
    constraint = fit(said.constraint).strip()
    same = constraint == claim.constraint  # permission for a positive constraint covers only that constraint
    restated = inference != claim.inference and read_comparison(inference) is not None
    return replace(
        claim,
        inference=inference,
        constraint=constraint,
        allow_positive=claim.allow_positive and same,
        exception_reason=claim.exception_reason if same else "",
        conditions=_texts(said.conditions),
        limitations=_texts(said.limitations),
        test=None if restated else claim.test,
    )


def _restore_texts(claim: Claim, said: ProposedClaim) -> ProposedClaim:
    """Return a proposed claim with texts that were abbreviated for the model restored to full length."""
    texts = {in_short(text): text for text in (claim.inference, claim.constraint)}
    given = {name: texts.get(getattr(said, name), getattr(said, name)) for name in ("inference", "constraint")}
    lists: dict[str, list[str]] = {}
    for name in ("conditions", "limitations"):
        held: tuple[str, ...] = getattr(claim, name)
        full = {listed_in_short(text): text for text in held[:SHOWN_OF_LIST]}
        lists[name] = [*(full.get(text, text) for text in getattr(said, name)), *held[SHOWN_OF_LIST:]]
    return said.model_copy(update={**given, **lists})


def _texts(given: Iterable[str]) -> tuple[str, ...]:
    texts = (fit(text).strip() for text in given)
    return tuple(dict.fromkeys(text for text in texts if text))


def _texts_of(claim: Claim | RewrittenClaim) -> list[str]:
    return [claim.inference, claim.constraint, *claim.conditions, *claim.limitations]


def _is_form(before: Sequence[str], after: Sequence[str]) -> bool:
    known = set(_NUMBER.findall("\n".join(before)))
    longer = sum(map(len, after)) > sum(map(len, before)) + SLACK
    return not longer and known.issuperset(_NUMBER.findall("\n".join(after)))


def _first_free(ids: Iterable[str]) -> int:
    numbers = [int(found[1]) for one in ids if (found := _OURS.fullmatch(one)) is not None]
    return max(numbers, default=0) + 1


MAX_KEPT: Final = 4_000
"""Maximum characters kept of a dropped proposal."""

OUTSIDE: Final = "outside_candidates"
AGAINST: Final = "facts_disagree"
ORDER: Final = "instruction"
TWICE: Final = "proposed_twice"
KNOWN: Final = "said_already"
LEFT_OUT: Final = "claim_left_out"
"""Rules of this module, in addition to those of the gate."""

Rewrite = Callable[[str, Sequence[Violation]], str | None]
"""A function that repairs the form of a refused block once; None where it cannot."""


@dataclass(frozen=True, slots=True)
class AcceptedProposal:
    """An accepted proposal: its item, and the block with its FACTS."""

    proposal: Proposal
    item_id: str
    block: ReasoningBlock


@dataclass(frozen=True, slots=True)
class DroppedProposal:
    """A dropped proposal, and why."""

    proposal: Proposal
    violations: Sequence[Violation]

    def to_json(self) -> dict[str, Any]:
        """Return the recorded form."""
        return {
            "action": self.proposal.action,
            "item_id": self.proposal.item_id,
            "content": excerpt(self.proposal.content, MAX_KEPT),
            "made_by": self.proposal.made_by,
            "violations": [
                {name: value for name, value in asdict(one).items() if value is not None} for one in self.violations
            ],
        }


def by_form(content: str, _violations: Sequence[Violation]) -> str | None:
    """Return a block repaired by rules that do not change its meaning."""
    repaired = repair(content)
    return None if repaired is None else repaired.text


@dataclass(frozen=True, kw_only=True)
class ProposalFilter:
    """Filters the proposals of the learn ``entry_id``. ``facts`` are the run's; ``agree`` tests a claim against them.

    ``may_go`` returns whether a claim of a candidate may be left out of its block: whether enough runs contradict it.
    """

    entry_id: str
    facts: Mapping[str, Any]
    candidates: Mapping[str, Item]
    agree: Callable[[Claim], bool]
    rewrite: Rewrite = by_form
    may_go: Callable[[str, Claim], bool] = lambda _item_id, _claim: False

    def sift(self, proposals: Iterable[Proposal]) -> tuple[list[AcceptedProposal], list[DroppedProposal]]:
        """Separate proposals that may be stored from the others."""
        taken: dict[str, AcceptedProposal] = {}
        dropped: list[DroppedProposal] = []
        for proposal in proposals:
            block, violations = self._check_block(proposal)
            made = None if block is None else AcceptedProposal(proposal, self._id(proposal, block), block)
            if made is not None and made.item_id in taken:
                violations = [Violation(rule=TWICE, message="this learn has a proposal for that item already")]
            elif made is not None:
                taken[made.item_id] = made
                continue
            dropped.append(DroppedProposal(proposal, violations))
        return list(taken.values()), dropped

    def _check_block(self, proposal: Proposal) -> tuple[ReasoningBlock | None, list[Violation]]:
        """Return the block with its FACTS; None and the violations if it may not be stored."""
        current = None
        if proposal.action == "update":
            if proposal.item_id is None or proposal.item_id not in self.candidates:
                message = f"{proposal.item_id} is no candidate of this learn; only candidates are updated"
                return None, [Violation(rule=OUTSIDE, message=message)]
            current = current_block(self.candidates[proposal.item_id])
        content = proposal.content
        violations = gate(content)
        if violations:
            rewritten = self.rewrite(content, violations)
            if rewritten is None or gate(rewritten):
                return None, violations
            content = rewritten
        block = self._with_facts(block_of(read_draft(content)), current)
        violations = [
            *gate(text_of(block)),
            *self._id_violations(block, current),
            *self._missing_violations(proposal, block, current),
        ]
        return (None, violations) if violations else (block, [])

    def _id_violations(self, block: ReasoningBlock, current: ReasoningBlock | None) -> list[Violation]:
        known = {claim.claim_id for claim in current.claims} if current is not None else set()
        found = [
            Violation(rule=AGAINST, message="the run's own FACTS contradict it", claim_id=claim.claim_id)
            for claim in block.claims
            if claim.claim_id not in known and not self.agree(claim)
        ]
        words = [
            text
            for claim in block.claims
            for text in (claim.inference, claim.constraint, *claim.conditions, *claim.limitations)
        ]
        if current is None and self._known_claims.issuperset(map(folded_words, block.claims)):
            found.append(Violation(rule=KNOWN, message="claims of the bank say all of it already"))
        order = find_order("\n".join((block.topic, *words)))
        return found if order is None else [*found, Violation(rule=ORDER, message=f"reads like an order: {order.rule}")]

    def _missing_violations(
        self, proposal: Proposal, block: ReasoningBlock, current: ReasoningBlock | None
    ) -> Iterator[Violation]:
        """Yield a violation for each claim that an update leaves out without permission.

        An omission must not delete a claim (RB-19).
        """
        there = {claim.claim_id for claim in block.claims}
        for claim in current.claims if current is not None else ():
            if claim.claim_id not in there and not self.may_go(proposal.item_id or "", claim):
                message = "an update leaves it out, and fewer than two runs contradict it, this one among them"
                yield Violation(rule=LEFT_OUT, message=message, claim_id=claim.claim_id)

    @cached_property
    def _known_claims(self) -> frozenset[tuple[str, ...]]:
        blocks = map(current_block, self.candidates.values())
        return frozenset(folded_words(claim) for block in blocks for claim in block.claims)

    def _with_facts(self, block: ReasoningBlock, current: ReasoningBlock | None) -> ReasoningBlock:
        """Return the block with FACTS, status and counts set by code, whatever the proposal contained."""
        before = {claim.claim_id: claim for claim in current.claims} if current is not None else {}
        claims = tuple(self._claim(claim, before.get(claim.claim_id)) for claim in block.claims)
        return replace(block, claims=claims)

    def _claim(self, claim: Claim, before: Claim | None) -> Claim:
        if before is None:
            # Only verdicts of runs make a claim a conclusion.
            status = "hypothesis" if claim.status == "conclusion" else claim.status
            return replace(claim, facts=self.facts, status=status, support=Tally(), contra=Tally())
        facts = before.facts
        if _words(claim) != _words(before):
            runs = [*before.facts.get("source_run_ids", ()), *self.facts["source_run_ids"]]
            facts = {**self.facts, "source_run_ids": list(dict.fromkeys(runs))}
        return replace(claim, facts=facts, status=before.status, support=before.support, contra=before.contra)

    def _id(self, proposal: Proposal, block: ReasoningBlock) -> str:
        if proposal.item_id is not None and proposal.action == "update":
            return proposal.item_id
        said = [text for claim in block.claims for text in (claim.inference, claim.constraint, *claim.conditions)]
        return item_id(self.entry_id, REASONING, "\n".join((block.topic, *said)))


def _words(claim: Claim) -> tuple[Any, ...]:
    return claim.inference, claim.constraint, claim.conditions, claim.test
