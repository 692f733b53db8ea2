"""Read patterns and principles with their evidence, and trace events to the original source text (EMB-12)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from phronesis.core.entries import Entry, is_erased, payload_of
from phronesis.core.ids import CITATION_PREFIX, Scope, is_id, item_id
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.results import Source
from phronesis.errors import InputError, NotFound
from phronesis.experience.laws.answers import Reference
from phronesis.experience.laws.event_draft import EVENTS, EXPERIENCE, SOURCE, SourcePayload
from phronesis.experience.laws.evidence_fold import members_of
from phronesis.experience.laws.principle_text import first_sentences
from phronesis.experience.laws.records import (
    L1,
    PATTERN,
    PRINCIPLE,
    Aggregation,
    EventSource,
    Pattern,
    Principle,
    event_of,
    pattern_of,
    principle_of,
)
from phronesis.experience.query_graph import LaneGraph
from phronesis.log.payloads import fit, load_entry
from phronesis.recall.as_of import evidence_at, visible_lanes
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_entry
from phronesis.store.eligible import ItemPosition, ReadConditions, items_before
from phronesis.store.items import lane_of_item, read_items
from phronesis.store.lanes import get_lane
from phronesis.store.log import find_entry

# Original sources: from an event or its reference to the raw text with its lines, payload and hints.

ENTRY: Final = "entry:"
"""Prefix of the reference of an unnamed text."""

_LINES: Final = re.compile(r"(?P<whole>.+?)(?:#L(?P<first>[0-9]{1,9})(?:-L(?P<last>[0-9]{1,9}))?)?", re.DOTALL)
_PAGE: Final = 200


def parse_reference(text: str) -> tuple[str, tuple[int, int] | None]:
    """Return the name of a source and its lines: ``build.log``, ``build.log#L3`` or ``build.log#L3-L7``."""
    found = _LINES.fullmatch(text)
    if found is None or found["first"] is None:
        return text, None
    return found["whole"], (int(found["first"]), int(found["last"] or found["first"]))


def find_source(unit: Unit, scope: Scope, named: str) -> EventSource:
    """Return the source of an event by its id or by a reference; NotFound if there is none."""
    if (event := _by_id(unit, named.removeprefix(CITATION_PREFIX), scope.user_id)) is not None:
        return _of_event(unit, event)
    whole, lines = parse_reference(named)
    if whole.startswith(ENTRY):
        return replace(_of_entry(unit, whole.removeprefix(ENTRY), lines, scope.user_id), source_ref=named)
    if (exact := next(_events(unit, scope, {"source_ref": named}), None)) is not None:
        return _of_event(unit, exact)
    begins = f"{whole}#L"
    for near in _events(unit, scope, {"source_ref": {"contains": begins}}):
        if str(near.source_ref).startswith(begins):
            return replace(_of_entry(unit, near.entry_id, lines, scope.user_id), source_ref=named)
    raise NotFound(
        f"no event here has the id or the source_ref {named!r:.120}; name the user or namespace whose it is", field="id"
    )


def _by_id(unit: Unit, named: str, owner: str | None) -> Item | None:
    lane_id = lane_of_item(unit, named) if is_id(named) else None
    lane = None if lane_id is None else get_lane(unit, lane_id)
    if lane is None or lane.is_foreign_to(owner):
        return None
    item = read_items(unit, lane, [named])[named]
    if item.kind != L1:
        raise InputError(
            f"id is that of a {item.kind}, which was not handed in as an event; explain says what it rests on",
            field="id",
        )
    return item


def _events(unit: Unit, scope: Scope, filters: dict[str, Any]) -> Iterator[Item]:
    """Yield the events that a scope sees, the newest of each lane first, including archived and ended ones."""
    told = {**filters, "status": {"in": ["active", "archived"]}}
    wanted = ReadConditions(kinds=[L1], filters=told)
    for lane in visible_lanes(unit, scope):
        before: ItemPosition | None = None
        while page := items_before(unit, lane, wanted, before, limit=_PAGE):
            yield from page
            before = ItemPosition.of(page[-1])


def _of_event(unit: Unit, event: Item) -> EventSource:
    """Return the source of an event, with its own lines or its payload."""
    entry = _load_entry(unit, event.entry_id)
    if entry.verb == SOURCE:
        lines = event.data.get("lines")
        found = _of_text(entry, None if lines is None else (lines[0], lines[1]))
    else:
        found = _source_of_given(entry, event)
    return replace(found, event_id=event.id, source_ref=event.source_ref or "", source_type=event.source_type or "")


