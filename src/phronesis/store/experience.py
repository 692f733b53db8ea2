"""Queries on experience: the strongest edges at nodes, event views, names, changed documents and labelled items."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.experience.laws.records import L1
from phronesis.store.compiled_statements import (
    bound_lane,
    each_of,
    fetch,
    in_list,
    list_value,
    listed_in_lane,
    own_rows,
)
from phronesis.store.database import Unit
from phronesis.store.dialects import Halves, halves
from phronesis.store.documents import ASIDE, named_vectors
from phronesis.store.schema import TableSet, edges, items, table_set_of

# Documents of one part as they changed, and the items with a label.


class ComparedDocument(NamedTuple):
    """A document that is compared with others of its kind, and when its item was created (microseconds)."""

    id: str
    item_id: str
    terms: bytes
    current_to: int | None
    changed_seq: int
    recorded_at: int


def changed_parts(unit: Unit, lane_id: int, kind: str, part: str, *, after: int) -> list[ComparedDocument]:
    """Return the documents of one part of one kind that changed after entry ``after``, ordered by item."""
    bound = {"t": unit.tenant, "l": lane_id, "k": kind, "part": part, "after": after}
    return list(map(ComparedDocument._make, fetch(unit, _changed_parts(table_set_of(kind)), bound)))


@cache
def _changed_parts(home: TableSet) -> sa.Select[Any]:
    documents = home.documents
    return (
        sa.select(*(documents.c[name] for name in ComparedDocument._fields[:-1]), items.c.recorded_at)
        .join(items, sa.and_(items.c.tenant_id == sa.bindparam("t"), items.c.id == documents.c.item_id))
        .where(
            *bound_lane(documents),
            documents.c.kind == sa.bindparam("k"),
            documents.c.part == sa.bindparam("part"),
            documents.c.changed_seq > sa.bindparam("after"),
        )
        .order_by(items.c.recorded_at, documents.c.item_id)
    )


class StoredHalves(NamedTuple):
    """Vectors of documents as stored in half precision, one row for each of ``document_ids``."""

    document_ids: Sequence[str]
    rows: Halves


def read_halves(unit: Unit, lane_id: int, kind: str, model_id: str, document_ids: Sequence[str]) -> StoredHalves:
    """Return the stored vectors of some documents of items of one kind."""
    query = named_vectors(table_set_of(kind), unit.dialect)
    rows = list(each_of(unit, query, document_ids, l=lane_id, m=model_id))
    return StoredHalves([row[0] for row in rows], halves([row[1] for row in rows], unit.dialect))


def labelled_ids(unit: Unit, lane_id: int, kind: str, label: str) -> set[str]:
    """Return the ids of a lane's items of a kind with a label, whatever their status."""
    query = sa.select(items.c.id).where(*own_rows(unit, items, lane_id=lane_id, label=label, kind=kind))
    return set(unit.run(query).scalars())


class EdgeEnd(NamedTuple):
    """An edge as seen from one of its ends."""

    near: str
    far: str
    type: str
    weight: float
    grade: str | None
    entry_id: str


_DOCUMENTS: Final = table_set_of(L1).documents

# Both in full: so the indexes by node serve all four conditions, and SQLite takes them before the primary key.
_LANE: Final = edges.c.lane_id == sa.bindparam("l")


def strongest_edges(unit: Unit, lane_id: int, ids: Iterable[str], types: Sequence[str], *, each: int) -> list[EdgeEnd]:
    """Return the edges at some items in both directions.

    At most the ``each`` heaviest for each item, direction and type. Edges to artifacts are included by type; for edges
    at artifacts see `holders`.
    """
    nodes, bound = list(ids), {"l": lane_id, "each": each, "types": list_value(unit.dialect, types)}
    queries = [_strongest(unit.dialect, incoming) for incoming in (False, True)]
    return sorted((EdgeEnd(*row) for query in queries for row in each_of(unit, query, nodes, **bound)), key=_place)


