"""What a reflection reads (step 1, the scan), and its state in memory: the traits after each step, the changes to make.

When an entry is prepared again on a lane that has moved on, later memories and later changes are left out. prepare runs
the same steps as apply, to find the traits for which a special reflection is due. Therefore the state neither reads nor
writes the store: it works on the result of the scan.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from phronesis.core.changes import Patch
from phronesis.core.data_delimiters import has_context
from phronesis.core.entries import Entry, item_timestamps
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge, EvidenceRow, Origin, Polarity
from phronesis.core.timestamps import isoformat
from phronesis.engine.handler import evidence_before, items_before
from phronesis.store.lane_view import LaneView
from phronesis.traits.laws.records import CONTEXTS, CYCLE, GENERAL, MemoryInput, RefusedOperation, TraitInput
from phronesis.traits.laws.strength import (
    MEMORY_KINDS,
    SIDE_OF,
    TRAIT,
    TRAITS_FOLD,
    TREND,
    NewMemories,
    confidence_at,
)

SIDES: Final = "sides"
"""Member of a trait's ``data`` that holds the ids of its sides."""


MOST_COMPARED: Final = 5_000
"""Maximum memories that are compared, the latest: older ones already have their traits. It takes some 100 MB."""


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
        """Return the memories that are compared, oldest first: the latest, the new ones before the others."""
        ranked = sorted(self.memories, key=lambda memory: memory.id in self.new)
        kept = {memory.id for memory in ranked[-MOST_COMPARED:]}
        return [memory for memory in self.memories if memory.id in kept]

    def readable(self) -> "ReflectionInput":
        """Return a copy without what a reflection must not read.

        Left out are memories that contain a composed context, from an edit or an older store, and repeated identical
        text of a machine: from one source, a burst counts as one memory.
        """
        own = [memory for memory in self.memories if not has_context(memory.content)]
        first = {
            (one.source_type, one.agent_id, one.name, one.subject, one.content.casefold()): one.id
            for one in reversed(own)
            if one.trust < Trust.USER
        }
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


def failure_times(view: LaneView) -> list[datetime]:
    """Return the times of failed reflections since the last completed one, oldest first."""
    cycles = view.find(kinds=(CYCLE,))
    done = _last_completed(cycles)
    return [one.recorded_at for one in cycles[0 if done is None else cycles.index(done) + 1 :]]


def scan(view: LaneView, entry: Entry) -> ReflectionInput:
    """Return the state of a lane before an entry."""
    cycles = _held_items(view, (CYCLE,), entry, live=False)
    last = _last_completed([cycle for cycle in cycles if cycle.live])
    # Those that were live before the entry count, even if they ended since.
    there = view.lane.applied_seq < entry.seq
    memories = [item for item in _held_items(view, MEMORY_KINDS, entry, live=there) if item.live]
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
    return next((cycle for cycle in reversed(cycles) if cycle.data["status"] == "completed"), None)


def _held_items(view: LaneView, kinds: Sequence[str], entry: Entry, *, live: bool) -> list[Item]:
    found = [item for item in view.find(kinds=kinds, live=live) if item.recorded_at < entry.recorded_at]
    return items_before(view, found, entry)


def describe_memory(memory: Item) -> MemoryInput:
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


def describe_trait(trait: Item, evidence: Sequence[EvidenceRow], moment: datetime) -> TraitInput:
    """Return a trait as shown to rules and models, at a time."""
    confidence = confidence_at(trait, moment)
    pro, contra = ([row.source_key for row in evidence if row.polarity == one] for one in ("support", "contra"))
    return TraitInput(
        id=trait.id,
        content=trait.content,
        stage=trait.stage or TREND,
        subtype=trait.data["subtype"],
        context=trait.data["context"],
        confidence=None if confidence is None else round(confidence, 4),
        supporting=pro,
        contradicting=contra,
    )


def open_traits(material: ReflectionInput) -> list[Item]:
    """Return the traits that may be reinforced or contradicted: the live ones, with sides instead of the whole."""
    return [trait for trait in material.traits.values() if trait.live and not trait.data.get(SIDES)]


MAX_CONTENT: Final = 500
"""Maximum characters of a trait: one sentence."""

