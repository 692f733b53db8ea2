"""Statements on deltas: what each entry changed, and the history of an item.

Items that an entry only created have no delta rows of their own; one row of ``creations`` lists all of an entry's.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.changes import RECORDED, Delta
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import batches, fetch, in_list, insert, list_value
from phronesis.store.database import Unit
from phronesis.store.schema import creations, deltas, items
from phronesis.store.side_tables import entries

_LISTS: Final = ("evidence_added", "evidence_removed", "edges_added", "edges_removed")
_COLUMNS: Final = [deltas.c[name] for name in Delta.__dataclass_fields__]
_MADE: Final = [creations.c[name] for name in ("lane_id", "entry_id", "actor", "recorded_at", "item_ids")]
_ORDER: Final = (deltas.c.seq, deltas.c.n)


def insert_deltas(unit: Unit, lane_id: int, seq: int, rows: Sequence[Delta], made_by: Mapping[str, str]) -> None:
    """Store the deltas of the entry at ``seq``; ``made_by`` maps an item to the entry that created it."""
    plain = {delta.n: delta for delta in rows if delta.plain and made_by.get(delta.item_id) == delta.entry_id}
    values: list[dict[str, Any]] = []
    for delta in rows:
        if delta.n in plain:
            continue
        row = {name: getattr(delta, name) for name in Delta.__dataclass_fields__}
        row["patch"] = dict(delta.patch) or None
        row["recorded_at"] = to_micros(delta.recorded_at)
        for name in _LISTS:
            row[name] = list(row[name]) or None
        values.append({"tenant_id": unit.tenant, "lane_id": lane_id, "seq": seq, **row})
    insert(unit, deltas, values)
    if plain:
        one = rows[0]
        insert(
            unit,
            creations,
            [
                {
                    "tenant_id": unit.tenant,
                    "lane_id": lane_id,
                    "entry_id": one.entry_id,
                    "seq": seq,
                    "actor": one.actor,
                    "recorded_at": to_micros(one.recorded_at),
                    "item_ids": [plain[n].item_id if n in plain else None for n in range(max(plain) + 1)],
                }
            ],
        )


def deltas_of_items(unit: Unit, lane_id: int, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
    """Return items' deltas by item, oldest first."""
    return _of_items(unit, lane_id, item_ids, _deltas_query(unit.dialect))