@cache
def _strongest(dialect: str, incoming: bool) -> sa.Select[Any]:
    ends = (edges.c.from_id, edges.c.to_id)
    near, far = reversed(ends) if incoming else ends
    rank = sa.func.row_number().over(partition_by=(near, edges.c.type), order_by=(edges.c.weight.desc(), far))
    found = (
        sa.select(
            near.label("near"), far.label("far"), *(edges.c[name] for name in EdgeEnd._fields[2:]), rank.label("place")
        )
        .where(
            edges.c.tenant_id == sa.bindparam("t"),
            _LANE,
            in_list(near, dialect),
            in_list(edges.c.type, dialect, "types"),
        )
        .subquery()
    )
    columns = [found.c[name] for name in EdgeEnd._fields]
    return sa.select(*columns).where(found.c.place <= sa.bindparam("each", type_=sa.Integer))


def holders(unit: Unit, lane_id: int, artifact_id: str, type_: str, *, most: int | None) -> list[EdgeEnd]:
    """Return the edges of a type from items to an artifact; none where there are more than ``most``."""
    bound = {"t": unit.tenant, "l": lane_id, "a": artifact_id, "y": type_}
    rows = [EdgeEnd(*row) for row in fetch(unit, _edges_query(None if most is None else most + 1), bound)]
    return sorted(rows, key=_place) if most is None or len(rows) <= most else []


@cache
def _edges_query(limit: int | None) -> sa.Select[Any]:
    query = sa.select(
        edges.c.to_id, edges.c.from_id, edges.c.type, edges.c.weight, edges.c.grade, edges.c.entry_id
    ).where(
        edges.c.tenant_id == sa.bindparam("t"),
        _LANE,
        edges.c.to_id == sa.bindparam("a"),
        edges.c.type == sa.bindparam("y"),
    )
    return query if limit is None else query.limit(sa.literal_column(str(limit))).offset(sa.literal_column("0"))


def _place(edge: EdgeEnd) -> tuple[str, str, str, float]:
    return (edge.near, edge.far, edge.type, edge.weight)


class View(NamedTuple):
    """A view of an item as a document that is compared, not searched."""

    id: str
    item_id: str
    part: str


def views_of(unit: Unit, lane_id: int, item_ids: Iterable[str]) -> list[View]:
    """Return the current views of some items."""
    return sorted(View(*row) for row in each_of(unit, _views(unit.dialect), item_ids, l=lane_id, a=ASIDE))


@cache
def _views(dialect: str) -> sa.Select[Any]:
    first = sa.func.substr(_DOCUMENTS.c.part, sa.literal_column("1"), sa.literal_column("1"))
    return sa.select(_DOCUMENTS.c.id, _DOCUMENTS.c.item_id, _DOCUMENTS.c.part).where(
        *listed_in_lane(_DOCUMENTS.c.item_id, dialect), first == sa.bindparam("a"), _DOCUMENTS.c.current_to.is_(None)
    )


def changed_views(unit: Unit, lane_id: int, kind: str, parts: Sequence[str], *, after: int) -> list[tuple[str, str]]:
    """Return the item ids and texts of the views of a kind since entry ``after``, including past ones."""
    query = sa.select(_DOCUMENTS.c.item_id, _DOCUMENTS.c.text).where(
        *own_rows(unit, _DOCUMENTS, lane_id=lane_id),
        _DOCUMENTS.c.changed_seq > after,
        _DOCUMENTS.c.kind == kind,
        _DOCUMENTS.c.part.in_(parts),
        _DOCUMENTS.c.text.is_not(None),
    )
    return [(row.item_id, row.text) for row in unit.run(query)]


def of_episode(unit: Unit, lane_id: int, kind: str, run_id: str, *, limit: int) -> list[str]:
    """Return the ids of the items of a kind that belong to an episode, or a run: the last ``limit`` recorded."""
    query = sa.select(items.c.id).where(*own_rows(unit, items, lane_id=lane_id, run_id=run_id, kind=kind))
    return list(unit.run(query.order_by(items.c.recorded_at.desc(), items.c.id.desc()).limit(limit)).scalars())
