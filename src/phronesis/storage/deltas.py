"""Deltas in the database: what each entry changed, and what became of an item."""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.changes import Delta
from phronesis.core.instants import from_micros, to_micros
from phronesis.storage.database import Unit
from phronesis.storage.schema import deltas
from phronesis.storage.statements import batches, insert

_LISTS: Final = ("evidence_added", "evidence_removed", "edges_added", "edges_removed")
_COLUMNS: Final = [deltas.c[name] for name in Delta.__dataclass_fields__]
_ORDER: Final = (deltas.c.seq, deltas.c.n)


def insert_deltas(unit: Unit, lane_id: int, seq: int, rows: Sequence[Delta]) -> None:
    """Store the deltas of the entry at ``seq``."""
    values: list[dict[str, Any]] = []
    for delta in rows:
        row = {name: getattr(delta, name) for name in Delta.__dataclass_fields__}
        row["patch"] = dict(delta.patch) or None
        row["recorded_at"] = to_micros(delta.recorded_at)
        for name in _LISTS:
            row[name] = list(row[name]) or None
        values.append({"tenant_id": unit.tenant, "lane_id": lane_id, "seq": seq, **row})
    insert(unit, deltas, values)


def deltas_of_items(unit: Unit, lane_id: int, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
    """Give items' deltas by item, oldest first."""
    out: dict[str, list[Delta]] = {}
    for batch in batches(dict.fromkeys(item_ids)):
        query = sa.select(*_COLUMNS).where(
            deltas.c.tenant_id == unit.tenant, deltas.c.lane_id == lane_id, deltas.c.item_id.in_(batch)
        )
        for row in unit.run(query.order_by(*_ORDER)).mappings():
            out.setdefault(row["item_id"], []).append(_delta(row))
    return out


def deltas_of_entry(unit: Unit, lane_id: int, entry_id: str) -> list[Delta]:
    """Give what an entry of a lane changed, in order."""
    query = sa.select(*_COLUMNS).where(
        deltas.c.tenant_id == unit.tenant, deltas.c.lane_id == lane_id, deltas.c.entry_id == entry_id
    )
    return [_delta(row) for row in unit.run(query.order_by(*_ORDER)).mappings()]


def find_delta(unit: Unit, delta_id: str) -> tuple[int, Delta] | None:
    """Give the lane's number and the delta of an id, or None."""
    query = sa.select(deltas.c.lane_id, *_COLUMNS).where(deltas.c.tenant_id == unit.tenant, deltas.c.id == delta_id)
    row = unit.run(query).mappings().one_or_none()
    return None if row is None else (row["lane_id"], _delta({k: v for k, v in row.items() if k != "lane_id"}))


def _delta(row: Any) -> Delta:
    values = dict(row)
    values["patch"] = values["patch"] or {}
    values["recorded_at"] = from_micros(values["recorded_at"])
    for name in _LISTS:
        values[name] = tuple(values[name] or ())
    return Delta(**values)
