"""Filter proposals before they enter the bank: only candidates are updated, the gate decides, code writes the FACTS.

Proposals of rules and of models both pass through here (RB-15, RB-16, RB-17). A dropped proposal is reported with every
rule that it breaks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.engine.prompt_injection import find_order
from phronesis.errors import Violation
from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.laws.block_rules import read_draft
from phronesis.reasoning.laws.claim_status import block_of, current_block, text_of
from phronesis.reasoning.laws.facts import excerpt
from phronesis.reasoning.laws.records import REASONING, Claim, ReasoningBlock, Tally
from phronesis.reasoning.learn_candidates import Proposal
from phronesis.reasoning.learn_prompt import folded_words, texts_of

MAX_KEPT: Final = 4_000
"""Maximum characters kept of a dropped proposal."""

OUTSIDE: Final = "outside_candidates"
AGAINST: Final = "facts_disagree"
ORDER: Final = "instruction"
TWICE: Final = "proposed_twice"
KNOWN: Final = "said_already"
LEFT_OUT: Final = "claim_left_out"
"""Rules of this module, in addition to those of the gate."""


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
        rows = map(asdict, self.violations)
        return {
            "action": self.proposal.action,
            "item_id": self.proposal.item_id,
            "content": excerpt(self.proposal.content, MAX_KEPT),
            "made_by": self.proposal.made_by,
            "violations": [{name: value for name, value in row.items() if value is not None} for row in rows],
        }


@dataclass(frozen=True, kw_only=True)
class ProposalFilter:
    """Filters the proposals of the learn ``entry_id``. ``facts`` are the run's; ``agree`` tests a claim against them.

    ``rewrites`` are a model's repairs of refused blocks, by their text. ``may_go`` returns whether a claim of a
    candidate may be left out of its block: whether enough runs contradict it.
    """

    entry_id: str
    facts: Mapping[str, Any]
    candidates: Mapping[str, Item]
    agree: Callable[[Claim], bool]
    rewrites: Mapping[str, str] = field(default_factory=dict)
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
            rewritten = self.rewrites.get(content)
            if not rewritten or gate(rewritten):
                return None, violations
            content = rewritten
        block = block_of(read_draft(content))
        before = {claim.claim_id: claim for claim in current.claims} if current is not None else {}
        claims = tuple(self._with_facts(claim, before.get(claim.claim_id)) for claim in block.claims)
        block = replace(block, claims=claims)
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
        words = [text for claim in block.claims for text in texts_of(claim)]
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

    def _with_facts(self, claim: Claim, before: Claim | None) -> Claim:
        """Return a claim with FACTS, status and counts set by code, whatever the proposal contained."""
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
