"""How often and when last reads showed each item, and what they showed to each run. ``forget`` uses the counts.

Reads count in memory; a background thread writes the counts periodically, when there are no other writes. A process
that is killed loses at most a minute of counts.
"""

import json
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlalchemy as sa

from phronesis.core.ids import LaneName, derived_id
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.timestamps import to_micros
from phronesis.errors import StorageBusy, StorageError
from phronesis.forgetting.laws import USE
from phronesis.store.compiled_statements import batches, each, fetch, in_list, list_value, run_each, run_one, upsert
from phronesis.store.context_impressions import WriteBehind
from phronesis.store.database import Database, Unit
from phronesis.store.schema import items
from phronesis.store.side_tables import usage, used_memories

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite
else:
    postgresql = lazy_module("sqlalchemy.dialects.postgresql")
    sqlite = lazy_module("sqlalchemy.dialects.sqlite")

WRITTEN_AT: Final = 512
"""Number of waiting items at which the counts are written."""

WRITTEN_AFTER: Final = 60_000_000
"""Microseconds after which the next read triggers a write."""

MAX_WAITING: Final = 20_000
"""Maximum number of counted items while nothing can be written; further ones are not counted."""


@cache
def _counts_query(dialect: str) -> sa.Select[Any]:
    return sa.select(items.c.id, items.c.lane_id, items.c.data[USE]).where(
        items.c.tenant_id == sa.bindparam("t"), in_list(items.c.id, dialect)
    )


def _sqlite_statement() -> Any:
    """Return SQLite's statement for each item: its first count, or an increment. PostgreSQL: `_postgres_statements`."""
    first = sqlite.insert(usage).values(
        tenant_id=sa.bindparam("t"),
        lane_id=sa.bindparam("lane"),
        item_id=sa.bindparam("item"),
        count=sa.bindparam("known", type_=sa.BigInteger) + sa.bindparam("more", type_=sa.BigInteger),
        last_at=sa.bindparam("at", type_=sa.BigInteger),
    )
    last = sa.func.max(usage.c.last_at, first.excluded.last_at)
    more = {"count": usage.c.count + sa.bindparam("more", type_=sa.BigInteger), "last_at": last}
    return first.on_conflict_do_update(index_elements=list(usage.primary_key), set_=more)


_MORE: Final = _sqlite_statement()


@cache
def _postgres_statements() -> tuple[Any, Any]:
    """Return PostgreSQL's two statements, which avoid a round trip for each of 500 items.

    First the initial counts of items that were never counted here, then the increments. Rows are bound as one JSON
    text: lane, item, the count ``known`` before, how often ``more``, and when last (``at``).
    """
    members = {
        name: sa.Text() if name == "item" else sa.BigInteger() for name in ("lane", "item", "known", "more", "at")
    }
    read = sa.func.json_to_recordset(sa.cast(sa.bindparam("rows", type_=sa.Text), postgresql.JSON))
    named = (sa.column(name, kind) for name, kind in members.items())
    of = read.table_valued(*named, name="given").render_derived(with_types=True)
    begun = sa.select(sa.bindparam("t", type_=sa.Text), of.c.lane, of.c.item, of.c.known, of.c["at"])
    first = postgresql.insert(usage).from_select(["tenant_id", "lane_id", "item_id", "count", "last_at"], begun)
    own = (usage.c.tenant_id == sa.bindparam("t"), usage.c.lane_id == of.c.lane, usage.c.item_id == of.c.item)
    last = sa.case((usage.c.last_at < of.c["at"], of.c["at"]), else_=usage.c.last_at)
    more = sa.update(usage).where(*own).values(count=usage.c.count + of.c.more, last_at=last)
    return first.on_conflict_do_nothing(), more


_USED: Final = (
    sa.select(usage.c.item_id, usage.c.count, usage.c.last_at, items.c.data[USE])
    .join(items, items.c.id == usage.c.item_id)
    .where(
        items.c.tenant_id == sa.bindparam("t"),
        usage.c.tenant_id == sa.bindparam("t"),
        usage.c.lane_id == sa.bindparam("l"),
        items.c.ended.is_(None),
    )
    .order_by(usage.c.item_id)
)