NO_NEW_EVIDENCE: Final = "no_new_evidence"
NO_SUCH_TRAIT: Final = "no_such_trait"
TAKEN_BACK: Final = "taken_back"
NO_WORDS: Final = "no_words"
"""Rules by which operations are refused; each step adds its own."""


@dataclass(slots=True)
class ReflectionState:
    """The state of one reflection. ``traits`` are the live ones in their current state; ``gone`` the others.

    ``undone`` are the entries of reflections that were rolled back.
    """

    entry: Entry
    origin: Origin
    scope: Mapping[str, Any]
    memories: Mapping[str, Item]
    traits: dict[str, Item]
    gone: Mapping[str, Item]
    undone: AbstractSet[str]
    rows: dict[str, list[EvidenceRow]]
    created: list[Item] = field(default_factory=list)
    added: list[EvidenceRow] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    refused: list[RefusedOperation] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    tallied: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, material: ReflectionInput, entry: Entry, origin: Origin, scope: Mapping[str, Any]) -> "ReflectionState":
        """Return the initial state from a scan."""
        return cls(
            entry=entry,
            origin=origin,
            scope=scope,
            memories={memory.id: memory for memory in material.memories},
            traits={trait.id: trait for trait in material.traits.values() if trait.live},
            gone={trait.id: trait for trait in material.traits.values() if not trait.live},
            undone=material.undone,
            rows={trait: list(material.evidence.get(trait, ())) for trait in material.traits},
        )

    def known(self, trait_id: str) -> frozenset[str]:
        """Return the memories that a trait already counts, for or against."""
        return frozenset(row.source_key for row in self.rows.get(trait_id, ()))

    def supporting(self, trait_id: str) -> frozenset[str]:
        """Return the memories that support a trait."""
        return frozenset(row.source_key for row in self.rows.get(trait_id, ()) if row.polarity == "support")

    def evidence(self, ids: Iterable[str], *, but: AbstractSet[str] = frozenset()) -> list[Item]:
        """Return the existing memories among ``ids``, each once, oldest first."""
        found = [self.memories[one] for one in dict.fromkeys(ids) if one in self.memories and one not in but]
        return sorted(found, key=lambda memory: (memory.recorded_at, memory.id))

    def count(self, trait_id: str, memories: Sequence[Item], polarity: Polarity, grade: str | None) -> None:
        """Add memories to the evidence for or against a trait, and recompute its strength."""
        self._add_rows(trait_id, [self._row(trait_id, memory, polarity, grade) for memory in memories])

    def inherit(self, trait_id: str, rows: Iterable[EvidenceRow]) -> None:
        """Give a trait the evidence of others as its initial evidence, including that of ended memories.

        A memory that supports one of them supports the new trait, whatever it says of another.
        """
        told = sorted(rows, key=lambda row: row.polarity != "support")
        by_source = {row.source_key: row for row in reversed(told) if row.source_key not in self.known(trait_id)}
        origin, entry = self.origin, self.entry
        own = [
            replace(row, item_id=trait_id, origin=origin, entry_id=entry.id, recorded_at=entry.recorded_at)
            for row in reversed(by_source.values())
        ]
        self._add_rows(trait_id, own)

    def _add_rows(self, trait_id: str, rows: Sequence[EvidenceRow]) -> None:
        self.rows.setdefault(trait_id, []).extend(rows)
        self.added += rows
        self._refold(trait_id)

    def begin(
        self,
        content: str,
        memories: Sequence[Item],
        *,
        subtype: str,
        context: str,
        of: Sequence[Item] = (),
        **data: Any,
    ) -> str:
        """Create a trait from memories, or from traits ``of`` with their memories; return its id.

        Its trust is the lowest among them.
        """
        content = content[:MAX_CONTENT]
        observed = min(memory.occurred_at or memory.recorded_at for memory in (*memories, *of))
        given = {name: value for name, value in data.items() if value is not None}
        trait = Item(
            id=item_id(self.entry.id, TRAIT, f"{form_of(content)}\n{data.get(SIDE_OF) or ''}"),
            kind=TRAIT,
            content=content,
            importance=DEFAULT_IMPORTANCE[TRAIT],
            trust=min(memory.trust for memory in (*memories, *of)),
            source_type="reflection",
            data={
                "subtype": subtype,
                "context": context,
                "first_observed": isoformat(observed),
                "derived_from": "reflection",
                "made_by": self.origin,
                **given,
            },
            **item_timestamps(self.entry, observed),
            **self.scope,
        )
        self.traits[trait.id] = trait
        self.created.append(trait)
        self.counts["traits_created"] += 1
        return trait.id

    def change(self, trait_id: str, fields: Mapping[str, Any], reason: str) -> None:
        """Change fields of a live trait."""
        self.patches.append(Patch(trait_id, fields, reason))
        self.traits[trait_id] = self.traits[trait_id].with_fields(fields)
        self._refold(trait_id)

    def end(self, trait_id: str, how: str, reason: str, *, by: str | None = None) -> None:
        """End a trait: dissolved, or superseded by another."""
        fields = {"ended": how, "ended_by": by or self.entry.id, "valid_to": self.entry.recorded_at}
        self.change(trait_id, fields, reason)
        for side in self.traits[trait_id].data.get(SIDES, ()):
            if side in self.traits:  # it is a trait of its own now
                self.change(side, {f"data.{SIDE_OF}": None}, "the whole of which it was a side ended")
        del self.traits[trait_id]
        self.counts["traits_dissolved"] += how == "dissolved"

    def tally(self, name: str, trait_id: str) -> None:
        """Count an existing trait under a name of `records.COUNTED`, once per round."""
        if (name, trait_id) not in self.tallied and all(made.id != trait_id for made in self.created):
            self.tallied.add((name, trait_id))
            self.counts[name] += 1

    def refuse(self, operation: str, rule: str, reason: str, content: str = "") -> None:
        """Record a refused operation."""
        cut = content[:MAX_CONTENT]
        self.refused.append(RefusedOperation(operation=operation, rule=rule, reason=reason, content=cut))

    def find_same_text(self, content: str) -> str | None:
        """Return the live trait with the same text, or None; a side before the trait it belongs to."""
        form = form_of(content)
        found = [trait for trait in self.traits.values() if form_of(trait.content) == form]
        return min(found, key=lambda trait: bool(trait.data.get(SIDES))).id if found else None

    def was_retracted(self, content: str, evidence: AbstractSet[str], *, subtype: str = "behavior") -> bool:
        """Return whether a person retracted a trait with this text, or one of its subtype with half of this evidence.

        Such a trait is not created again. Only the same subtype is compared by evidence, since an upgrade shares the
        evidence of its sources. A trait that ended with the rollback of its whole reflection may be created again.
        """
        form = form_of(content)
        return any(
            form_of(trait.content) == form
            or (trait.data["subtype"] == subtype and 2 * len(self.supporting(trait.id) & evidence) >= len(evidence) > 0)
            for trait in self.gone.values()
            if (trait.ended == "retracted" or trait.status == "archived") and trait.entry_id not in self.undone
        )

    def _row(self, trait_id: str, memory: Item, polarity: Polarity, grade: str | None) -> EvidenceRow:
        return EvidenceRow(
            item_id=trait_id,
            polarity=polarity,
            source_key=memory.id,
            entry_id=self.entry.id,
            recorded_at=self.entry.recorded_at,
            source_entry_id=memory.entry_id,
            source_item_id=memory.id,
            source_ref=memory.source_ref,
            grade=grade,
            origin=self.origin,
            occurred_at=memory.occurred_at,
        )

    def _refold(self, trait_id: str) -> None:
        rows = sorted(self.rows.get(trait_id, ()), key=lambda row: (row.recorded_at, row.identity))
        self.traits[trait_id] = TRAITS_FOLD(self.traits[trait_id], rows)


def form_of(content: str) -> str:
    """Return a sentence without differences of spelling and full stop: equal forms are the same trait."""
    kept = content[:MAX_CONTENT]
    return " ".join(unicodedata.normalize("NFKC", kept).casefold().split()).rstrip(".。!！")


def context_of(given: str | None) -> str:
    """Return one of the contexts; general for an unknown one."""
    return given if given in CONTEXTS else GENERAL
