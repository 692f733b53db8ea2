"""When to aggregate and when to abstract, and the watermark: how far a lane was aggregated.

A watermark is an item, archived from the start, so that a rollback restores it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from phronesis.core.changes import Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName, item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.core.timestamps import from_micros
from phronesis.engine.handler import FAILED_ROLE
from phronesis.engine.writer import Writer
from phronesis.experience.laws.records import ABSTRACT, AGGREGATE, FEEDBACK, L1, PATTERN
from phronesis.index.projections import ALIKE
from phronesis.log.payloads import load_listed
from phronesis.store.database import Database
from phronesis.store.experience import changed_parts
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane
from phronesis.store.log import entries_of_verb

KIND: Final = "mark"
"""The kind of a watermark item."""

MARK: Final = "up_to"
"""The member of a watermark's data with the seq of the last entry that it covers."""

SPOKEN: Final = "regroups"
"""The member of its payload with the events to regroup."""

MERGE: Final = "merge"
"""The kind of feedback that merges patterns, its ``value``, into another."""

ROLLBACK: Final = "rollback"

AGGREGATED: Final = "aggregate"
"""The item key of a watermark."""


def _mark(view: LaneView) -> Item | None:
    found = view.find(kinds=(KIND,), live=False)
    return next((item for item in reversed(found) if item.key == AGGREGATED and item.ended is None), None)


def last_processed(view: LaneView) -> int:
    """Return the seq of the last entry that was processed; 0 before the first time."""
    mark = _mark(view)
    return 0 if mark is None else int(mark.data[MARK])


def mark(view: LaneView, entry: Entry) -> tuple[list[Item], list[Patch]]:
    """Return the watermark that an entry sets: a new item, or a change of the existing one."""
    before = _mark(view)
    if before is not None:
        return [], [Patch(before.id, {f"data.{MARK}": entry.seq}, "looked at")]
    item = Item(
        id=item_id(entry.id, KIND, AGGREGATED),
        kind=KIND,
        key=AGGREGATED,
        content=AGGREGATED,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[KIND],
        status="archived",
        data={MARK: entry.seq},
        **view.scope_fields(),
    )
    return [item], []


def spoken_of(view: LaneView, seq: int) -> set[str]:
    """Return the events to regroup because of feedback given or taken back after entry ``seq``."""
    given, back = _feedback_since(view, seq)
    return {one for entry in (*given, *back) for one in entry.payload.get(SPOKEN) or ()}


def unmerged_patterns(view: LaneView, seq: int) -> list[str]:
    """Return the patterns whose merge was taken back after entry ``seq``."""
    _, back = _feedback_since(view, seq)
    return sorted({one for entry in back if entry.payload.get("kind") == MERGE for one in entry.payload["value"]})


def _feedback_since(view: LaneView, seq: int) -> tuple[list[Entry], list[Entry]]:
    """Return the feedback after an entry, and all feedback that a later entry took back."""
    log = view.log or view.unit
    rows = [row for verb in (FEEDBACK, ROLLBACK) for row in entries_of_verb(log, view.lane_id, verb, after=seq)]
    found = load_listed(log, view.lane, [row.entry_id for row in rows]) if rows else {}
    given = [entry for entry in found.values() if entry.verb == FEEDBACK]
    back, waiting = list[Entry](), [entry for entry in found.values() if entry.verb == ROLLBACK]
    while waiting:  # a rollback may be of a rollback
        targets = {_entry_of(view, entry.payload.get("target_id")) for entry in waiting}
        taken = load_listed(log, view.lane, sorted(one for one in targets if one is not None))
        back += [entry for entry in taken.values() if entry.verb == FEEDBACK]
        waiting = [entry for entry in taken.values() if entry.verb == ROLLBACK]
    return given, back


def _entry_of(view: LaneView, target: str | None) -> str | None:
    """Return the entry that a rollback takes back wholly or in part."""
    delta = None if target is None else view.delta(target)
    return target if delta is None else delta.entry_id


ACTOR: Final = "worker"


@dataclass(frozen=True, slots=True)
class MaintenanceScheduler:
    """Runs aggregation and abstraction of a lane when they are due.

    Aggregation is due after a number of new ``events``, or of ``hours`` with any; abstraction after ``abstract_hours``.
    """

    database: Database
    events: int
    hours: float
    abstract_hours: float
    background: bool

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Do what is due in a lane; return whether anything was."""
        if lane.name is None:
            return False
        name = LaneName(lane.kind, lane.name)
        with self.database.transaction(tenant, "read") as unit:
            view = LaneView(unit, lane)
            grouping = self._news(view, now)
        if grouping:
            writer.write(tenant, name, verb=AGGREGATE, payload={}, actor=ACTOR)
        with self.database.transaction(tenant, "read") as unit:
            drawing = self._has_moved(LaneView(unit, lane), now)
        if drawing:
            writer.write(tenant, name, verb=ABSTRACT, payload={}, actor=ACTOR)
        return grouping or drawing

    def _news(self, view: LaneView, now: datetime) -> bool:
        seq = last_processed(view)
        changed = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=seq)
        events = {row.item_id for row in changed} | spoken_of(view, seq)
        if len(events) >= self.events:
            return True
        since = _last(view, AGGREGATE) or min((from_micros(row.recorded_at) for row in changed), default=now)
        return bool(events) and now - since >= timedelta(hours=self.hours)

    def _has_moved(self, view: LaneView, now: datetime) -> bool:
        last = _last(view, ABSTRACT)
        if last is not None and now - last < timedelta(hours=self.abstract_hours):
            return False
        return any(last is None or one.updated_at > last for one in view.find(kinds=(PATTERN,), live=False))


def _last(view: LaneView, verb: str) -> datetime | None:
    return view.last_recorded(verb, before=view.lane.head_seq + 1, without=FAILED_ROLE)
