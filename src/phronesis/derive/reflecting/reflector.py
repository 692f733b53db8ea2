"""Whether a reflection is due, and what one came to: what callers ask around the verb ``reflect``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from phronesis.core.canonical import decode
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.scope import LaneName
from phronesis.core.traits.records import CYCLE, ReflectionCycle, cycle_of, not_due
from phronesis.core.traits.seen import MEMORY_KINDS
from phronesis.core.traits.triggers import Due, Learned, Thresholds, due
from phronesis.derive.reflecting.cycle import TRIGGER
from phronesis.derive.reflecting.material import last_cycle
from phronesis.storage.database import Database
from phronesis.storage.deltas import deltas_of_entry
from phronesis.storage.items import read_items
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import find_lane, get_lane
from phronesis.storage.log import read_outcomes


@dataclass(frozen=True, slots=True)
class Reflector:
    """Looks at the triggers of a lane, and reads what a reflection left."""

    database: Database
    thresholds: Thresholds = field(default_factory=Thresholds)

    def due(self, tenant: str, name: LaneName, now: datetime, **asked: bool) -> Due:
        """Say whether a reflection on a lane is due; ``asked`` are force, session_ended and daily."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            learned = Learned(memories=0, importance=0) if lane is None else _learned(LaneView(unit, lane))
        return due(learned, now, self.thresholds, **asked)

    def seen(self, tenant: str, name: LaneName) -> dict[str, Any]:
        """Give what an entry says of the last reflection that its caller knew of."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            last = None if lane is None else last_cycle(LaneView(unit, lane))
        return {} if last is None else {"last": last.id}

    def came_to(self, tenant: str, entry: Entry) -> ReflectionCycle:
        """Give the reflection of an entry; where another had done its work by then, that one."""
        with self.database.transaction(tenant, "read") as unit:
            lane = get_lane(unit, entry.lane_id)
            made = [delta.item_id for delta in deltas_of_entry(unit, lane.lane_id, entry.id)]
            found = [item for item in read_items(unit, lane, made).values() if item.kind == CYCLE]
            if found:
                return cycle_of(found[0])
            trigger = _trigger(read_outcomes(unit, [entry.id])[entry.id])
            last = read_items(unit, lane, [trigger["last"]]) if trigger.get("last") else {}
            for item in last.values():
                return cycle_of(item)
        return not_due(trigger.get("reason", "nothing_new"), trigger.get("value"))


def _learned(view: LaneView) -> Learned:
    last: Item | None = last_cycle(view)
    new = [memory for memory in view.find(kinds=MEMORY_KINDS) if last is None or memory.recorded_at > last.recorded_at]
    since = None if last is None else last.recorded_at
    return Learned(memories=len(new), importance=sum(memory.importance for memory in new), since=since)


def _trigger(rows: Any) -> Mapping[str, Any]:
    return next((decode(row["body"]) for row in rows if row["role"] == TRIGGER), {})