def edits_of_items(unit: Unit, lane_id: int, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
    """Return, by item and oldest first, the deltas without evidence, and the first with some.

    They tell an item's first content and its edits without reading thousands of deltas of evidence and edges.
    """
    return _of_items(unit, lane_id, item_ids, _edits(unit.dialect))


# The sums keep SQLite from walking a whole lane, with its blocks, by one of its keys instead of looking the items up.
def _in_lane(lane: sa.Column[int]) -> sa.ColumnElement[bool]:
    return lane + sa.literal_column("0") == sa.bindparam("l")


@cache
def _deltas_query(dialect: str) -> sa.Select[Any]:
    named = (deltas.c.tenant_id == sa.bindparam("t"), _in_lane(deltas.c.lane_id), in_list(deltas.c.item_id, dialect))
    return sa.select(*_COLUMNS).where(*named).order_by(*_ORDER)


@cache
def _edits(dialect: str) -> sa.Select[Any]:
    counted = sa.or_(deltas.c.evidence_added.is_not(None), deltas.c.evidence_removed.is_not(None))
    other = deltas.alias("other")
    first = (
        sa.select(sa.func.min(other.c.version))
        .where(
            other.c.tenant_id == sa.bindparam("t"),
            _in_lane(other.c.lane_id),
            other.c.item_id == deltas.c.item_id,
            other.c.op != sa.literal_column("'create'"),
            sa.or_(other.c.evidence_added.is_not(None), other.c.evidence_removed.is_not(None)),
        )
        .scalar_subquery()
    )
    changed = sa.or_(deltas.c.patch.is_not(None), deltas.c.op == sa.literal_column("'create'"))
    return _deltas_query(dialect).where(sa.or_(sa.and_(sa.not_(counted), changed), deltas.c.version == first))


@cache
def _creations_query(dialect: str) -> sa.Select[Any]:
    """Read the ``creations`` rows of the entries that made some items."""
    makers = sa.select(items.c.entry_id).where(
        items.c.tenant_id == sa.bindparam("t"), _in_lane(items.c.lane_id), in_list(items.c.id, dialect)
    )
    return sa.select(*_MADE).where(
        creations.c.tenant_id == sa.bindparam("t"), _in_lane(creations.c.lane_id), creations.c.entry_id.in_(makers)
    )


def _of_items(unit: Unit, lane_id: int, item_ids: Sequence[str], statement: sa.Select[Any]) -> dict[str, list[Delta]]:
    out: dict[str, list[Delta]] = {}
    for batch in batches(dict.fromkeys(item_ids)):
        bound = {"t": unit.tenant, "l": lane_id, "ids": list_value(unit.dialect, batch)}
        wanted = set(batch)
        for _, delta in _creation_deltas(fetch(unit, _creations_query(unit.dialect), bound), wanted):
            out[delta.item_id] = [delta]
        for row in fetch(unit, statement, bound):
            delta = _delta(zip(Delta.__dataclass_fields__, row, strict=True))
            out.setdefault(delta.item_id, []).append(delta)
    return out


def deltas_of_entry(unit: Unit, lane_id: int, entry_id: str) -> list[Delta]:
    """Return what an entry of a lane changed, in order."""
    made = [delta for _, delta in _creations(unit, creations.c.lane_id == lane_id, creations.c.entry_id == entry_id)]
    query = sa.select(*_COLUMNS).where(
        deltas.c.tenant_id == unit.tenant, deltas.c.lane_id == lane_id, deltas.c.entry_id == entry_id
    )
    return sorted(made + [_delta(row) for row in unit.run(query).mappings()], key=lambda delta: delta.n)


def patches_since(unit: Unit, lane_id: int, seq: int, *, most: int) -> list[tuple[str, dict[str, Any]]] | None:
    """Return item and patch of each change of a lane's items after entry ``seq``, in order; None beyond ``most``."""
    rows = fetch(unit, _changed_since_query(most + 1), {"t": unit.tenant, "l": lane_id, "s": seq, "op": "update"})
    return [(row[0], dict(row[1] or {})) for row in rows] if len(rows) <= most else None


@cache
def _changed_since_query(most: int) -> sa.Select[Any]:
    # Deltas are found by their entries, of which there are few: no index holds their places in the log.
    later = sa.select(entries.c.entry_id).where(
        entries.c.tenant_id == sa.bindparam("t"),
        entries.c.lane_id == sa.bindparam("l"),
        entries.c.seq > sa.bindparam("s"),
    )
    changed = sa.select(deltas.c.item_id, deltas.c.patch).where(
        deltas.c.tenant_id == sa.bindparam("t"),
        deltas.c.lane_id == sa.bindparam("l"),
        deltas.c.op == sa.bindparam("op"),
        deltas.c.entry_id.in_(later),
    )
    return changed.order_by(*_ORDER).limit(most)


def find_delta(unit: Unit, delta_id: str) -> tuple[int, Delta] | None:
    """Return the lane's number and the delta of an id, or None."""
    query = sa.select(deltas.c.lane_id, *_COLUMNS).where(deltas.c.tenant_id == unit.tenant, deltas.c.id == delta_id)
    row = unit.run(query).mappings().one_or_none()
    if row is not None:
        return row["lane_id"], _delta({k: v for k, v in row.items() if k != "lane_id"})
    maker = sa.select(items.c.entry_id).where(items.c.tenant_id == unit.tenant, items.c.id == delta_id)
    found = _creations(unit, creations.c.entry_id.in_(maker))
    return next(((lane_id, delta) for lane_id, delta in found if delta.id == delta_id), None)


def _creations(unit: Unit, *conditions: sa.ColumnElement[bool]) -> Iterator[tuple[int, Delta]]:
    return _creation_deltas(unit.run(sa.select(*_MADE).where(creations.c.tenant_id == unit.tenant, *conditions)))


def _creation_deltas(
    rows: Iterable[Sequence[Any]], wanted: Collection[str] | None = None
) -> Iterator[tuple[int, Delta]]:
    """Return the lane's number and the delta of each created item, or of those ``wanted``.

    Rows are of `_MADE`. An entry may have made a thousand items, of which one is wanted.
    """
    for lane_id, entry_id, actor, recorded_at, item_ids in rows:
        for n, item_id in enumerate(item_ids):
            if item_id is not None and (wanted is None or item_id in wanted):
                yield (
                    lane_id,
                    Delta(
                        id=item_id,
                        entry_id=entry_id,
                        item_id=item_id,
                        n=n,
                        op="create",
                        patch={},
                        actor=actor,
                        reason=RECORDED,
                        recorded_at=from_micros(recorded_at),
                        version=1,
                    ),
                )


def _delta(row: Any) -> Delta:
    values = dict(row)
    values["patch"] = values["patch"] or {}
    values["recorded_at"] = from_micros(values["recorded_at"])
    for name in _LISTS:
        values[name] = tuple(values[name] or ())
    return Delta(**values)
