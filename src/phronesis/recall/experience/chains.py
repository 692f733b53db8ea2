"""What patterns and principles rest on: down to the events, with where each can be looked up (EMB-12)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from phronesis.core.experience.answers import Reference
from phronesis.core.experience.records import L1, PATTERN, PRINCIPLE, Pattern, Principle, pattern_of, principle_of
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.results import Source
from phronesis.recall.experience.graph import LaneGraph
from phronesis.recall.past import evidence_at

SHOWN_SOURCES: Final = 16
"""Events that are shown as the sources of one pattern or principle: the most typical, and the latest of all."""


@dataclass(frozen=True, slots=True)
class Chain:
    """What one pattern or principle rests on: its events, the most typical first, and what is against it."""

    record: Pattern | Principle
    sources: Sequence[Source]
    events: Sequence[Reference]
    against: Sequence[Reference]
    counter: float
    """The share of all that was counted, by weight, that speaks against it."""
    typical: str | None = None
    latest: str | None = None

    @property
    def below(self) -> Sequence[str]:
        """The events of a pattern, or the patterns of a principle."""
        return [one for one, _ in self.record.members] if isinstance(self.record, Pattern) else self.record.patterns

    @property
    def needs_validation(self) -> bool:
        """Whether it reaches no event that still stands, or is a principle that nobody has confirmed."""
        return not self.events or (isinstance(self.record, Principle) and self.record.needs_validation)


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is for one, parts of it too, and what of the whole is for it and against it, the most typical first."""

    supporting: Sequence[EvidenceRow]
    support: Sequence[EvidenceRow]
    contra: Sequence[EvidenceRow]

    @property
    def both(self) -> tuple[Sequence[EvidenceRow], Sequence[EvidenceRow]]:
        """What is for the whole, and what is against it."""
        return self.support, self.contra

    @classmethod
    def of(cls, rows: Sequence[EvidenceRow]) -> "_Sides":
        """Sort the evidence of one."""
        return cls([row for row in rows if row.polarity == "support"],
                   *(_typical_first(rows, side) for side in ("support", "contra")))  # fmt: skip


@dataclass(slots=True)
class Chains:
    """Follows evidence down, at the times that a question asks for. What it has read, it reads once."""

    graph: LaneGraph
    _sides: dict[str, _Sides] = field(default_factory=dict)

    def of(self, items: Iterable[Item]) -> dict[str, Chain]:
        """Give the chains of some patterns and principles, by id."""
        held = [item for item in items if item.kind in (PATTERN, PRINCIPLE)]
        self._read(held)
        below = {row.source_key for item in held if item.kind == PRINCIPLE for side in self._sides[item.id].both
                 for row in side}  # fmt: skip
        patterns = self.graph.known(sorted(below))
        self._read(list(patterns.values()))
        return {item.id: self._pattern(item) if item.kind == PATTERN else self._principle(item, patterns.keys())
                for item in held}  # fmt: skip

    def _read(self, items: Sequence[Item]) -> None:
        moment = self.graph.asked.wanted.as_of
        for lane in self.graph.lanes:
            ids = [item.id for item in items if item.id not in self._sides and self.graph.lane_of(item.id) == lane]
            found = evidence_at(self.graph.unit, lane.lane_id, ids, moment) if ids else {}
            self._sides.update((one, _Sides.of(found.get(one, ()))) for one in ids)
        named = [_first(side) for item in items for side in self._sides[item.id].both]
        self.graph.heads([row.source_key for rows in named for row in rows])  # all at once: one by one takes longer

    def _pattern(self, item: Item) -> Chain:
        sides = self._sides[item.id]
        record = pattern_of(item, [(row.source_key, row.weight) for row in sides.supporting])
        members, opposing = self._standing(sides.support), self._standing(sides.contra)
        heads = self.graph.heads([row.source_key for row in (*members, *opposing)])
        # An event's label may have been given anew since it came to be for or against the pattern.
        agree = {one for one, head in heads.items() if (head.label == "success") == (item.label == "success")}
        stands = [row for row in members if row.source_key in agree]
        against = [row for row in (*members, *opposing) if row.source_key not in agree]
        latest = max(stands, key=_latest, default=None)
        return Chain(
            record, tuple(map(_source, stands)), tuple(map(_reference, stands)), tuple(map(_reference, against)),
            _share(sides), stands[0].source_key if stands else None,
            None if latest is None else latest.source_key,
        )  # fmt: skip

    def _principle(self, item: Item, patterns: Iterable[str]) -> Chain:
        known = set(patterns)
        sides = self._sides[item.id]
        support, counter = ([row.source_key for row in side] for side in sides.both)
        record = principle_of(item, patterns=support, counter=counter)
        direct = self._standing([row for row in sides.support if row.source_key not in known])
        stands = _each_in_turn([
            direct, *(self._standing(self._sides[one].support) for one in support if one in known)
        ])[:SHOWN_SOURCES]  # fmt: skip
        opposing = [row for row in sides.contra if row.source_key not in known]
        against = [Reference(one) for one in counter if one in known] + [*map(_reference, self._standing(opposing))]
        against += [_reference(row) for one in counter if one in known
                    for row in self._standing(self._sides[one].support)[:2]]  # fmt: skip
        return Chain(record, tuple(map(_source, stands)), tuple(map(_reference, stands)), tuple(against), _share(sides))

    def _standing(self, rows: Sequence[EvidenceRow]) -> list[EvidenceRow]:
        """Give the rows whose events still stand: the most typical, and the latest. Archived ones can be looked up."""
        return self._held(_first(rows)) or self._held(rows)[:SHOWN_SOURCES]

    def _held(self, rows: Sequence[EvidenceRow]) -> list[EvidenceRow]:
        found = self.graph.heads([row.source_key for row in rows])
        stands = {one for one, head in found.items() if head.kind == L1 and head.ended is None}
        return [row for row in rows if row.source_key in stands and row.source_ref]


def _latest(row: EvidenceRow) -> tuple[datetime, str]:
    return (row.occurred_at or row.recorded_at, row.source_key)


def _first(rows: Sequence[EvidenceRow]) -> list[EvidenceRow]:
    """Give the most typical, and the latest."""
    latest = max(rows, key=_latest, default=None)
    first = [*rows[: SHOWN_SOURCES - 1], *([latest] if latest is not None else [])]
    return list({row.source_key: row for row in first}.values())


def _typical_first(rows: Sequence[EvidenceRow], polarity: str) -> list[EvidenceRow]:
    return sorted(
        (row for row in rows if row.polarity == polarity and not row.part),
        key=lambda row: (-row.weight, row.source_key),
    )


def _share(sides: _Sides) -> float:
    against = sum(row.weight for row in sides.contra)
    total = against + sum(row.weight for row in sides.support)
    return against / total if total > 0 else 0.0


def _source(row: EvidenceRow) -> Source:
    return Source(entry_id=row.source_entry_id or row.entry_id, source_ref=row.source_ref, occurred_at=row.occurred_at)


def _reference(row: EvidenceRow) -> Reference:
    return Reference(row.source_key, row.source_ref)


def _each_in_turn(lists: Sequence[Sequence[EvidenceRow]]) -> list[EvidenceRow]:
    """Give the rows of several lists, the first of each, then the second of each …, each event once."""
    longest = max(map(len, lists), default=0)
    mixed = [one[n] for n in range(longest) for one in lists if n < len(one)]
    out: dict[str, EvidenceRow] = {}
    for row in mixed:
        out.setdefault(row.source_key, row)
    return list(out.values())