@dataclass(slots=True)
class _PendingCounts:
    """A tenant's unwritten counts: by item, how often and when last; and since when they wait."""

    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts how often reads show items. Thread-safe."""

    database: Database
    _waiting: dict[str, _PendingCounts] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def note(self, tenant: str, item_ids: Iterable[str], at: datetime) -> bool:
        """Count each of some items once more. Never fails, never blocks; returns whether to write."""
        now = to_micros(at)
        with self._lock:
            mine = self._waiting.setdefault(tenant, _PendingCounts())
            for one in set(item_ids):
                count, last = mine.counts.get(one, (0, now))
                if count or len(mine.counts) < MAX_WAITING:
                    mine.counts[one] = (count + 1, max(last, now))
            mine.since = now if mine.since is None else mine.since
            return len(mine.counts) >= WRITTEN_AT or now - mine.since >= WRITTEN_AFTER

    def settle(self, tenant: str, *, patient: bool = True) -> None:
        """Write the counts before they are used; waits for the lock as that write would, if ``patient``."""
        self._write(tenant, patient=patient)

    def close(self) -> None:
        """Write the counts of all tenants, unless another writer holds the lock."""
        for tenant in list(self._waiting):
            self._write(tenant, patient=False)

    def _write(self, tenant: str, *, patient: bool) -> None:
        # One at a time: who settles before it takes the counts up waits for those on their way, too.
        if not self._writing.acquire(blocking=patient):
            return
        try:
            self._write_alone(tenant, patient=patient)
        finally:
            self._writing.release()

    def _write_alone(self, tenant: str, *, patient: bool) -> None:
        with self._lock:
            mine = self._waiting.pop(tenant, None)
        if mine is None or not mine.counts:
            return
        try:
            with self.database.transaction(tenant, "derive", patient=patient) as unit:
                _store(unit, mine.counts)
        except StorageBusy:
            self._requeue(tenant, mine)
        except StorageError:
            return  # a store that cannot be written learns nothing either

    def _requeue(self, tenant: str, mine: _PendingCounts) -> None:
        """Return counts to the queue, merged with those counted meanwhile."""
        with self._lock:
            newer = self._waiting.pop(tenant, _PendingCounts())
            for one, (count, last) in newer.counts.items():
                before, at = mine.counts.get(one, (0, last))
                mine.counts[one] = (before + count, max(last, at))
            mine.since = newer.since  # a minute more, or a write at every read
            self._waiting[tenant] = mine


def _store(unit: Unit, counts: dict[str, tuple[int, int]]) -> None:
    """Add counts to the stored ones. An item's first count starts from the count in the item itself."""
    for batch in batches(sorted(counts)):
        ids = {"t": unit.tenant, "ids": list_value(unit.dialect, batch)}
        rows = sorted(fetch(unit, _counts_query(unit.dialect), ids), key=itemgetter(1, 0))
        told = [
            {
                "lane": lane_id,
                "item": item,
                "more": counts[item][0],
                "at": counts[item][1],
                "known": (said or {}).get("count", 0),
            }
            for item, lane_id, said in rows
        ]
        if unit.dialect == "postgresql":
            for statement in _postgres_statements():
                run_one(unit, statement, {"t": unit.tenant, "rows": json.dumps(told)})
        elif told:
            run_each(unit, _MORE, [{"t": unit.tenant, **row} for row in told])


def used_since(unit: Unit, lane_id: int) -> dict[str, tuple[int, int]]:
    """Return a lane's live items that were shown since their recorded usage.

    With the total count, and the last time in microseconds since 1970 UTC.
    """
    rows = each(unit, _USED, {"t": unit.tenant, "l": lane_id})
    return {one: (count, last) for one, count, last, said in rows if count > (said or {}).get("count", 0)}


