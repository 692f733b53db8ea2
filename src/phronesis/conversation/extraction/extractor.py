"""Extract names and memories from messages without a language model, and the outcomes that record them.

Where a role ``decide`` is configured, it settles what the reader is not sure of: whether a message states it, and
whether a sure statement takes the place of a similar held item. The answers are recorded; the other proposals stay as
the reader made them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.conversation.extraction.gate import USUAL, RetentionPolicy
from phronesis.conversation.extraction.message_extractor import MessageExtractor, may_mark
from phronesis.core.entries import Entry, Outcome, TurnPayload, payload_of
from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.name_detection import MAX_MENTIONS, RULES_VERSION, find_mentions
from phronesis.core.proposals import GATED, PROPOSALS, Proposal, Refusal, Relation
from phronesis.core.text import UNSPACED
from phronesis.engine.handler import Decisions, PrepareContext
from phronesis.log.payloads import fit, texts_of
from phronesis.models.decision import REPEATS, REPLACES, STATED, Decider, ask_gate, ask_supersede

if TYPE_CHECKING:
    from phronesis.conversation.extraction.context import FindItems
    from phronesis.conversation.extraction.proposed import ProposedName

MENTIONS: Final = "mentions"
"""Role of the outcome with the names found."""


@dataclass(frozen=True, slots=True)
class LocalExtractor:
    """Extracts names and memories of each message without a language model; without ``memories`` only names.

    Memories are not extracted from an entry added with ``infer`` false. ``terms`` are the policy's rules for them.
    """

    memories: MessageExtractor | None
    terms: RetentionPolicy = USUAL

    def __call__(self, _bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the names, proposals and refusals as outcomes."""
        texts, withheld, refused = self.terms.parted(texts_of(entry))
        found = [
            {"n": n, "surface": one.surface, "kind": one.kind, "start": one.start, "end": one.end}
            for n, text in texts.items()
            for one in find_mentions(text)
        ]
        outcomes = [Outcome(role=MENTIONS, made_by=RULES_VERSION, body={"found": found}), *withheld]
        if self.memories is None or payload_of(entry, TurnPayload).get("infer") is False:
            return [*outcomes, *extraction_outcomes((), refused, RULES_VERSION)]
        proposals, refusals = self.terms.sifted(*self.memories.propose(entry, texts), texts)
        return [*outcomes, *extraction_outcomes(proposals, [*refused, *refusals], self.memories.version)]


@load_once
def _usual() -> LocalExtractor:
    return LocalExtractor(MessageExtractor())


def extract_locally(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Extract names and memories without a language model, behind the usual gate."""
    return _usual()(bench, entry)


def refusals_by(outcomes: Sequence[Outcome]) -> list[Refusal]:
    """Return the refusals in outcomes."""
    return [Refusal.from_dict(row) for one in outcomes if one.role == GATED for row in one.body["refusals"]]


def extraction_outcomes(proposals: Sequence[Proposal], refusals: Sequence[Refusal], made_by: str) -> list[Outcome]:
    """Return the outcomes for proposals and refusals; empty where there are none."""
    outcomes: list[Outcome] = []
    if proposals:
        body = {"proposals": [one.to_dict() for one in proposals]}
        outcomes.append(Outcome(role=PROPOSALS, made_by=made_by, body=body))
    if refusals:
        outcomes.append(Outcome(role=GATED, made_by=made_by, body={"refusals": [one.to_dict() for one in refusals]}))
    return outcomes


_Row = dict[str, Any]
_WORD: Final = re.compile(rf"[^\W{UNSPACED}]")


def place_names(names: "Sequence[ProposedName]", texts: Mapping[int, str]) -> tuple[list[_Row], list[_Row]]:
    """Separate the names that occur in their message from those that do not, with the reason."""
    found: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for name in names:
        surface = fit(name.surface).strip()
        text = texts.get(name.n, "")
        start = _find_place(surface, text)
        if start is None:
            why = "there is no such message" if name.n not in texts else "it does not stand there"
            refused.append({"n": name.n, "surface": surface, "why": why})
        else:
            place = {"n": name.n, "surface": surface, "kind": "name", "start": start, "end": start + len(surface)}
            if place not in found:
                found.append(place)
    return found, refused


def _find_place(surface: str, text: str) -> int | None:
    """Return the offset at which a name first occurs as a whole word, or None."""
    start = text.find(surface) if any(char.isalnum() for char in surface) else -1
    while start >= 0:
        end = start + len(surface)
        cut_before = _WORD.match(surface) and start > 0 and _WORD.match(text[start - 1])
        cut_after = _WORD.match(surface[-1]) and end < len(text) and _WORD.match(text[end])
        if not cut_before and not cut_after:
            return start
        start = text.find(surface, start + 1)
    return None


def merge_names(others: Sequence[Mapping[str, Any]], names: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return both lists without overlaps, in the order of the text: an address is one name, not three."""

    def overlaps(name: Mapping[str, Any]) -> bool:
        return any(
            one["n"] == name["n"] and one["start"] < name["end"] and name["start"] < one["end"] for one in others
        )

    kept = [*others, *(name for name in names if not overlaps(name))]
    return sorted(kept, key=lambda one: (one["n"], one["start"]))[: MAX_MENTIONS * max(1, len({o["n"] for o in kept}))]


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
    find: "FindItems"

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
