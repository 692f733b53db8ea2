"""Events, patterns and principles with what stands beside them: members, and what supports or contradicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from phronesis.core.changes import Delta
from phronesis.core.entries import Entry
from phronesis.core.experience.describing import said
from phronesis.core.experience.records import (
    L1,
    PATTERN,
    PRINCIPLE,
    Pattern,
    Principle,
    event_of,
    pattern_of,
    principle_of,
)
from phronesis.core.experience.results import Aggregation, EventSource
from phronesis.core.experience.standing import members_of
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.scope import Scope
from phronesis.recall.experience.originals import find_source
from phronesis.recall.past import evidence_at
from phronesis.storage.database import Database, Unit
from phronesis.storage.deltas import deltas_of_entry
from phronesis.storage.items import lane_of_item, read_items
from phronesis.storage.lanes import get_lane


@dataclass(frozen=True, slots=True)
class ExperienceBook:
    """Reads the records of the experience base. It never writes."""

    database: Database

    def record(self, tenant: str, item: Item, as_of: int | None = None) -> Item:
        """Give an item as the record of its kind, as it was ``as_of`` a time (microseconds)."""
        if item.kind == L1:
            return event_of(item)
        with self.database.transaction(tenant, "read") as unit:
            return as_records(unit, [item], as_of=as_of)[0]

    def source(self, tenant: str, scope: Scope, named: str) -> EventSource:
        """Give what an event was taken from: by its id, or by a reference that the scope sees."""
        with self.database.transaction(tenant, "read") as unit:
            return find_source(unit, scope, named)

    def came_to(self, tenant: str, entry: Entry, kind: str = PATTERN) -> Aggregation:
        """Give what an aggregation changed among patterns, or an abstraction among principles (``kind``)."""
        with self.database.transaction(tenant, "read") as unit:
            # Whoever only got edges or lost some, as events do, is none of these, and not read.
            made = {delta.item_id: delta for delta in deltas_of_entry(unit, entry.lane_id, entry.id)
                    if delta.op == "create" or _moved(delta)}  # fmt: skip
            held = read_items(unit, get_lane(unit, entry.lane_id), list(made))
            items = [held[one] for one in made if one in held and held[one].kind == kind]
            records = as_records(unit, items)
        new, retired, changed = [], [], []
        for one in records:
            delta = made[one.id]
            if delta.op == "create":
                new.append(one)
            elif "ended" in delta.patch:
                retired.append(one)
            else:
                changed.append(one)
        mapping: dict[str, list[str]] = {}
        for one in (*new, *changed):
            for below in _below(one):
                mapping.setdefault(below, []).append(one.id)
        return Aggregation(entry.id, tuple(new), tuple(changed), tuple(retired), mapping)


def _moved(delta: Delta) -> bool:
    """Whether more of a record changed than which others it resembles."""
    return bool(delta.patch or delta.evidence_added or delta.evidence_removed)


def _below(record: Item) -> list[str]:
    if isinstance(record, Pattern):
        return [one for one, _ in record.members]
    return list(record.patterns) if isinstance(record, Principle) else []


def as_records(unit: Unit, items: Sequence[Item], *, as_of: int | None = None) -> list[Item]:
    """Give items of one lane as the records of their kinds."""
    learned = [item.id for item in items if item.kind in (PATTERN, PRINCIPLE)]
    lane_id = lane_of_item(unit, learned[0]) if learned else None
    if lane_id is None:
        return [_record(item, ()) for item in items]
    rows = evidence_at(unit, lane_id, learned, as_of)
    against = read_items(unit, get_lane(unit, lane_id), [one["id"] for item in items for one in _counter(item)])
    return [_record(_quoting(item, against), rows.get(item.id, ())) for item in items]


def _counter(item: Item) -> Sequence[Mapping[str, Any]]:
    return item.data.get("counterexamples", ()) if item.kind == PATTERN else ()


def _quoting(item: Item, against: Mapping[str, Item]) -> Item:
    """Give a pattern whose counterexamples say what was attempted."""
    told = [{**one, "attempt": said(against[one["id"]].data.get("attempt", ""))} if one["id"] in against else one
            for one in _counter(item)]  # fmt: skip
    return replace(item, data={**item.data, "counterexamples": told}) if told else item


def _record(item: Item, rows: Sequence[EvidenceRow]) -> Item:
    if item.kind == L1:
        return event_of(item)
    if item.kind == PATTERN:
        return pattern_of(item, members_of(item, rows))
    if item.kind == PRINCIPLE:
        return principle_of(
            item, patterns=[row.source_key for row in rows if row.polarity == "support" and not row.part],
            counter=[row.source_key for row in rows if row.polarity == "contra" and not row.part],
        )  # fmt: skip
    return item
