"""What is compared with others of its kind: documents of one part, as they changed, and which items bear a label."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.storage.database import Unit
from phronesis.storage.halfvec import Halves, halves, sent_bytes
from phronesis.storage.homes import Home, home_of
from phronesis.storage.prepared import fetch
from phronesis.storage.schema import items
from phronesis.storage.statements import batches, list_value, listed


class Compared(NamedTuple):
    """A document that is compared with others of its kind, and when its item came to be (microseconds)."""

    id: str
    item_id: str
    terms: bytes
    current_to: int | None
    changed_seq: int
    recorded_at: int


def changed_parts(unit: Unit, lane_id: int, kind: str, part: str, *, after: int) -> list[Compared]:
    """Give the documents of one part of one kind that changed after entry ``after``, in the order of their items."""
    bound = {"t": unit.tenant, "l": lane_id, "k": kind, "part": part, "after": after}
    return list(map(Compared._make, fetch(unit, _changed_parts(home_of(kind)), bound)))


@cache
def _changed_parts(home: Home) -> sa.Select[Any]:
    documents = home.documents
    return (
        sa.select(documents.c.id, documents.c.item_id, documents.c.terms, documents.c.current_to,
                  documents.c.changed_seq, items.c.recorded_at)
        .join(items, sa.and_(items.c.tenant_id == sa.bindparam("t"), items.c.id == documents.c.item_id))
        .where(documents.c.tenant_id == sa.bindparam("t"), documents.c.lane_id == sa.bindparam("l"),
               documents.c.kind == sa.bindparam("k"), documents.c.part == sa.bindparam("part"),
               documents.c.changed_seq > sa.bindparam("after"))
        .order_by(items.c.recorded_at, documents.c.item_id)
    )  # fmt: skip


class StoredHalves(NamedTuple):
    """Vectors of documents, a row for each of ``document_ids``, halves as they are stored."""

    document_ids: Sequence[str]
    rows: Halves


def read_halves(unit: Unit, lane_id: int, kind: str, model_id: str, document_ids: Sequence[str]) -> StoredHalves:
    """Give the vectors of some documents of items of one kind, those that are stored."""
    ids, sent = list[str](), list[bytes]()
    for batch in batches(document_ids):
        bound = {"t": unit.tenant, "l": lane_id, "m": model_id, "ids": list_value(unit.dialect, batch)}
        for document_id, vector in fetch(unit, _halves(home_of(kind), unit.dialect), bound):
            ids.append(document_id)
            sent.append(vector)
    return StoredHalves(ids, halves(sent, unit.dialect))


@cache
def _halves(home: Home, dialect: str) -> sa.Select[Any]:
    vectors = home.vectors
    return sa.select(vectors.c.document_id, sent_bytes(vectors.c.embedding)).where(
        vectors.c.tenant_id == sa.bindparam("t"), vectors.c.lane_id == sa.bindparam("l"),
        vectors.c.model_id == sa.bindparam("m"), listed(vectors.c.document_id, dialect),
    )  # fmt: skip


def labelled_ids(unit: Unit, lane_id: int, kind: str, label: str) -> set[str]:
    """Give the ids of a lane's items of a kind that bear a label, whatever their status."""
    return {row[0] for row in fetch(unit, _LABELLED, {"t": unit.tenant, "l": lane_id, "k": kind, "label": label})}


_LABELLED: Final = sa.select(items.c.id).where(
    items.c.tenant_id == sa.bindparam("t"), items.c.lane_id == sa.bindparam("l"),
    items.c.label == sa.bindparam("label"), items.c.kind == sa.bindparam("k"),
)  # fmt: skip
