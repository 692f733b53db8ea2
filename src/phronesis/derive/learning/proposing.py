"""What may be written into the bank because of a run: proposals, and those that rules make of people's sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from phronesis.core.reasoning.block import text_of
from phronesis.core.reasoning.claim_test import NAMED
from phronesis.core.reasoning.facts import FactsView, excerpt
from phronesis.core.reasoning.records import Claim, ReasoningBlock
from phronesis.core.reasoning.runs import Feedback, folded_name
from phronesis.derive.claims_gate.wording import without_aliases
from phronesis.derive.comparison_marks import sentences
from phronesis.derive.comparisons import MAX_READ, read_comparison

RULES: Final = "learn-rules/1"
"""Who made what rules made of a run. Rises when they change."""

MAX_PROPOSED: Final = 5
"""Items that rules propose of one run."""

MAX_TOPIC: Final = 120
"""Characters of a topic."""

Action = Literal["add", "update"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A block to be stored as a new item, or in the place of what the item ``item_id`` says."""

    action: Action
    content: str
    made_by: str
    item_id: str | None = None


def propose_by_rules(feedback: Feedback, view: FactsView, known: Iterable[Claim]) -> list[Proposal]:
    """Propose an item for each sentence of a feedback that states a comparison, of the runs that are made the same way.

    None for what a claim of ``known`` says already. The claim is a hypothesis about runs of the same M1, M2 and
    modifier, as far as the sentence does not say which it means.
    """
    said = {_folded(claim) for claim in known}
    proposals: list[Proposal] = []
    for sentence in _said(feedback):
        claim = _claim(sentence, view)
        if claim is None or _folded(claim) in said:
            continue
        said.add(_folded(claim))
        block = ReasoningBlock(topic=_topic(view), claims=(claim,))
        proposals.append(Proposal(action="add", content=text_of(block), made_by=RULES))
        if len(proposals) == MAX_PROPOSED:
            break
    return proposals


def _said(feedback: Feedback) -> Iterator[str]:
    for text in (feedback.pros, feedback.cons, feedback.other):
        yield from sentences(without_aliases(text[: MAX_READ * 4]))


def _claim(sentence: str, view: FactsView) -> Claim | None:
    test = read_comparison(sentence)
    if test is None:
        return None
    conditions: Sequence[str] = ()
    if not test.get("given"):
        given = {name: view.named[name] for name in NAMED if name in view.named}
        if given:
            test = {**test, "given": given}
            conditions = _conditions(given)
    facts = {"source_run_ids": [view.run_id]}
    return Claim(claim_id="c1", status="hypothesis", facts=facts, inference=sentence, test=test,
                 conditions=tuple(conditions))  # fmt: skip


def _conditions(given: Mapping[str, Any]) -> list[str]:
    metals = "–".join(without_aliases(given[name]) for name in ("M1", "M2") if name in given)
    modifier = [f"modifier {without_aliases(given['modifier'])}"] if "modifier" in given else []
    return [part for part in (metals, *modifier) if part.strip()]


def _topic(view: FactsView) -> str:
    label = " ".join(without_aliases(view.label).split())
    return excerpt(label or f"run {view.run_id}", MAX_TOPIC)


def _folded(claim: Claim) -> tuple[str, ...]:
    return tuple(folded_name(text) for text in (claim.inference, *claim.conditions))
