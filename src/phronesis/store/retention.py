"""How often and when last reads showed each item, and the queries of ``forget``, which uses the counts.

Reads count in memory; a background thread writes the counts periodically, when there are no other writes. A process
that is killed loses at most a minute of counts. A lane may hold hundreds of thousands of items of which few are due to
be forgotten: the database preselects and streams them, without their text.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from phronesis.core.items import Trust
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.timestamps import from_micros, optional_moment, to_micros
from phronesis.forgetting.laws import FORGETTING, USE, RetentionFields
from phronesis.store.compiled_statements import (
    batches,
    bound_lane,
    each,
    fetch,
    in_list,
    list_value,
    own_rows,
    run_each,
)
from phronesis.store.database import Database, Unit
from phronesis.store.dialects import has_member, json_key
from phronesis.store.lanes import Lane
from phronesis.store.schema import evidence, items, usage
from phronesis.store.write_behind import WriteBehind

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite
else:
    postgresql = lazy_module("sqlalchemy.dialects.postgresql")
    sqlite = lazy_module("sqlalchemy.dialects.sqlite")

WRITTEN_AT: Final = 512
"""Number of waiting items at which the counts are written."""

WRITTEN_AFTER: Final = 60_000_000
"""Microseconds after which the next read triggers a write."""

MAX_WAITING: Final = 2_000
"""Maximum number of counted reads while nothing can be written; the oldest are not counted."""


@cache
def _counts_query(dialect: str) -> sa.Select[Any]:
    return sa.select(items.c.id, items.c.lane_id, items.c.data[USE]).where(
        items.c.tenant_id == sa.bindparam("t"), in_list(items.c.id, dialect)
    )


@cache
def _count_statement(dialect: str) -> Any:
    """Return the statement for each item: its first count, from the one ``known`` before, or an increment."""
    first = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(usage).values(
        tenant_id=sa.bindparam("t"),
        lane_id=sa.bindparam("lane"),
        item_id=sa.bindparam("item"),
        count=sa.bindparam("known", type_=sa.BigInteger) + sa.bindparam("more", type_=sa.BigInteger),
        last_at=sa.bindparam("at", type_=sa.BigInteger),
    )
    last = sa.case((usage.c.last_at < first.excluded.last_at, first.excluded.last_at), else_=usage.c.last_at)
    more = {"count": usage.c.count + sa.bindparam("more", type_=sa.BigInteger), "last_at": last}
    return first.on_conflict_do_update(index_elements=list(usage.primary_key), set_=more)


_USED: Final = (
    sa.select(usage.c.item_id, usage.c.count, usage.c.last_at, items.c.data[USE])
    .join(items, items.c.id == usage.c.item_id)
    .where(items.c.tenant_id == sa.bindparam("t"), *bound_lane(usage), items.c.ended.is_(None))
    .order_by(usage.c.item_id)
)


class Usage(WriteBehind[tuple[frozenset[str], int]]):
    """Counts how often reads show items; a note has the items of one read, and when it was."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, most=MAX_WAITING)

    def note(self, tenant: str, item_ids: Iterable[str], at: datetime) -> bool:
        """Count each of some items once more. Never fails, never blocks; returns whether to write."""
        now = to_micros(at)
        self.queue(tenant, (frozenset(item_ids), now))
        mine = self.waiting(tenant)
        return sum(len(ids) for ids, _ in mine) >= WRITTEN_AT or (bool(mine) and now - mine[0][1] >= WRITTEN_AFTER)

    def store(self, unit: Unit, notes: Sequence[tuple[frozenset[str], int]]) -> None:
        """Add the counts to the stored ones."""
        counts: Counter[str] = Counter()
        last: dict[str, int] = {}
        for ids, at in notes:
            counts.update(ids)
            last |= {one: max(at, last.get(one, at)) for one in ids}
        _store(unit, {one: (count, last[one]) for one, count in counts.items()})


def _store(unit: Unit, counts: dict[str, tuple[int, int]]) -> None:
    """Add counts to the stored ones. An item's first count starts from the count in the item itself."""
    for batch in batches(sorted(counts)):
        ids = {"t": unit.tenant, "ids": list_value(unit.dialect, batch)}
        rows = sorted(fetch(unit, _counts_query(unit.dialect), ids), key=itemgetter(1, 0))
        told = [
            {
                "t": unit.tenant,
                "lane": lane_id,
                "item": item,
                "more": counts[item][0],
                "at": counts[item][1],
                "known": (said or {}).get("count", 0),
            }
            for item, lane_id, said in rows
        ]
        if told:
            run_each(unit, _count_statement(unit.dialect), told)


def used_since(unit: Unit, lane_id: int) -> dict[str, tuple[int, int]]:
    """Return a lane's live items that were shown since their recorded usage.

    With the total count, and the last time in microseconds since 1970 UTC.
    """
    rows = each(unit, _USED, {"t": unit.tenant, "l": lane_id})
    return {one: (count, last) for one, count, last, said in rows if count > (said or {}).get("count", 0)}