def count_uses(unit: Unit, lane_id: int, item_id: str) -> int:
    """Return how often reads showed an item since counting began here."""
    query = sa.select(usage.c.count).where(
        usage.c.tenant_id == unit.tenant, usage.c.lane_id == lane_id, usage.c.item_id == item_id
    )
    return unit.run(query).scalar_one_or_none() or 0


def forget_usage(unit: Unit, lane_id: int, item_ids: Collection[str] | None = None) -> None:
    """Delete the counts of some items of a lane, or of all."""
    own = (usage.c.tenant_id == unit.tenant, usage.c.lane_id == lane_id)
    if item_ids is None:
        unit.run(sa.delete(usage).where(*own))
        return
    for batch in batches(sorted(item_ids)):
        unit.run(sa.delete(usage).where(*own, usage.c.item_id.in_(batch)))


# Items and claims that reads showed to a run (RB-11): ids and distances, never text.

KEPT: Final = 1_000
"""Number of rows kept for a run, the first ones: far more than learning reads."""

WHOLE_ITEM: Final = ""
"""The part in rows about an item that was read whole."""

Via = Literal["mem_search", "mem_get"]

_ROWS: Final = (
    sa.select(used_memories.c.item_id, used_memories.c.part, used_memories.c.via, used_memories.c.distance)
    .where(used_memories.c.tenant_id == sa.bindparam("t"), used_memories.c.run == sa.bindparam("r"))
    .order_by(used_memories.c.via, used_memories.c.distance, used_memories.c.item_id, used_memories.c.part)
)


@dataclass(frozen=True, slots=True)
class Use:
    """An item, or one claim of it (``part``), that a run was shown, and its distance from the query."""

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
    """Records what runs read. Thread-safe."""

    aside: WriteBehind[_Read]

    @classmethod
    def over(cls, database: Database) -> "UsedMemories":
        """Return an instance that writes to a database."""
        return cls(WriteBehind(database, _store_run_reads))

    def note(self, tenant: str, lane: LaneName, run_id: str, uses: Sequence[Use]) -> None:
        """Queue what a run read. Never fails and never blocks."""
        if uses:
            self.aside.note(tenant, _Read(lane, run_id, uses))
            self.aside.settle(tenant, patient=False)

    def settle(self, tenant: str) -> None:
        """Write the queue before a write that depends on it; waits for the lock as that write would."""
        self.aside.settle(tenant)


def owner_of(lane: LaneName) -> str:
    """Return the number that stands for a lane's owner."""
    return derived_id("used", lane.kind, lane.name)


def number_of(lane: LaneName, run_id: str) -> str:
    """Return the number that stands for a run of a lane."""
    return derived_id("used", owner_of(lane), run_id)


def used_by(unit: Unit, lane: LaneName, run_id: str) -> list[Use]:
    """Return what a run read: whole items first, then search results, nearest first."""
    rows = unit.run(_ROWS, {"t": unit.tenant, "r": number_of(lane, run_id)})
    return [Use(row.item_id, row.part, row.via, row.distance) for row in rows]


def forget_used(unit: Unit, lane: LaneName, item_ids: Collection[str] | None = None) -> None:
    """Delete the records of some items of a lane, and of the runs among them; or all of its runs'."""
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


def _store_run_reads(unit: Unit, reads: Sequence[_Read]) -> None:
    for read in reads:
        _store_one(unit, read)


def _store_one(unit: Unit, read: _Read) -> None:
    run = number_of(read.lane, read.run_id)
    counted = sa.select(sa.func.count()).where(used_memories.c.tenant_id == unit.tenant, used_memories.c.run == run)
    room = KEPT - int(unit.run(counted).scalar_one())
    known: Mapping[str, str] = {"tenant_id": unit.tenant, "run": run, "owner": owner_of(read.lane)}
    rows = [
        {**known, "item_id": use.item_id, "part": use.part, "via": use.via, "distance": use.distance}
        for use in read.uses
    ]
    upsert(unit, used_memories, rows[: max(0, room)])
