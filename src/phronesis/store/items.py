"""Statements on items: read by id, lane or key; write versions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.core.items import ROW_FIELDS, Item
from phronesis.store.compiled_statements import (
    bound_lane,
    each_of,
    fetch,
    insert,
    listed_in_lane,
    own_rows,
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


class ItemHead(NamedTuple):
    """An item without its content."""

    id: str
    kind: str
    status: str
    label: str | None
    ended: str | None
    quarantine: str | None
    version: int

    @property
    def is_current(self) -> bool:
        """Return whether it is neither archived nor ended."""
        return self.status == "active" and self.ended is None

    @property
    def live(self) -> bool:
        """Return whether ordinary reads show it."""
        return self.is_current and self.quarantine is None


def read_heads(unit: Unit, lane_id: int, ids: Iterable[str]) -> dict[str, ItemHead]:
    """Return those of ``ids`` that a lane holds without their content, which takes most of the time to read."""
    return {row[0]: ItemHead._make(row) for row in each_of(unit, _heads(unit.dialect), ids, l=lane_id)}


@cache
def _heads(dialect: str) -> sa.Select[Any]:
    return sa.select(*(items.c[name] for name in ItemHead._fields)).where(*listed_in_lane(items.c.id, dialect))


@cache
def _by_ids(dialect: str) -> sa.Select[Any]:
    return sa.select(*COLUMNS).where(*listed_in_lane(items.c.id, dialect))


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
    query = sa.select(*COLUMNS).where(*own_rows(unit, items, lane_id=lane.lane_id), *conditions)
    query = query.order_by(*(order or (items.c.recorded_at, items.c.id)))
    if limit is not None:
        query = query.limit(limit)
    return [as_item(row, lane) for row in unit.run(query)]


def items_of_kind(unit: Unit, lane: Lane, kind: str, *, after: str, limit: int) -> list[Item]:
    """Return a lane's items of a kind, whatever their status, by id: the next ``limit`` after a given id."""
    return read_where(unit, lane, items.c.kind == kind, items.c.id > after, order=(items.c.id,), limit=limit)


def ids_of_kind(unit: Unit, lane: Lane, kind: str, *, after: str, limit: int) -> dict[str, str]:
    """Return the ids of the items that `items_of_kind` selects, and by id the entries that made them."""
    query = sa.select(items.c.id, items.c.entry_id).where(
        *own_rows(unit, items, lane_id=lane.lane_id, kind=kind), items.c.id > after
    )
    return {row.id: row.entry_id for row in unit.run(query.order_by(items.c.id).limit(limit))}


def lane_of_item(unit: Unit, item_id: str) -> int | None:
    """Return the number of the lane that holds an item of this tenant, or None."""
    query = sa.select(items.c.lane_id).where(*own_rows(unit, items, id=item_id))
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
        *own_rows(unit, items), items.c.quarantine.is_not(None), items.c.status == "active", items.c.ended.is_(None)
    )
    return int(unit.run(query if lane_id is None else query.where(items.c.lane_id == lane_id)).scalar_one())


def count_by_kind(unit: Unit, *, since: int = 0) -> dict[str, int]:
    """Return the number of a tenant's items of each kind recorded since a moment, ended ones included."""
    query = (
        sa.select(items.c.kind, sa.func.count().label("number"))
        .where(*own_rows(unit, items), items.c.recorded_at >= since)
        .group_by(items.c.kind)
    )
    return {str(row.kind): int(row.number) for row in unit.run(query)}
