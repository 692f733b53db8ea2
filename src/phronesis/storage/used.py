"""Which items and claims reads showed to a run (RB-11): ids and distances, never words.

A row says whose run, and which, by numbers made of the lane's name and the run's: a run may read before it is recorded.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import sqlalchemy as sa

from phronesis.core.ids import derived_id
from phronesis.core.scope import LaneName
from phronesis.storage.aside import Aside
from phronesis.storage.database import Database, Unit
from phronesis.storage.schema import items
from phronesis.storage.side_tables import used_memories
from phronesis.storage.statements import batches, upsert

KEPT: Final = 1_000
"""Rows kept of a run, the first. A run that reads more leaves no more: far above what learning looks at."""

WHOLE_ITEM: Final = ""
"""The part of a row about an item that was read whole."""

Via = Literal["mem_search", "mem_get"]

_ROWS: Final = (
    sa.select(used_memories.c.item_id, used_memories.c.part, used_memories.c.via, used_memories.c.distance)
    .where(used_memories.c.tenant_id == sa.bindparam("t"), used_memories.c.run == sa.bindparam("r"))
    .order_by(used_memories.c.via, used_memories.c.distance, used_memories.c.item_id, used_memories.c.part)
)


@dataclass(frozen=True, slots=True)
class Use:
    """An item, or one claim of it (``part``), that a run was shown, and how far it was from what was asked."""

    item_id: str
    part: str
    via: Via
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    lane: LaneName
    run_id: str
    uses: Sequence[Use]


@dataclass(frozen=True, slots=True)
class UsedMemories:
    """Writes down what runs read. Thread-safe."""

    aside: Aside[_Read]

    @classmethod
    def over(cls, database: Database) -> "UsedMemories":
        """Give one that writes to a database."""
        return cls(Aside(database, _store))

    def note(self, tenant: str, lane: LaneName, run_id: str, uses: Sequence[Use]) -> None:
        """Write down what a run read, as soon as nobody else is writing. Never fails and never waits."""
        if uses:
            self.aside.note(tenant, _Read(lane, run_id, uses))
            self.aside.settle(tenant, patient=False)

    def settle(self, tenant: str) -> None:
        """Write what waits, before a write that it may matter to; waits as that write would."""
        self.aside.settle(tenant)


def owner_of(lane: LaneName) -> str:
    """Give the number of whoever a lane is of."""
    return derived_id("used", lane.kind, lane.name)


def number_of(lane: LaneName, run_id: str) -> str:
    """Give the number of a run of a lane."""
    return derived_id("used", owner_of(lane), run_id)


def used_by(unit: Unit, lane: LaneName, run_id: str) -> list[Use]:
    """Give what a run read: what it took whole, then what it found, the nearest first."""
    rows = unit.run(_ROWS, {"t": unit.tenant, "r": number_of(lane, run_id)})
    return [Use(row.item_id, row.part, row.via, row.distance) for row in rows]


def forget_used(unit: Unit, lane: LaneName, item_ids: Collection[str] | None = None) -> None:
    """Delete what was noted of some items of a lane, and of the runs among them; or all that its runs read."""
    own = used_memories.c.tenant_id == unit.tenant
    if item_ids is None:
        unit.run(sa.delete(used_memories).where(own, used_memories.c.owner == owner_of(lane)))
        return
    for batch in batches(sorted(item_ids)):
        unit.run(sa.delete(used_memories).where(own, used_memories.c.item_id.in_(batch)))
        named = sa.select(items.c.run_id).where(
            items.c.tenant_id == unit.tenant, items.c.id.in_(batch), items.c.kind == "run"
        )
        numbers = [number_of(lane, run_id) for run_id in unit.run(named).scalars() if run_id is not None]
        unit.run(sa.delete(used_memories).where(own, used_memories.c.run.in_(numbers)))


def _store(unit: Unit, reads: Sequence[_Read]) -> None:
    for read in reads:
        _store_one(unit, read)


def _store_one(unit: Unit, read: _Read) -> None:
    run = number_of(read.lane, read.run_id)
    counted = sa.select(sa.func.count()).where(used_memories.c.tenant_id == unit.tenant, used_memories.c.run == run)
    room = KEPT - int(unit.run(counted).scalar_one())
    known: Mapping[str, str] = {"tenant_id": unit.tenant, "run": run, "owner": owner_of(read.lane)}
    rows = [{**known, "item_id": use.item_id, "part": use.part, "via": use.via, "distance": use.distance}
            for use in read.uses]  # fmt: skip
    upsert(unit, used_memories, rows[: max(0, room)])
