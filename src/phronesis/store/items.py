"""Statements on items: read by id, lane or key; write versions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import sqlalchemy as sa

from phronesis.core.items import ROW_FIELDS, Item
from phronesis.core.timestamps import to_micros
from phronesis.store.compiled_statements import (
    bound_lane,
    each_of,
    fetch,
    fetch_together,
    in_list,
    insert,
    list_value,
    own_lane,
    run_each,
)
from phronesis.store.database import Unit
from phronesis.store.lanes import Lane
from phronesis.store.schema import VISIBLE, items

COLUMNS: Final = [items.c[name] for name in ROW_FIELDS]
_OBJECTS: Final = (ROW_FIELDS.index("metadata"), ROW_FIELDS.index("data"))
_UPDATE: Final = (
    sa.update(items)
    .where(items.c.tenant_id == sa.bindparam("b_tenant"), items.c.id == sa.bindparam("b_id"))
    .values({name: sa.bindparam(name) for name in ROW_FIELDS if name != "id"})
)
_NAMED: Final = (
    sa.select(*COLUMNS)
    .where(*bound_lane(items), items.c.external_id == sa.bindparam("x"))
    .order_by(items.c.updated_at, items.c.id)
)
_VERSIONS: Final = (
    sa.select(items.c.id, items.c.version)
    .where(
        *bound_lane(items),
        items.c.kind == sa.bindparam("k"),
        items.c.kind != sa.literal_column("'message'"),
        *VISIBLE,
        sa.or_(
            items.c.recorded_at < sa.bindparam("at"),
            sa.and_(items.c.recorded_at == sa.bindparam("at"), items.c.id < sa.bindparam("id")),
        ),
    )
    .order_by(items.c.recorded_at, items.c.id)
)


def read_items(unit: Unit, lane: Lane, ids: Iterable[str]) -> dict[str, Item]:
    """Return those of ``ids`` that the lane holds."""
    return {item.id: item for item in each_item(unit, lane, ids)}


def each_item(unit: Unit, lane: Lane, ids: Iterable[str]) -> Iterator[Item]:
    """Yield those of ``ids`` that the lane holds, in any order, each read on demand."""
    return (as_item(row, lane) for row in each_of(unit, _by_ids(unit.dialect), ids, l=lane.lane_id))


def read_named(unit: Unit, lane: Lane, external_id: str) -> list[Item]:
    """Return a lane's items that have or had an external id, the last changed one at the end."""
    bound = {"t": unit.tenant, "l": lane.lane_id, "x": external_id}
    return [as_item(row, lane) for row in fetch(unit, _NAMED, bound)]


@dataclass(frozen=True, slots=True)
class ItemState:
    """Whether an item is live (neither archived nor ended), whether it is quarantined, and its version, from 1."""

    kept: bool
    held: bool
    version: int

    @property
    def live(self) -> bool:
        """Return whether ordinary reads show it."""
        return self.kept and not self.held


def read_states(unit: Unit, lane: Lane, ids: Iterable[str]) -> dict[str, ItemState]:
    """Return the state of those of ``ids`` that the lane holds, without their content."""
    return {
        one.id: ItemState(one.status == "active" and one.ended is None, one.quarantine is not None, one.version)
        for one in read_heads(unit, lane.lane_id, ids)
    }


class ItemHead(NamedTuple):
    """An item without its content."""

    id: str
    kind: str
    status: str
    label: str | None
    ended: str | None
    quarantine: str | None
    version: int


def read_heads(unit: Unit, lane_id: int, ids: Iterable[str]) -> list[ItemHead]:
    """Return those of ``ids`` that a lane holds without their content, which takes most of the time to read."""
    return list(map(ItemHead._make, each_of(unit, _heads(unit.dialect), ids, l=lane_id)))


@cache
def _heads(dialect: str) -> sa.Select[Any]:
    lane = items.c.lane_id + sa.literal_column("0")
    return sa.select(*(items.c[name] for name in ItemHead._fields)).where(
        items.c.tenant_id == sa.bindparam("t"), lane == sa.bindparam("l"), in_list(items.c.id, dialect)
    )


def read_versions(unit: Unit, lane: Lane, kind: str, *, before: Item) -> list[tuple[str, int]]:
    """Return id and version of a lane's visible items of a kind (not messages), oldest first.

    Those recorded ``before`` an item. Raw rows, because ``learn`` reads as many as the lane has runs.
    """
    bound = {"t": unit.tenant, "l": lane.lane_id, "k": kind, "at": to_micros(before.recorded_at), "id": before.id}
    return cast("list[tuple[str, int]]", fetch(unit, _VERSIONS, bound))


