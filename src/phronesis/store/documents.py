"""Statements on search documents and vectors.

Writes and queries by kind go to the tables of that kind; queries by id take the tables as ``home``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa

from phronesis.core.lazy_loading import lazy_module
from phronesis.store.compiled_statements import (
    batches,
    bound_lane,
    each_of,
    fetch,
    in_list,
    insert,
    list_value,
    listed_in_lane,
    own_rows,
    run_one,
    upsert,
)
from phronesis.store.database import Unit
from phronesis.store.dialects import Vector, halves, sent_bytes
from phronesis.store.schema import MEMORY, TABLE_SETS, TableSet, items, table_set_of

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

ASIDE: Final = "~"
"""The prefix of the name of a part that has a vector and no terms (`index.projections`)."""


_T = TypeVar("_T")


def by_table_set(kinds: Iterable[tuple[str, _T]]) -> Iterator[tuple[TableSet, list[_T]]]:
    """Group values by the tables of their kind, leaving out empty groups."""
    found: dict[TableSet, list[_T]] = {}
    for kind, one in kinds:
        found.setdefault(table_set_of(kind), []).append(one)
    yield from found.items()


class DocumentRow(NamedTuple):
    """A search document: one part of one version of an item, while it was current.

    ``text`` is None for the whole item, whose text is the item's own. ``speaker`` is who said it, or whom or what it
    is about; ``marks`` are packed ``recall.scoring.lane_arrays``. A tuple, because a rebuild creates and compares
    all documents, and a frozen dataclass takes five times as long to create.
    """

    id: str
    item_id: str
    part: str
    version: int
    kind: str
    session_id: str | None
    position: int | None
    speaker: str | None
    text: str | None
    terms: bytes
    marks: bytes
    current_from: int
    current_to: int | None
    changed_seq: int


def _columns(documents: sa.Table) -> list[sa.Column[Any]]:
    return [documents.c[name] for name in DocumentRow._fields]


def insert_documents(unit: Unit, lane_id: int, rows: Sequence[DocumentRow]) -> None:
    """Store new documents."""
    for home, own in by_table_set((row.kind, row) for row in rows):
        insert(unit, home.documents, [{"tenant_id": unit.tenant, "lane_id": lane_id, **row._asdict()} for row in own])


def close_documents(
    unit: Unit, lane_id: int, item_ids: Sequence[str], *, at: int, seq: int, home: TableSet = MEMORY
) -> None:
    """End the validity of items' current documents."""
    for batch in batches(item_ids):
        bound = {"t": unit.tenant, "l": lane_id, "ids": list_value(unit.dialect, batch), "at": at, "seq": seq}
        run_one(unit, _close_statement(home, unit.dialect), bound)


@cache
def _close_statement(home: TableSet, dialect: str) -> sa.Update:
    documents = home.documents
    current = sa.update(documents).where(
        *listed_in_lane(documents.c.item_id, dialect), documents.c.current_to.is_(None)
    )
    return current.values(current_to=sa.bindparam("at"), changed_seq=sa.bindparam("seq"))


def documents_of_items(
    unit: Unit, lane_id: int, item_ids: Sequence[str], *, home: TableSet = MEMORY
) -> list[DocumentRow]:
    """Return the documents of some items, including past ones."""
    return list(map(DocumentRow._make, each_of(unit, _of_items(home, unit.dialect), item_ids, l=lane_id)))


@cache
def _of_items(home: TableSet, dialect: str) -> sa.Select[Any]:
    documents = home.documents
    return sa.select(*_columns(documents)).where(*listed_in_lane(documents.c.item_id, dialect))


def _finds_nothing(found: sa.Select[Any]) -> sa.ColumnElement[bool]:
    """Return whether a correlated select of one column finds nothing.

    Not EXISTS: PostgreSQL turns it into a join and scans the whole lane where it has no statistics yet.
    """
    return found.limit(sa.literal_column("1")).scalar_subquery().is_(None)


def stray_documents(unit: Unit, lane_id: int, kind: str) -> list[DocumentRow]:
    """Return the lane's documents of a kind whose item it does not hold."""
    documents = table_set_of(kind).documents
    held = sa.select(items.c.id).where(*own_rows(unit, items, lane_id=lane_id, id=documents.c.item_id))
    query = sa.select(*_columns(documents)).where(
        *own_rows(unit, documents, lane_id=lane_id, kind=kind), _finds_nothing(held)
    )
    return [DocumentRow._make(row) for row in unit.run(query)]


