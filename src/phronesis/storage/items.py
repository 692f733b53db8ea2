"""Items in the database: reading by id, by lane, by key; writing versions."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.items import ROW_FIELDS, Item
from phronesis.storage.database import Unit
from phronesis.storage.lanes import Lane
from phronesis.storage.prepared import fetch
from phronesis.storage.schema import items
from phronesis.storage.statements import batches, insert, list_value, listed

COLUMNS: Final = [items.c[name] for name in ROW_FIELDS]
_UPDATE: Final = (
    sa.update(items)
    .where(items.c.tenant_id == sa.bindparam("b_tenant"), items.c.id == sa.bindparam("b_id"))
    .values({name: sa.bindparam(name) for name in ROW_FIELDS if name != "id"})
)


def read_items(unit: Unit, lane: Lane, ids: Iterable[str]) -> dict[str, Item]:
    """Give those of ``ids`` that the lane holds."""
    out: dict[str, Item] = {}
    for batch in batches(dict.fromkeys(ids)):
        bound = {"t": unit.tenant, "l": lane.lane_id, "ids": list_value(unit.dialect, batch)}
        for row in fetch(unit, _by_ids(unit.dialect), bound):
            item = as_item(zip(ROW_FIELDS, row, strict=True), lane)
            out[item.id] = item
    return out


@cache
def _by_ids(dialect: str) -> sa.Select[Any]:
    # The sum keeps SQLite from walking the whole lane by one of its indexes instead of looking the ids up.
    lane = items.c.lane_id + sa.literal_column("0")
    return sa.select(*COLUMNS).where(
        items.c.tenant_id == sa.bindparam("t"), lane == sa.bindparam("l"), listed(items.c.id, dialect)
    )


def read_where(
    unit: Unit, lane: Lane, *conditions: sa.ColumnElement[bool], order: Sequence[Any] = (), limit: int | None = None
) -> list[Item]:
    """Give the lane's items that meet ``conditions``, oldest first unless ordered otherwise."""
    query = sa.select(*COLUMNS).where(items.c.tenant_id == unit.tenant, items.c.lane_id == lane.lane_id, *conditions)
    query = query.order_by(*(order or (items.c.recorded_at, items.c.id)))
    if limit is not None:
        query = query.limit(limit)
    return [as_item(row, lane) for row in unit.run(query).mappings()]


def lane_of_item(unit: Unit, item_id: str) -> int | None:
    """Give the number of the lane that holds an item of this tenant, or None."""
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
        unit.run(_UPDATE, rows)


def as_item(row: Any, lane: Lane) -> Item:
    """Read a row of ``COLUMNS``."""
    values = dict(row)
    values["metadata"] = values["metadata"] or {}
    values["data"] = values["data"] or {}
    return Item.from_row(values, user_id=lane.user_id, namespace=lane.namespace)


def _row(item: Item) -> dict[str, Any]:
    row = item.to_row()
    row["metadata"] = dict(row["metadata"]) or None
    row["data"] = dict(row["data"]) or None
    return row