def count_changes(unit: Unit, lane: Lane, kinds: Sequence[str]) -> int:
    """Count the creations and changes of a lane's items of some kinds (not messages).

    It only grows within an epoch.
    """
    bound = {"t": unit.tenant, "l": lane.lane_id, "ids": list_value(unit.dialect, kinds)}
    return int(fetch(unit, _changes(unit.dialect), bound)[0][0])


@cache
def _changes(dialect: str) -> sa.Select[Any]:
    return sa.select(sa.func.coalesce(sa.func.sum(items.c.version), 0)).where(
        *bound_lane(items), items.c.kind != sa.literal_column("'message'"), in_list(items.c.kind, dialect)
    )


def live_by_stage(unit: Unit, lane: Lane, kind: str, stages: Sequence[str]) -> list[Item]:
    """Return a lane's visible items of a kind at any of some stages."""
    bound = {"t": unit.tenant, "l": lane.lane_id, "k": kind, "ids": list_value(unit.dialect, stages)}
    return [as_item(row, lane) for row in fetch(unit, _by_stage(unit.dialect), bound)]


@cache
def _by_stage(dialect: str) -> sa.Select[Any]:
    return sa.select(*COLUMNS).where(
        *bound_lane(items),
        items.c.kind == sa.bindparam("k"),
        items.c.kind != sa.literal_column("'message'"),
        *VISIBLE,
        in_list(items.c.stage, dialect),
    )


@dataclass(frozen=True, slots=True)
class SessionItems:
    """A selection of a session's items: the newest ``limit`` of some kinds, of one role or of any."""

    kinds: Sequence[str]
    limit: int
    role: str | None = None


def live_of_session(unit: Unit, lane: Lane, session_id: str, wanted: Sequence[SessionItems]) -> list[list[Item]]:
    """Return a session's visible items for each selection in ``wanted``, newest first."""
    known = {"t": unit.tenant, "l": lane.lane_id, "s": session_id}
    asked = [
        (
            _of_session(unit.dialect, one.limit, one.role is not None),
            {**known, "r": one.role, "ids": list_value(unit.dialect, one.kinds)},
        )
        for one in wanted
    ]
    return [[as_item(row, lane) for row in rows] for rows in fetch_together(unit, asked)]


@cache
def _of_session(dialect: str, limit: int, by_role: bool) -> sa.Select[Any]:
    found = sa.select(*COLUMNS).where(
        *bound_lane(items), items.c.session_id == sa.bindparam("s"), in_list(items.c.kind, dialect), *VISIBLE
    )
    found = found.where(items.c.role == sa.bindparam("r")) if by_role else found
    newest = (items.c.position.desc(), items.c.recorded_at.desc(), items.c.id)
    return found.order_by(*newest).limit(sa.literal_column(str(limit))).offset(sa.literal_column("0"))


@cache
def _by_ids(dialect: str) -> sa.Select[Any]:
    # The sum keeps SQLite from walking the whole lane by one of its indexes instead of looking the ids up.
    lane = items.c.lane_id + sa.literal_column("0")
    return sa.select(*COLUMNS).where(
        items.c.tenant_id == sa.bindparam("t"), lane == sa.bindparam("l"), in_list(items.c.id, dialect)
    )


def of_kinds(kinds: Collection[str]) -> list[sa.ColumnElement[bool]]:
    """Return the condition that an item is of one of ``kinds``, in a form that uses the index of kinds."""
    wanted: list[sa.ColumnElement[bool]] = [items.c.kind.in_([sa.literal(kind) for kind in sorted(kinds)])]
    if "message" not in kinds:
        wanted.append(items.c.kind != sa.literal_column("'message'"))  # the index leaves messages out
    return wanted


def read_where(
    unit: Unit, lane: Lane, *conditions: sa.ColumnElement[bool], order: Sequence[Any] = (), limit: int | None = None
) -> list[Item]:
    """Return the lane's items that meet ``conditions``, oldest first unless ordered otherwise."""
    query = sa.select(*COLUMNS).where(*own_lane(unit, items, lane.lane_id), *conditions)
    query = query.order_by(*(order or (items.c.recorded_at, items.c.id)))
    if limit is not None:
        query = query.limit(limit)
    return [as_item(row, lane) for row in unit.run(query)]


