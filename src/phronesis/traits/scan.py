"""Reflection step 1, the scan: memories learned since the last reflection, and the traits before this one.

When an entry is prepared again on a lane that has moved on, later memories and later changes are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from phronesis.core.data_delimiters import has_context
from phronesis.core.entries import Entry
from phronesis.core.items import Item, Trust
from phronesis.core.relations import EvidenceRow
from phronesis.engine.handler import evidence_before, items_before
from phronesis.store.lane_view import LaneView
from phronesis.traits.laws.records import CYCLE, MemoryInput, TraitInput
from phronesis.traits.laws.strength import MEMORY_KINDS, TRAIT, TREND, NewMemories, confidence_at

SIDES: Final = "sides"
"""Member of a trait's ``data`` that holds the ids of its sides."""


MOST_COMPARED: Final = 5_000
"""Maximum earlier memories compared with the new ones, the latest: older ones already have their traits."""


class Link(NamedTuple):
    """A new memory, a similar earlier one, and their similarity in (0, 1]."""

    from_id: str
    to_id: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionInput:
    """The input of a reflection. ``memories`` are all live ones, oldest first, ``new`` the ids of those since the last.

    ``traits`` include ended ones, with their evidence; ``last`` is the last completed reflection, ``undone`` the
    entries of those that were rolled back; ``links`` join new memories to earlier ones on the same subject.
    """

    last: Item | None
    memories: Sequence[Item]
    new: frozenset[str]
    traits: Mapping[str, Item]
    evidence: Mapping[str, Sequence[EvidenceRow]]
    undone: frozenset[str] = frozenset()
    links: Sequence[Link] = ()

    def latest(self) -> list[Item]:
        """Return all new memories and the latest of the others, oldest first."""
        room = max(0, MOST_COMPARED - len(self.new))
        earlier = [memory for memory in self.memories if memory.id not in self.new]
        kept = {memory.id for memory in earlier[max(0, len(earlier) - room) :]} | self.new
        return [memory for memory in self.memories if memory.id in kept]

    def readable(self) -> "ReflectionInput":
        """Return a copy without what a reflection must not read.

        Left out are memories that contain a composed context, from an edit or an older store, and repeated identical
        text of a machine: from one source, a burst counts as one memory.
        """
        own = [memory for memory in self.memories if not has_context(memory.content)]
        first: dict[object, str] = {}  # by speaker and text
        for memory in own:
            if memory.trust < Trust.USER:
                source = (memory.source_type, memory.agent_id, memory.name, memory.subject, memory.content.casefold())
                first.setdefault(source, memory.id)
        once = set(first.values())
        kept = [one for one in own if one.trust >= Trust.USER or one.id in once]
        return replace(self, memories=kept, new=self.new & {one.id for one in kept})

    @property
    def learned(self) -> NewMemories:
        """Return the values that the triggers examine."""
        fresh = [memory for memory in self.memories if memory.id in self.new]
        since = None if self.last is None else self.last.recorded_at
        return NewMemories(memories=len(fresh), importance=sum(memory.importance for memory in fresh), since=since)


def last_cycle(view: LaneView) -> Item | None:
    """Return the last completed reflection that was not rolled back."""
    return _last_completed(view.find(kinds=(CYCLE,)))


def failed_since(view: LaneView) -> list[datetime]:
    """Return the times of failed reflections since the last completed one, oldest first."""
    cycles = view.find(kinds=(CYCLE,))
    done = _last_completed(cycles)
    return [one.recorded_at for one in cycles[0 if done is None else cycles.index(done) + 1 :]]


def scan(view: LaneView, entry: Entry) -> ReflectionInput:
    """Return the state of a lane before an entry."""
    cycles = _held_items(view, (CYCLE,), entry, live=False)
    last = _last_completed([cycle for cycle in cycles if cycle.live])
    memories = _memories(view, entry)
    traits = {trait.id: trait for trait in _held_items(view, (TRAIT,), entry, live=False)}
    return ReflectionInput(
        last=last,
        memories=memories,
        new=frozenset(memory.id for memory in memories if last is None or memory.recorded_at > last.recorded_at),
        traits=traits,
        evidence=evidence_before(view, traits, entry),
        undone=frozenset(cycle.entry_id for cycle in cycles if not cycle.live),
    )


def _last_completed(cycles: Sequence[Item]) -> Item | None:
    found = [cycle for cycle in cycles if cycle.data["status"] == "completed"]
    return found[-1] if found else None


def _memories(view: LaneView, entry: Entry) -> list[Item]:
    """Return the memories that were live before an entry, even if they ended since."""
    there = view.lane.applied_seq < entry.seq
    return [item for item in _held_items(view, MEMORY_KINDS, entry, live=there) if item.live]


def _held_items(view: LaneView, kinds: Sequence[str], entry: Entry, *, live: bool) -> list[Item]:
    found = [item for item in view.find(kinds=kinds, live=live) if item.recorded_at < entry.recorded_at]
    return items_before(view, found, entry)


def seen_memory(memory: Item) -> MemoryInput:
    """Return a memory as shown to rules and models."""
    return MemoryInput(
        id=memory.id,
        content=memory.content,
        kind=memory.kind,
        at=memory.occurred_at or memory.recorded_at,
        session_id=memory.session_id,
        importance=memory.importance,
        subject=memory.subject,
        key=memory.key,
        value=memory.value,
    )


def seen_trait(trait: Item, evidence: Sequence[EvidenceRow], moment: datetime) -> TraitInput:
    """Return a trait as shown to rules and models, at a time."""
    confidence = confidence_at(trait, moment)
    return TraitInput(
        id=trait.id,
        content=trait.content,
        stage=trait.stage or TREND,
        subtype=trait.data["subtype"],
        context=trait.data["context"],
        confidence=None if confidence is None else round(confidence, 4),
        supporting=_sources(evidence, "support"),
        contradicting=_sources(evidence, "contra"),
    )


def open_traits(material: ReflectionInput) -> list[Item]:
    """Return the traits that may be reinforced or contradicted: the live ones, with sides instead of the whole."""
    return [trait for trait in material.traits.values() if trait.live and not trait.data.get(SIDES)]


def _sources(evidence: Sequence[EvidenceRow], polarity: str) -> tuple[str, ...]:
    return tuple(row.source_key for row in evidence if row.polarity == polarity)