def delete_documents(unit: Unit, lane_id: int, rows: Iterable[DocumentRow]) -> None:
    """Delete some documents of a lane, and their vectors."""
    for home, own in by_table_set((row.kind, row) for row in rows):
        documents = home.documents
        for batch in batches(own):
            named = sa.tuple_(documents.c.item_id, documents.c.part, documents.c.version)
            unit.run(
                sa.delete(documents).where(
                    *own_rows(unit, documents, lane_id=lane_id),
                    named.in_([(row.item_id, row.part, row.version) for row in batch]),
                )
            )
        delete_vectors(unit, lane_id, [row.id for row in own], home=home)


class IndexedDocument(NamedTuple):
    """The members of a search document that an in-memory index keeps; see ``DocumentRow``."""

    id: str
    item_id: str
    part: str
    kind: str
    session_id: str | None
    position: int | None
    speaker: str | None
    terms: bytes
    marks: bytes
    current_from: int
    current_to: int | None


def changed_documents(unit: Unit, lane_id: int, *, after: int, home: TableSet = MEMORY) -> list[IndexedDocument]:
    """Return the lane's documents that changed after entry ``after``, for an in-memory index to catch up.

    Documents that are compared and not searched are left out.
    """
    bound = {"t": unit.tenant, "l": lane_id, "after": after, "aside": ASIDE}
    return list(map(IndexedDocument._make, fetch(unit, _changed_query(home), bound)))


@cache
def _changed_query(home: TableSet) -> sa.Select[Any]:
    documents = home.documents
    query = sa.select(*[documents.c[name] for name in IndexedDocument._fields]).where(
        *bound_lane(documents),
        documents.c.changed_seq > sa.bindparam("after"),
        sa.func.substr(documents.c.part, sa.literal_column("1"), sa.literal_column("1")) != sa.bindparam("aside"),
    )
    # In the order in which things were said: ids are random, and equal scores must rank alike in every store.
    position = sa.func.coalesce(documents.c.position, sa.literal_column("-1"))
    return query.order_by(documents.c.changed_seq, position, documents.c.part, documents.c.id)


def document_texts(unit: Unit, owners: Mapping[str, str], *, home: TableSet = MEMORY) -> dict[str, str]:
    """Return the text of documents with a text of their own; ``owners`` maps documents to items."""
    documents = home.documents
    out: dict[str, str] = {}
    for batch in batches(owners):
        query = sa.select(documents.c.id, documents.c.text).where(
            *own_rows(unit, documents),
            documents.c.item_id.in_({owners[one] for one in batch}),
            documents.c.id.in_(batch),
            documents.c.text.is_not(None),
        )
        out.update({row.id: row.text for row in unit.run(query)})
    return out


class PendingDocument(NamedTuple):
    """A document that has no vector yet; ``seq`` is the entry that made it."""

    id: str
    item_id: str
    text: str
    seq: int
    part: str


def documents_without_vector(
    unit: Unit,
    lane_id: int,
    model_id: str,
    *,
    limit: int,
    entries: range,
    kinds: Sequence[str] = (),
    home: TableSet = MEMORY,
) -> list[PendingDocument]:
    """Return current documents made by some ``entries``, of some kinds, without a vector of this model.

    The database reads all documents of these entries for the first ``limit``, so callers ask for few entries at a
    time.
    """
    bound = {"t": unit.tenant, "l": lane_id, "m": model_id, "begin": entries.start, "end": entries.stop}
    named = {f"k{n}": kind for n, kind in enumerate(kinds)}
    query = _without_vector(home, limit, len(kinds))
    return [PendingDocument(*row) for row in fetch(unit, query, bound | named)]


@cache
def _without_vector(home: TableSet, limit: int, kinds: int) -> sa.Select[Any]:
    documents, vectors = home.documents, home.vectors
    made = sa.select(vectors.c.document_id).where(
        *bound_lane(vectors), vectors.c.model_id == sa.bindparam("m"), vectors.c.document_id == documents.c.id
    )
    columns = (documents.c.id, documents.c.item_id, documents.c.text, documents.c.changed_seq, documents.c.part)
    first = (
        sa.select(*columns)
        .where(
            *bound_lane(documents),
            documents.c.changed_seq >= sa.bindparam("begin"),
            documents.c.changed_seq < sa.bindparam("end"),
            documents.c.current_to.is_(None),
            _finds_nothing(made),
        )
        .order_by(documents.c.changed_seq, documents.c.id)
    )
    if kinds:
        first = first.where(sa.or_(*(documents.c.kind == sa.bindparam(f"k{n}") for n in range(kinds))))
    found = first.limit(sa.literal_column(str(limit))).offset(sa.literal_column("0")).subquery("found")
    text = sa.func.coalesce(found.c.text, items.c.content)
    return (
        sa.select(found.c.id, found.c.item_id, text.label("text"), found.c.changed_seq, found.c.part)
        .join(items, sa.and_(items.c.tenant_id == sa.bindparam("t"), items.c.id == found.c.item_id))
        .order_by(found.c.changed_seq, found.c.id)
    )


