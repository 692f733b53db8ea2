"""Extraction by the local reader, whose doubts the role ``decide`` settles.

Two questions are asked: whether a message states what the reader is not sure of, and whether a sure statement takes the
place of a similar held item. The answers are recorded; the other proposals stay as the reader made them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.conversation.extraction.context import FindItems
from phronesis.conversation.extraction.extractor import LocalExtractor, extraction_outcomes
from phronesis.conversation.extraction.message_extractor import may_mark
from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.proposals import PROPOSALS, Proposal, Relation
from phronesis.engine.decisions import Decisions
from phronesis.engine.handler import PrepareContext
from phronesis.log.reader import texts_of
from phronesis.models.decision import REPEATS, REPLACES, STATED, Decider, ask_gate, ask_supersede

SURELY_STATED: Final = 0.8
"""The confidence of what was doubtful and is decided to be stated."""

COMPARED: Final = 2
"""Held items with which a statement is compared, at most."""

_RELATIONS: Final[dict[str, Relation]] = {REPLACES: "replaces", REPEATS: "repeats"}


@dataclass(frozen=True, slots=True)
class DecidingExtractor:
    """Extracts as the local reader does, and asks ``decider`` where that is unsure."""

    local: LocalExtractor
    decider: Decider
    find: FindItems

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the reader's outcomes, with the proposals as decided, and the decisions."""
        outcomes = list(self.local(bench, entry))
        texts = texts_of(entry)
        found = [
            (i, Proposal.from_dict(row))
            for i, outcome in enumerate(outcomes)
            if outcome.role == PROPOSALS
            for row in outcome.body["proposals"]
        ]
        if not found:
            return outcomes
        decisions = Decisions(self.decider, bench.tenant, by=outcomes[found[0][0]].made_by)
        decided = [self._decided(bench, entry, decisions, one, texts[one.n]) for _, one in found]
        decided = [one for one in decided if not one.doubtful or not one.key or may_mark(one)]
        at, made_by = found[0][0], outcomes[found[0][0]].made_by
        outcomes[at : at + 1] = extraction_outcomes(decided, (), made_by)
        return [*outcomes, *decisions.outcomes]

    def _decided(self, bench: PrepareContext, entry: Entry, decisions: Decisions, one: Proposal, text: str) -> Proposal:
        if one.doubtful and one.key:
            decision = decisions.ask(ask_gate(text, one.content, seed=entry.id), n=str(one.n))
            if decision is None or not decision.is_surely(STATED):
                return one
            one = replace(one, doubtful=False, confidence=max(one.confidence, SURELY_STATED))
        if one.doubtful or one.act != "assert" or one.done or one.cardinality == "one":
            return one
        for item in self._similar(bench, one):
            question = ask_supersede(item.content, one.content, text, seed=entry.id)
            decision = decisions.ask(question, item_id=item.id)
            if decision is not None and decision.is_surely(*_RELATIONS):
                return replace(one, relation=_RELATIONS[decision.option], held=(item.id,))
        return one

    def _similar(self, bench: PrepareContext, one: Proposal) -> list[Item]:
        """Return the held items of the same subject and kind that a search of a statement finds first."""
        with bench.view() as view:
            if not view.find(kinds=[one.kind], subject=one.subject, limit=1):
                return []
        ids = self.find(bench, one.content)
        with bench.view() as view:
            held = [item for item in view.items(ids).values() if item.live]
        return [item for item in held if (item.subject, item.kind) == (one.subject, one.kind)][:COMPARED]
