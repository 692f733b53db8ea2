"""Statements on deltas: what each entry changed, the history of an item, and what external indexes have received.

Items that an entry only created have no delta rows of their own; one row of ``creations`` lists all of an entry's. An
external index needs no outbox table: documents and deltas are written in the transaction of every change, each with its
entry, and a mark holds the last entry that was delivered.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.changes import RECORDED, Delta
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import (
    batches,
    fetch,
    insert,
    insert_ignore,
    list_value,
    listed_in_lane,
    own_rows,
)
from phronesis.store.database import Unit
from phronesis.store.schema import creations, deltas, entries, index_marks, items, table_set_of

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
        row = {
            "tenant_id": unit.tenant,
            "lane_id": lane_id,
            "entry_id": one.entry_id,
            "seq": seq,
            "actor": one.actor,
            "recorded_at": to_micros(one.recorded_at),
            "item_ids": [plain[n].item_id if n in plain else None for n in range(max(plain) + 1)],
        }
        insert(unit, creations, [row])


def deltas_of_items(unit: Unit, lane_id: int, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
    """Return items' deltas by item, oldest first."""
    return _of_items(unit, lane_id, item_ids, _deltas_query(unit.dialect))


def edits_of_items(unit: Unit, lane_id: int, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
    """Return, by item and oldest first, the deltas without evidence, and the first with some.

    They tell an item's first content and its edits without reading thousands of deltas of evidence and edges.
    """
    return _of_items(unit, lane_id, item_ids, _edits(unit.dialect))


@cache
def _deltas_query(dialect: str) -> sa.Select[Any]:
    return sa.select(*_COLUMNS).where(*listed_in_lane(deltas.c.item_id, dialect)).order_by(*_ORDER)


def _lane(table: Any) -> sa.ColumnElement[bool]:
    same: sa.ColumnElement[bool] = table.c.lane_id + sa.literal_column("0") == sa.bindparam("l")
    return same  # as in `listed_in_lane`


@cache
def _edits(dialect: str) -> sa.Select[Any]:
    counted = sa.or_(deltas.c.evidence_added.is_not(None), deltas.c.evidence_removed.is_not(None))
    other = deltas.alias("other")
    first = (
        sa.select(sa.func.min(other.c.version))
        .where(
            other.c.tenant_id == sa.bindparam("t"),
            _lane(other),
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
    makers = sa.select(items.c.entry_id).where(*listed_in_lane(items.c.id, dialect))
    own = creations.c.tenant_id == sa.bindparam("t")
    return sa.select(*_MADE).where(own, _lane(creations), creations.c.entry_id.in_(makers))


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
    query = sa.select(*_COLUMNS).where(*own_rows(unit, deltas, lane_id=lane_id, entry_id=entry_id))
    return sorted(made + [_delta(row) for row in unit.run(query).mappings()], key=lambda delta: delta.n)


def find_delta(unit: Unit, delta_id: str) -> tuple[int, Delta] | None:
    """Return the lane's number and the delta of an id, or None."""
    query = sa.select(deltas.c.lane_id, *_COLUMNS).where(*own_rows(unit, deltas, id=delta_id))
    row = unit.run(query).mappings().one_or_none()
    if row is not None:
        return row["lane_id"], _delta({k: v for k, v in row.items() if k != "lane_id"})
    maker = sa.select(items.c.entry_id).where(*own_rows(unit, items, id=delta_id))
    found = _creations(unit, creations.c.entry_id.in_(maker))
    return next(((lane_id, delta) for lane_id, delta in found if delta.id == delta_id), None)


def _creations(unit: Unit, *conditions: sa.ColumnElement[bool]) -> Iterator[tuple[int, Delta]]:
    return _creation_deltas(unit.run(sa.select(*_MADE).where(*own_rows(unit, creations), *conditions)))


def _creation_deltas(
    rows: Iterable[Sequence[Any]], wanted: Collection[str] | None = None
) -> Iterator[tuple[int, Delta]]:
    """Return the lane's number and the delta of each created item, or of those ``wanted``.

    Rows are of `_MADE`. An entry may have made a thousand items, of which one is wanted.
    """
    for lane_id, entry_id, actor, recorded_at, item_ids in rows:
        for n, item_id in enumerate(item_ids):
            if item_id is not None and (wanted is None or item_id in wanted):
                known = {"id": item_id, "entry_id": entry_id, "item_id": item_id, "n": n, "actor": actor}
                at = from_micros(recorded_at)
                yield lane_id, Delta(**known, op="create", patch={}, reason=RECORDED, recorded_at=at, version=1)


def _delta(row: Any) -> Delta:
    values = dict(row)
    values["patch"] = values["patch"] or {}
    values["recorded_at"] = from_micros(values["recorded_at"])
    for name in _LISTS:
        values[name] = tuple(values[name] or ())
    return Delta(**values)


NEVER: Final = -1
"""The epoch of a lane that was never followed; no lane has it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The entry and epoch up to which a lane was followed. ``stamp`` counts updates, so that none is lost."""

    epoch: int = NEVER
    seq: int = 0
    stamp: int = 0


def read_mark(unit: Unit, space: str, lane_id: int) -> Mark:
    """Return a lane's mark; that of a lane never followed when there is none."""
    query = sa.select(index_marks.c.epoch, index_marks.c.seq, index_marks.c.stamp).where(
        *own_rows(unit, index_marks, space=space, lane_id=lane_id)
    )
    row = unit.run(query).one_or_none()
    return Mark() if row is None else Mark(*row)


def move_mark(unit: Unit, space: str, lane_id: int, before: Mark, *, epoch: int, seq: int) -> bool:
    """Move a lane's mark to ``seq``, unless another process moved it since ``before`` was read."""
    fresh = {"tenant_id": unit.tenant, "space": space, "lane_id": lane_id, "epoch": NEVER, "seq": 0, "stamp": 0}
    insert_ignore(unit, index_marks, [fresh])
    own = own_rows(unit, index_marks, lane_id=lane_id, space=space)
    moved = sa.update(index_marks).where(*own, index_marks.c.stamp == before.stamp)
    return unit.run(moved.values(epoch=epoch, seq=seq, stamp=before.stamp + 1)).rowcount == 1


def followed_spaces(unit: Unit) -> set[str]:
    """Return the spaces that have followed any lane of the tenant."""
    query = sa.select(index_marks.c.space).where(*own_rows(unit, index_marks)).distinct()
    return set(unit.run(query).scalars())


def reset_marks(unit: Unit, space: str) -> None:
    """Reset the marks of a space, so that it follows the tenant's lanes from the start."""
    own = sa.update(index_marks).where(*own_rows(unit, index_marks, space=space))
    unit.run(own.values(epoch=NEVER, seq=0, stamp=index_marks.c.stamp + 1))


def drop_marks(unit: Unit, space: str) -> None:
    """Delete the marks of a space."""
    unit.run(sa.delete(index_marks).where(*own_rows(unit, index_marks, space=space)))


def changed_items(unit: Unit, lane_id: int, kind: str, *, after: int) -> set[str]:
    """Return the ids of the lane's items of a kind that changed, or whose documents did, after entry ``after``."""
    documents = table_set_of(kind).documents
    moved = sa.select(documents.c.item_id).where(
        *own_rows(unit, documents, lane_id=lane_id, kind=kind), documents.c.changed_seq > after
    )
    edited = (
        sa.select(deltas.c.item_id)
        .join(
            entries,
            sa.and_(*(entries.c[name] == deltas.c[name] for name in ("tenant_id", "lane_id", "entry_id"))),
        )
        .join(items, sa.and_(items.c.tenant_id == deltas.c.tenant_id, items.c.id == deltas.c.item_id))
        .where(
            *own_rows(unit, deltas),
            entries.c.tenant_id == unit.tenant,
            items.c.tenant_id == unit.tenant,
            entries.c.lane_id == lane_id,
            entries.c.seq > after,
            deltas.c.lane_id == lane_id,
            items.c.kind == kind,
        )
    )
    return set(unit.run(moved).scalars()) | set(unit.run(edited).scalars())