def _of_entry(unit: Unit, entry_id: str, lines: tuple[int, int] | None, owner: str | None) -> EventSource:
    """Return the text of an entry, and some lines of it; NotFound for one of another user than ``owner``."""
    entry = _load_entry(unit, entry_id) if is_id(entry_id) and find_entry(unit, entry_id) is not None else None
    foreign = entry is not None and owner is not None and entry.user_id not in (None, owner)
    if entry is None or foreign or entry.verb not in (SOURCE, EXPERIENCE):
        raise NotFound(f"there is no entry {entry_id!r:.60} in this tenant that took in a source", field="id")
    if entry.verb == EXPERIENCE:
        raise NotFound(f"entry {entry_id} was told, and has no text: give the id of an event that it made", field="id")
    return _of_text(entry, lines)


def _load_entry(unit: Unit, entry_id: str) -> Entry:
    """Return an entry as it was interpreted: without characters that a database or terminal cannot handle."""
    entry = load_entry(unit, entry_id)
    return replace(entry, payload=fit(entry.payload))


def _of_text(entry: Entry, lines: tuple[int, int] | None) -> EventSource:
    payload = payload_of(entry, SourcePayload)
    if is_erased(payload):
        return _bare_source(entry, erased=True)
    excerpt = "" if lines is None else _excerpt(payload["text"], *lines)
    return _bare_source(
        entry,
        source_type=payload["source_type"],
        source_ref=payload.get("source_ref") or f"{ENTRY}{entry.id}",
        name=payload.get("name", ""),
        text=payload["text"],
        lines=lines,
        excerpt=excerpt,
    )


def _excerpt(text: str, first: int, last: int) -> str:
    """Return the lines ``first`` to ``last`` of a text, counted as the source adapters count them."""
    lines = text.split("\n")
    if not 1 <= first <= last <= len(lines):
        raise NotFound(f"the text has {len(lines):,} lines, and none from {first:,} to {last:,}", field="id")
    return "\n".join(lines[first - 1 : last])


def _source_of_given(entry: Entry, event: Item) -> EventSource:
    told: list[Any] = payload_of(entry, SourcePayload).get(EVENTS) or []
    own = next((one for n, one in enumerate(told) if item_id(entry.id, L1, str(n)) == event.id), None)
    if own is None or is_erased(own):
        return _bare_source(entry, erased=True)
    given = {name: own.get(name) for name in ("payload", "observations")}
    return _bare_source(entry, **given, hints=own.get("hints") or {})


def _bare_source(entry: Entry, source_ref: str = "", **fields: Any) -> EventSource:
    return EventSource(
        entry_id=entry.id, recorded_at=entry.recorded_at, actor=entry.actor, source_ref=source_ref, **fields
    )


SHOWN_SOURCES: Final = 16
"""Events listed as the sources of one pattern or principle: the most typical, and the latest."""


@dataclass(frozen=True, slots=True)
class EvidenceChain:
    """The evidence of one pattern or principle: its events, the most typical first, and its counter-evidence."""

    record: Pattern | Principle
    sources: Sequence[Source]
    events: Sequence[Reference]
    against: Sequence[Reference]
    counter: float
    """The share of the evidence, by weight, that contradicts it."""
    typical: str | None = None
    latest: str | None = None

    @property
    def below(self) -> Sequence[str]:
        """The events of a pattern, or the patterns of a principle."""
        return [one for one, _ in self.record.members] if isinstance(self.record, Pattern) else self.record.patterns

    @property
    def needs_validation(self) -> bool:
        """Return whether no live event supports it, or it is a principle that nobody has confirmed."""
        return not self.events or (isinstance(self.record, Principle) and self.record.needs_validation)


_Sides = tuple[list[EvidenceRow], list[EvidenceRow]]
"""The evidence for and against a pattern or principle, each the most typical first."""