def existing_documents(unit: Unit, known: Sequence[PendingDocument], *, home: TableSet = MEMORY) -> set[str]:
    """Return the ids of those of ``known`` that still exist."""
    documents = home.documents
    out: set[str] = set()
    for batch in batches(known):
        query = sa.select(documents.c.id).where(
            *own_rows(unit, documents),
            documents.c.item_id.in_([one.item_id for one in batch]),
            documents.c.id.in_([one.id for one in batch]),
        )
        out.update(unit.run(query).scalars())
    return out


def put_vectors(
    unit: Unit, lane_id: int, model_id: str, rows: Sequence[tuple[str, Vector]], *, home: TableSet = MEMORY
) -> None:
    """Store vectors, replacing existing ones."""
    known = {"tenant_id": unit.tenant, "lane_id": lane_id, "model_id": model_id}
    upsert(unit, home.vectors, [{**known, "document_id": one, "embedding": vector} for one, vector in rows])


class StoredVector(NamedTuple):
    """A document's vector, float32."""

    document_id: str
    embedding: Vector


def read_vectors(
    unit: Unit, lane_id: int, model_id: str, document_ids: Sequence[str] | None = None, *, home: TableSet = MEMORY
) -> list[StoredVector]:
    """Return the vectors of a lane, or of some of its documents."""
    if document_ids is None:
        rows = fetch(unit, _all_vectors(home), {"t": unit.tenant, "l": lane_id, "m": model_id})
    else:
        rows = list(each_of(unit, named_vectors(home, unit.dialect), document_ids, l=lane_id, m=model_id))
    embeddings = halves([sent for _, sent in rows], unit.dialect).astype(np.float32)
    return [StoredVector(row[0], embedding) for row, embedding in zip(rows, embeddings, strict=True)]


@cache
def _all_vectors(home: TableSet) -> sa.Select[Any]:
    vectors = home.vectors
    return sa.select(vectors.c.document_id, sent_bytes(vectors.c.embedding)).where(
        *bound_lane(vectors), vectors.c.model_id == sa.bindparam("m")
    )


@cache
def named_vectors(home: TableSet, dialect: str) -> sa.Select[Any]:
    """Return the statement of the vectors of listed documents, bound as ``t``, ``l``, ``m`` and for `in_list`."""
    return _all_vectors(home).where(in_list(home.vectors.c.document_id, dialect))


def delete_vectors(unit: Unit, lane_id: int, document_ids: Sequence[str], *, home: TableSet = MEMORY) -> None:
    """Delete the vectors of some documents, so that they are embedded again."""
    vectors = home.vectors
    for batch in batches(document_ids):
        unit.run(sa.delete(vectors).where(*own_rows(unit, vectors, lane_id=lane_id), vectors.c.document_id.in_(batch)))


def delete_stray_vectors(unit: Unit, lane_id: int) -> None:
    """Delete vectors whose document no longer exists."""
    for home in TABLE_SETS:
        documents, vectors = home.documents, home.vectors
        live = sa.select(documents.c.id).where(*own_rows(unit, documents, lane_id=lane_id))
        unit.run(
            sa.delete(vectors).where(*own_rows(unit, vectors, lane_id=lane_id), vectors.c.document_id.not_in(live))
        )


def count_without_vector(unit: Unit, model_id: str) -> int:
    """Return how many current documents of the tenant have no vector of this model."""
    total = 0
    for home in TABLE_SETS:
        documents, vectors = home.documents, home.vectors
        made = sa.select(vectors.c.document_id).where(
            *own_rows(unit, vectors, lane_id=documents.c.lane_id, model_id=model_id, document_id=documents.c.id)
        )
        query = sa.select(sa.func.count()).where(
            *own_rows(unit, documents), documents.c.current_to.is_(None), _finds_nothing(made)
        )
        total += int(unit.run(query).scalar_one())
    return total


def stack_embeddings(rows: Sequence[StoredVector]) -> Vector:
    """Return the embeddings of rows as one (n, d) float32 matrix."""
    return np.stack([row.embedding for row in rows]) if rows else np.zeros((0, 0), dtype=np.float32)