def count_uses(unit: Unit, lane_id: int, item_id: str) -> int:
    """Return how often reads showed an item since counting began here."""
    query = sa.select(usage.c.count).where(*own_rows(unit, usage, lane_id=lane_id, item_id=item_id))
    return unit.run(query).scalar_one_or_none() or 0


def forget_usage(unit: Unit, lane_id: int, item_ids: Collection[str] | None = None) -> None:
    """Delete the counts of some items of a lane, or of all."""
    own = own_rows(unit, usage, lane_id=lane_id)
    if item_ids is None:
        unit.run(sa.delete(usage).where(*own))
        return
    for batch in batches(sorted(item_ids)):
        unit.run(sa.delete(usage).where(*own, usage.c.item_id.in_(batch)))


# What may be due to be forgotten.

_FETCHED: Final = 2_000
_COLUMNS: Final = [items.c[name] for name in RetentionFields.__dataclass_fields__ if name != "ended"]
"""Those of items that have not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueConditions:
    """Which items of a lane may be due: by kind, those learned at or before a time.

    Besides, whatever their age: archived items, items that forgetting moved before, items that were over at ``over``,
    and ``also``. Times are microseconds since 1970 UTC.
    """

    learned_by: Mapping[str, int]
    over: int
    session_id: str | None = None
    agent_id: str | None = None
    also: Collection[str] = field(default_factory=frozenset)


def each_forgettable_item(unit: Unit, lane: Lane, wanted: DueConditions) -> Iterator[RetentionFields]:
    """Yield the items that have not ended, are not quarantined, and may be due, each once, in no order."""
    due = sa.or_(
        *(sa.and_(items.c.kind == kind, items.c.recorded_at <= at) for kind, at in wanted.learned_by.items()),
        items.c.status == "archived",
        items.c.valid_to <= wanted.over,
        has_member(items.c.data, json_key(FORGETTING)),
    )
    query = sa.select(*_COLUMNS).where(*_lane_conditions(unit, lane, wanted), due)
    seen = set[str]() if wanted.also else None
    for row in unit.run(query.execution_options(yield_per=_FETCHED)):
        if seen is not None and row[0] in wanted.also:
            seen.add(row[0])
        yield _retention_fields(row)
    for batch in batches(sorted(set(wanted.also) - (seen or set()))):
        young = sa.select(*_COLUMNS).where(*_lane_conditions(unit, lane, wanted), items.c.id.in_(batch))
        for row in unit.run(young):
            yield _retention_fields(row)


def _lane_conditions(unit: Unit, lane: Lane, wanted: DueConditions) -> list[sa.ColumnElement[bool]]:
    named = {items.c.session_id: wanted.session_id, items.c.agent_id: wanted.agent_id}
    return [
        *own_rows(unit, items, lane_id=lane.lane_id),
        items.c.ended.is_(None),
        items.c.quarantine.is_(None),
        items.c.kind.in_(sorted(wanted.learned_by)),
        *(column == value for column, value in named.items() if value is not None),
    ]


def _retention_fields(row: Any) -> RetentionFields:
    values = row._asdict()
    values |= {name: optional_moment(values[name]) for name in ("occurred_at", "valid_from", "valid_to")}
    values |= {"recorded_at": from_micros(row.recorded_at), "pinned": bool(row.pinned), "trust": Trust(row.trust)}
    return RetentionFields(**{**values, "data": RetentionFields.members(row.data)})


_SPOKEN: Final = (
    sa.select(evidence.c.item_id, evidence.c.polarity)
    .where(*bound_lane(evidence), evidence.c.polarity != sa.bindparam("p"))
    .distinct()
)


def spoken_of(unit: Unit, lane_id: int) -> tuple[set[str], set[str]]:
    """Return the items with evidence besides their sources, and those with counter-evidence."""
    known, against = set[str](), set[str]()
    for item_id, polarity in fetch(unit, _SPOKEN, {"t": unit.tenant, "l": lane_id, "p": "source"}):
        known.add(item_id)
        if polarity in ("contra", "incorrect"):
            against.add(item_id)
    return known, against


def items_resting_on(unit: Unit, lane_id: int, sources: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Return, for some items, the items and parts that have them as source or support.

    One pass over the lane's evidence: an index by source would cost every write.
    """
    query = sa.select(evidence.c.source_item_id, evidence.c.item_id, evidence.c.part).where(
        *own_rows(unit, evidence, lane_id=lane_id),
        evidence.c.polarity.in_(("source", "support")),
        evidence.c.source_item_id.is_not(None),
    )
    out: dict[str, list[tuple[str, str]]] = {}
    rows: Iterable[Any] = unit.run(query.execution_options(yield_per=_FETCHED)) if sources else ()
    for source, item_id, part in rows:
        if source in sources:
            out.setdefault(source, []).append((item_id, part))
    return out