@dataclass(slots=True)
class EvidenceChains:
    """Follows evidence down to events at the times of a query, and caches what it reads."""

    graph: LaneGraph
    _sides: dict[str, _Sides] = field(default_factory=dict)

    def of(self, items: Iterable[Item]) -> dict[str, EvidenceChain]:
        """Return the chains of some patterns and principles, by id."""
        held = [item for item in items if item.kind in (PATTERN, PRINCIPLE)]
        self._read(held)
        sides = [side for item in held if item.kind == PRINCIPLE for side in self._sides[item.id]]
        below = {row.source_key for side in sides for row in side}
        patterns = self.graph.known(sorted(below))
        self._read(list(patterns.values()))
        return {
            item.id: self._pattern(item) if item.kind == PATTERN else self._principle(item, patterns.keys())
            for item in held
        }

    def _read(self, items: Sequence[Item]) -> None:
        moment = self.graph.asked.wanted.as_of
        for lane in self.graph.lanes:
            ids = [item.id for item in items if item.id not in self._sides and self.graph.lane_of(item.id) == lane]
            found = evidence_at(self.graph.unit, lane.lane_id, ids, moment) if ids else {}
            self._sides.update((one, _sides_of(found.get(one, ()))) for one in ids)
        named = [_typical_rows(side) for item in items for side in self._sides[item.id]]
        self.graph.heads([row.source_key for rows in named for row in rows])  # all at once: one by one takes longer

    def _pattern(self, item: Item) -> EvidenceChain:
        sides = self._sides[item.id]
        record = pattern_of(item, [(row.source_key, row.weight) for row in sides[0]])
        members, opposing = map(self._held_rows, sides)
        heads = self.graph.heads([row.source_key for row in (*members, *opposing)])
        # An event's label may have been given anew since it came to be for or against the pattern.
        agree = {one for one, head in heads.items() if (head.label == "success") == (item.label == "success")}
        stands = [row for row in members if row.source_key in agree]
        against = [row for row in (*members, *opposing) if row.source_key not in agree]
        latest = max(stands, key=_latest, default=None)
        return EvidenceChain(
            record,
            tuple(map(_source, stands)),
            tuple(map(_reference, stands)),
            tuple(map(_reference, against)),
            _share(sides),
            stands[0].source_key if stands else None,
            None if latest is None else latest.source_key,
        )

    def _principle(self, item: Item, patterns: Iterable[str]) -> EvidenceChain:
        known, sides = set(patterns), self._sides[item.id]
        support, counter = ([row.source_key for row in side] for side in sides)
        record = principle_of(item, patterns=support, counter=counter)
        direct, opposing = (self._held_rows([row for row in side if row.source_key not in known]) for side in sides)
        held = {one: self._held_rows(self._sides[one][0]) for one in (*support, *counter) if one in known}
        stands = _interleave([direct, *(held[one] for one in support if one in held)])[:SHOWN_SOURCES]
        against = [Reference(one) for one in counter if one in held] + [*map(_reference, opposing)]
        against += [_reference(row) for one in counter if one in held for row in held[one][:2]]
        return EvidenceChain(
            record, tuple(map(_source, stands)), tuple(map(_reference, stands)), tuple(against), _share(sides)
        )

    def _held_rows(self, rows: Sequence[EvidenceRow]) -> list[EvidenceRow]:
        """Return the rows whose events are held, archived ones included: the most typical, and the latest."""
        return self._live_rows(_typical_rows(rows)) or self._live_rows(rows)[:SHOWN_SOURCES]

    def _live_rows(self, rows: Sequence[EvidenceRow]) -> list[EvidenceRow]:
        found = self.graph.heads([row.source_key for row in rows])
        stands = {one for one, head in found.items() if head.kind == L1 and head.ended is None}
        return [row for row in rows if row.source_key in stands and row.source_ref]


def _sides_of(rows: Sequence[EvidenceRow]) -> _Sides:
    whole = sorted((row for row in rows if not row.part), key=lambda row: (-row.weight, row.source_key))
    support, contra = ([row for row in whole if row.polarity == side] for side in ("support", "contra"))
    return support, contra


def _latest(row: EvidenceRow) -> tuple[datetime, str]:
    return (row.occurred_at or row.recorded_at, row.source_key)


def _typical_rows(rows: Sequence[EvidenceRow]) -> list[EvidenceRow]:
    """Return the most typical rows, and the latest."""
    latest = max(rows, key=_latest, default=None)
    first = [*rows[: SHOWN_SOURCES - 1], *([latest] if latest is not None else [])]
    return list({row.source_key: row for row in first}.values())


def _share(sides: _Sides) -> float:
    support, against = (sum(row.weight for row in side) for side in sides)
    total = support + against
    return against / total if total > 0 else 0.0


def _source(row: EvidenceRow) -> Source:
    return Source(entry_id=row.source_entry_id or row.entry_id, source_ref=row.source_ref, occurred_at=row.occurred_at)