def weigh_kinds(unit: Unit, lane: Lane, kinds: Collection[str], *, since: int) -> tuple[int, int]:
    """Count the live items of ``kinds`` recorded after ``since`` (microseconds), and sum their importance."""
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(items.c.importance), 0)).where(
        *own_lane(unit, items, lane.lane_id), *of_kinds(kinds), *VISIBLE, items.c.recorded_at > since
    )
    ((count, importance),) = map(tuple, unit.run(query))
    return int(count), int(importance)


def items_of_kind(unit: Unit, lane: Lane, kind: str, *, after: str, limit: int) -> list[Item]:
    """Return a lane's items of a kind, whatever their status, by id: the next ``limit`` after a given id."""
    return read_where(unit, lane, items.c.kind == kind, items.c.id > after, order=(items.c.id,), limit=limit)


def ids_of_kind(unit: Unit, lane: Lane, kind: str, *, after: str, limit: int) -> dict[str, str]:
    """Return the ids of the items that `items_of_kind` selects, and by id the entries that made them."""
    bound = {"t": unit.tenant, "l": lane.lane_id, "k": kind, "after": after}
    return dict(cast("list[tuple[str, str]]", fetch(unit, _of_kind(limit), bound)))


@cache
def _of_kind(limit: int) -> sa.Select[Any]:
    found = sa.select(items.c.id, items.c.entry_id).where(
        *bound_lane(items), items.c.kind == sa.bindparam("k"), items.c.id > sa.bindparam("after")
    )
    return found.order_by(items.c.id).limit(sa.literal_column(str(limit))).offset(sa.literal_column("0"))


def lane_of_item(unit: Unit, item_id: str) -> int | None:
    """Return the number of the lane that holds an item of this tenant, or None."""
    query = sa.select(items.c.lane_id).where(items.c.tenant_id == unit.tenant, items.c.id == item_id)
    return unit.run(query).scalar_one_or_none()


def insert_items(unit: Unit, lane_id: int, created: Sequence[Item]) -> None:
    """Store new items."""
    insert(unit, items, [{"tenant_id": unit.tenant, "lane_id": lane_id, **_row(item)} for item in created])


def update_items(unit: Unit, updated: Sequence[Item]) -> None:
    """Store new versions."""
    if updated:
        rows = []
        for item in updated:
            row = _row(item)
            rows.append({"b_tenant": unit.tenant, "b_id": row.pop("id"), **row})
        run_each(unit, _UPDATE, rows)


def as_item(row: Sequence[Any], lane: Lane) -> Item:
    """Read a row of ``COLUMNS``."""
    values = [*row]
    for n in _OBJECTS:
        values[n] = values[n] or {}
    return Item.from_values(values, user_id=lane.user_id, namespace=lane.namespace)


def _row(item: Item) -> dict[str, Any]:
    row = item.to_row()
    row["metadata"] = dict(row["metadata"]) or None
    row["data"] = dict(row["data"]) or None
    return row


_COUNTS: Final = (
    sa.select(items.c.lane_id, items.c.kind, sa.func.count())
    .where(items.c.tenant_id == sa.bindparam("t"), *VISIBLE)
    .group_by(items.c.lane_id, items.c.kind)
    .order_by(items.c.lane_id, items.c.kind)
)


def counts_by_lane(unit: Unit, lane_id: int | None = None) -> dict[int, Mapping[str, int]]:
    """Return the number of live items of each kind for each lane of the tenant, or one lane alone."""
    query = _COUNTS if lane_id is None else _COUNTS.where(items.c.lane_id == lane_id)
    out: dict[int, Mapping[str, int]] = {}
    for number, rows in groupby(map(tuple, unit.run(query, {"t": unit.tenant})), key=itemgetter(0)):
        out[number] = {kind: count for _, kind, count in rows}
    return out


def count_quarantined(unit: Unit, lane_id: int | None = None) -> int:
    """Return the number of quarantined items of the tenant, or of one lane."""
    query = sa.select(sa.func.count()).where(
        items.c.tenant_id == unit.tenant,
        items.c.quarantine.is_not(None),
        items.c.status == "active",
        items.c.ended.is_(None),
    )
    return int(unit.run(query if lane_id is None else query.where(items.c.lane_id == lane_id)).scalar_one())


def count_by_kind(unit: Unit, *, since: int = 0) -> dict[str, int]:
    """Return the number of a tenant's items of each kind recorded since a moment, ended ones included."""
    query = (
        sa.select(items.c.kind, sa.func.count().label("number"))
        .where(items.c.tenant_id == unit.tenant, items.c.recorded_at >= since)
        .group_by(items.c.kind)
    )
    return {str(row.kind): int(row.number) for row in unit.run(query)}
