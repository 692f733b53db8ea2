"""Tables of search documents and vectors and the choice of tables by kind; document versions and their sections."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from phronesis.core.entries import SECTION, DocumentRow, ResourceRows, SectionRow
from phronesis.core.retrieval_plan import Store
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.columns import HalfVector, big, blob, json_text, key, table, text
from phronesis.store.compiled_statements import fetch, insert
from phronesis.store.database import Unit


def search_table(name: str) -> sa.Table:
    """Return a table of search documents: parts of item versions, with the interval in which each was current.

    It has no tree by key: ids are random, and each document of a session would be on a page of its own.
    """
    return table(
        name,
        key("item_id"),
        key("part"),
        key("version", sa.Integer),
        text("id", required=True),
        big("lane_id", required=True),
        text("kind", required=True),
        text("session_id"),
        sa.Column("position", sa.Integer),
        text("speaker"),
        text("text", seldom=True),
        blob("terms", required=True),
        blob("marks", required=True),
        big("current_from", required=True),
        big("current_to", seldom=True),
        big("changed_seq", required=True),
        sa.Index(None, "tenant_id", "lane_id", "changed_seq"),
    )


def vector_table(name: str) -> sa.Table:
    """Return a table of search documents' vectors, one for each model."""
    return table(
        name,
        key("lane_id", sa.BigInteger),
        key("model_id"),
        key("document_id"),
        sa.Column("embedding", HalfVector, nullable=False),
    )


search_documents: Final = search_table("search_documents")
vectors: Final = vector_table("vectors")


# Tables of resources: documents, sections, and searched chunks with their vectors.

# A document's versions, and what each consisted of, are facts of the entries that brought them, as turns are: they stay
# when an entry is rolled back. Which version counts is said by the item of kind ``document``.
documents: Final = table(
    "documents",
    key("lane_id", sa.BigInteger),
    key("document_id"),
    key("number", sa.Integer),
    text("entry_id", required=True),
    text("uri", required=True),
    text("title", required=True),
    text("media_type", required=True),
    text("type", required=True),
    sa.Column("characters", sa.Integer, nullable=False),
    big("recorded_at", required=True),
    sa.Index(None, "tenant_id", "lane_id", "uri"),
)
sections: Final = table(
    "sections",
    key("lane_id", sa.BigInteger),
    key("document_id"),
    key("number", sa.Integer),
    key("n", sa.Integer),
    text("item_id", required=True),
    json_text("path"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    small=True,
)
chunks: Final = search_table("chunks")
chunk_vectors: Final = vector_table("chunk_vectors")
RESOURCE_TABLES: Final = (documents, sections, chunks, chunk_vectors)
"""The tables of the second schema."""


# Tables by kind: the main schema for most kinds, the second schema for resources.

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Home:
    """The tables of some kinds' search documents and vectors; ``store`` is their name in searches."""

    store: Store
    documents: sa.Table
    vectors: sa.Table


MEMORY: Final = Home("memory", search_documents, vectors)
RESOURCES: Final = Home("resources", chunks, chunk_vectors)
HOMES: Final = (MEMORY, RESOURCES)
_BY_KIND: Final[Mapping[str, Home]] = {SECTION: RESOURCES}
_BY_STORE: Final = {home.store: home for home in HOMES}


def home_of(kind: str) -> Home:
    """Return the tables that hold the search documents of a kind."""
    return _BY_KIND.get(kind, MEMORY)


def home_named(store: Store) -> Home:
    """Return the tables of a store's name."""
    return _BY_STORE[store]


def by_home(kinds: Iterable[tuple[str, _T]]) -> Iterator[tuple[Home, list[_T]]]:
    """Group values by the tables of their kind, leaving out empty groups."""
    found: dict[Home, list[_T]] = {}
    for kind, one in kinds:
        found.setdefault(_BY_KIND.get(kind, MEMORY), []).append(one)
    yield from found.items()


_DOCUMENT: Final = tuple(DocumentRow.__dataclass_fields__)
_SECTION: Final = tuple(SectionRow.__dataclass_fields__)
_ANY_DOCUMENT: Final = (
    sa.select(documents.c.document_id)
    .where(documents.c.tenant_id == sa.bindparam("t"), documents.c.lane_id == sa.bindparam("l"))
    .limit(sa.literal_column("1"))
)


def write_resources(unit: Unit, lane_id: int, rows: ResourceRows) -> None:
    """Store the rows of one entry."""
    own = {"tenant_id": unit.tenant, "lane_id": lane_id}
    insert(
        unit,
        documents,
        [{**own, **_plain(row, _DOCUMENT), "recorded_at": to_micros(row.recorded_at)} for row in rows.documents],
    )
    insert(unit, sections, [{**own, **_plain(row, _SECTION), "path": list(row.path)} for row in rows.sections])


def has_documents(unit: Unit, lane_ids: Sequence[int]) -> bool:
    """Return whether any of some lanes holds a document."""
    return any(fetch(unit, _ANY_DOCUMENT, {"t": unit.tenant, "l": lane_id}) for lane_id in lane_ids)


def documents_at(unit: Unit, lane_id: int, uri: str) -> list[DocumentRow]:
    """Return the versions of the document at a uri, oldest first."""
    return _versions(unit, lane_id, documents.c.uri == uri)


def versions_of(unit: Unit, lane_id: int, document_id: str, *, as_of: int | None = None) -> list[DocumentRow]:
    """Return a document's versions, oldest first; ``as_of`` (microseconds) leaves out later ones."""
    return _versions(unit, lane_id, documents.c.document_id == document_id, as_of=as_of)


def _versions(
    unit: Unit, lane_id: int, condition: sa.ColumnElement[bool], *, as_of: int | None = None
) -> list[DocumentRow]:
    query = sa.select(*(documents.c[name] for name in _DOCUMENT)).where(
        documents.c.tenant_id == unit.tenant, documents.c.lane_id == lane_id, condition
    )
    if as_of is not None:
        query = query.where(documents.c.recorded_at <= as_of)
    order = (documents.c.recorded_at, documents.c.document_id, documents.c.number)
    return [
        DocumentRow(**{**row, "recorded_at": from_micros(row["recorded_at"])})
        for row in unit.run(query.order_by(*order)).mappings()
    ]


def sections_of(unit: Unit, lane_id: int, document_id: str, number: int) -> list[SectionRow]:
    """Return the sections of a version of a document, in reading order."""
    query = sa.select(*(sections.c[name] for name in _SECTION)).where(
        sections.c.tenant_id == unit.tenant,
        sections.c.lane_id == lane_id,
        sections.c.document_id == document_id,
        sections.c.number == number,
    )
    return [
        SectionRow(**{**row, "path": tuple(row["path"])}) for row in unit.run(query.order_by(sections.c.n)).mappings()
    ]


def _plain(record: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}