def _reference(row: EvidenceRow) -> Reference:
    return Reference(row.source_key, row.source_ref)


def _interleave(lists: Sequence[Sequence[EvidenceRow]]) -> list[EvidenceRow]:
    """Return the rows of several lists in round-robin order, each event once."""
    longest = max(map(len, lists), default=0)
    mixed = [one[n] for n in range(longest) for one in lists if n < len(one)]
    out: dict[str, EvidenceRow] = {}
    for row in mixed:
        out.setdefault(row.source_key, row)
    return list(out.values())


# Records of events, patterns and principles with their members, supporting and contradicting evidence.


@dataclass(frozen=True, slots=True)
class ExperienceReader:
    """Reads the records of the experience engine. Read-only."""

    database: Database

    def record(self, tenant: str, item: Item, as_of: int | None = None) -> Item:
        """Return an item as the record of its kind, as it was ``as_of`` a time (microseconds)."""
        if item.kind == L1:
            return event_of(item)
        with self.database.transaction(tenant, "read") as unit:
            return as_records(unit, [item], as_of=as_of)[0]

    def source(self, tenant: str, scope: Scope, named: str) -> EventSource:
        """Return the original input of an event, by its id or by a reference that the scope sees."""
        with self.database.transaction(tenant, "read") as unit:
            return find_source(unit, scope, named)

    def result_of_entry(self, tenant: str, entry: Entry, kind: str = PATTERN) -> Aggregation:
        """Return the patterns that an aggregation changed, or the principles an abstraction changed (``kind``)."""
        with self.database.transaction(tenant, "read") as unit:
            # Items of which only edges changed, such as events, are not among them and are not read.
            made = {
                delta.item_id: delta
                for delta in deltas_of_entry(unit, entry.lane_id, entry.id)
                if delta.op == "create" or delta.patch or delta.evidence_added or delta.evidence_removed
            }
            held = read_items(unit, get_lane(unit, entry.lane_id), list(made))
            items = [held[one] for one in made if one in held and held[one].kind == kind]
            records = as_records(unit, items)
        found: dict[str, list[Item]] = {"new": [], "changed": [], "retired": []}
        for one in records:
            delta = made[one.id]
            found["new" if delta.op == "create" else "retired" if "ended" in delta.patch else "changed"].append(one)
        mapping: dict[str, list[str]] = {}
        for one in (*found["new"], *found["changed"]):
            members = [event for event, _ in one.members] if isinstance(one, Pattern) else ()
            for below in one.patterns if isinstance(one, Principle) else members:
                mapping.setdefault(below, []).append(one.id)
        new, changed, retired = map(tuple, found.values())
        return Aggregation(entry.id, new, changed, retired, mapping)


def as_records(unit: Unit, items: Sequence[Item], *, as_of: int | None = None) -> list[Item]:
    """Return items of one lane as the records of their kinds."""
    learned = [item.id for item in items if item.kind in (PATTERN, PRINCIPLE)]
    lane_id = lane_of_item(unit, learned[0]) if learned else None
    if lane_id is None:
        return [_record(item, ()) for item in items]
    rows = evidence_at(unit, lane_id, learned, as_of)
    against = read_items(unit, get_lane(unit, lane_id), [one["id"] for item in items for one in _counter(item)])
    return [_record(_quote_counterexamples(item, against), rows.get(item.id, ())) for item in items]


def _counter(item: Item) -> Sequence[Mapping[str, Any]]:
    return item.data.get("counterexamples", ()) if item.kind == PATTERN else ()


def _quote_counterexamples(item: Item, against: Mapping[str, Item]) -> Item:
    """Return a pattern whose counterexamples quote their attempts."""
    told = [
        {**one, "attempt": first_sentences(against[one["id"]].data.get("attempt", ""))} if one["id"] in against else one
        for one in _counter(item)
    ]
    return replace(item, data={**item.data, "counterexamples": told}) if told else item


def _record(item: Item, rows: Sequence[EvidenceRow]) -> Item:
    if item.kind == L1:
        return event_of(item)
    if item.kind == PATTERN:
        return pattern_of(item, members_of(item, rows))
    if item.kind == PRINCIPLE:
        return principle_of(
            item,
            patterns=[row.source_key for row in rows if row.polarity == "support" and not row.part],
            counter=[row.source_key for row in rows if row.polarity == "contra" and not row.part],
        )
    return item
