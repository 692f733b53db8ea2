"""Tables beside those of ``store/schema``, by its rules.

The log and the records beside it, which are not derived from it; and search documents, vectors, and the resources'
documents and sections, with the choice of tables by kind and the statements on versions.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeVar

import sqlalchemy as sa

from phronesis.core.entries import SECTION, DocumentRow, ResourceRows, SectionRow
from phronesis.core.retrieval_plan import Store
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import bound_lane, fetch, insert, own_lane
from phronesis.store.database import Unit
from phronesis.store.dialects import HalfVector, big, blob, json_text, key, number, table, text

tenants = table("tenants", big("created_at", required=True), blob("secret", required=True))

lanes = table(
    "lanes",
    key("lane_id", sa.BigInteger),
    text("kind", required=True),
    text("name"),
    big("head_seq", required=True),
    big("applied_seq", required=True),
    big("documents_seq", required=True),
    big("epoch", required=True),
    big("last_recorded_at", required=True),
    text("head_hash", required=True),
    sa.CheckConstraint("kind IN ('user', 'shared')", name="kind"),
    sa.UniqueConstraint("tenant_id", "kind", "name"),
)

entries = table(
    "entries",
    key("lane_id", sa.BigInteger),
    key("seq", sa.BigInteger),
    text("entry_id", required=True),
    text("verb", required=True),
    sa.Column("handler_version", sa.Integer, nullable=False),
    text("actor", required=True),
    big("recorded_at", required=True),
    text("parent_id", seldom=True),
    text("idempotency", seldom=True),
    json_text("paths"),
    blob("commitments", required=True),
    text("hash", required=True),
    sa.UniqueConstraint("tenant_id", "entry_id"),
    sa.Index(
        "ix_entries_idempotency",
        "tenant_id",
        "idempotency",
        unique=True,
        sqlite_where=sa.text("idempotency IS NOT NULL"),
    ),
    small=True,
)

payload_parts = table(
    "payload_parts",
    key("entry_id"),
    key("n", sa.Integer),
    blob("salt", required=True),
    blob("body"),
    text("blob_id"),
    small=True,
)

blobs = table("blobs", key("blob_id"), blob("body", required=True))

outcomes = table(
    "outcomes",
    key("entry_id"),
    key("role"),
    key("n", sa.Integer),
    big("lane_id", required=True),
    text("made_by", required=True),
    blob("body", required=True),
    small=True,
)

failures = table(
    "failures",
    key("entry_id"),
    big("lane_id", required=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    text("code", required=True),
    text("message", required=True),
    big("at", required=True),
    small=True,
)

TRUTH: Final = (tenants, lanes, entries, payload_parts, blobs, outcomes, failures)


# Records beside the log: impressions and usage of reads, cached lookups, API keys.

# Which items composed contexts showed to a session: ids alone, and for whose it was a number made of their name.
shown_contexts = table(
    "shown_contexts",
    key("session"),
    key("context_id"),
    text("owner", required=True),
    big("seq", required=True),
    json_text("item_ids"),
    json_text("aliases"),  # {section: {alias: item id}}
    sa.Index(None, "tenant_id", "owner"),
    small=True,
)

# Which items and claims reads showed to a run; whose run, and which, are numbers made of their names.
used_memories = table(
    "used_memories",
    key("run"),
    key("item_id"),
    key("part"),
    text("owner", required=True),
    text("via", required=True),
    number("distance", required=False),
    sa.Index(None, "tenant_id", "owner"),
    sa.Index(None, "tenant_id", "item_id"),
    small=True,
)

# How often reads showed each item, all in all, and when last.
usage = table(
    "usage",
    key("lane_id", sa.BigInteger),
    key("item_id"),
    big("count", required=True),
    big("last_at", required=True),
    small=True,
)

# What a public source answered, by a number made of its address and of what was asked; never the question.
lookups = table(
    "lookups",
    key("number"),
    big("asked_at", required=True),
    big("expires_at", required=True),
    json_text("answer"),
    small=True,
)

# Keys of the server's callers; of the secret its hash alone (``core/api_keys``). An export holds none. A key of one
# user names them, until they are erased.
api_keys = table(
    "api_keys",
    key("key_id"),
    blob("hash", required=True),
    text("role", required=True),
    text("actor", required=True),
    text("label", required=True),
    big("created_at", required=True),
    big("revoked_at"),
    text("user_id"),
    text("client_id"),
    text("made_by"),
    small=True,
)

# Programs that registered for OAuth, and the codes and tokens that they hold, by id; of a secret its hash alone.
oauth_clients = table(
    "oauth_clients",
    key("client_id"),
    json_text("metadata"),
    big("created_at", required=True),
    big("granted_at"),
    small=True,
)

oauth_tokens = table(
    "oauth_tokens",
    key("token_id"),
    text("kind", required=True),
    blob("hash", required=True),
    text("client_id", required=True),
    text("key_id"),
    json_text("data"),
    big("expires_at", required=True),
    big("used_at"),
    sa.Index(None, "tenant_id", "key_id"),
    sa.Index(None, "tenant_id", "expires_at"),
    small=True,
)

# Contexts composed and requests answered (``store/activity_log``). Whose they were, and of which session, are numbers
# made of their names, as above.
composed_contexts = table(
    "composed_contexts",
    key("context_id"),
    big("at", required=True),
    text("verb", required=True),
    text("owner", required=True),
    text("session"),
    text("namespace"),
    text("agent_id"),
    big("token_count", required=True),
    big("token_budget", required=True),
    number("milliseconds"),
    sa.Column("abstained", sa.Boolean, nullable=False),
    json_text("shown"),
)

answered_requests = table(
    "answered_requests",
    key("request_id"),
    big("at", required=True),
    text("interface", required=True),
    text("route", required=True),
    text("status", required=True),
    sa.Column("failed", sa.Boolean, nullable=False),
    number("milliseconds"),
    text("key_id"),
    text("owner"),
    small=True,
)

SIDE: Final = (
    shown_contexts,
    used_memories,
    usage,
    lookups,
    api_keys,
    oauth_clients,
    oauth_tokens,
    composed_contexts,
    answered_requests,
)
"""All side tables."""


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


def home_of(kind: str) -> Home:
    """Return the tables that hold the search documents of a kind."""
    return RESOURCES if kind == SECTION else MEMORY


def home_named(store: Store) -> Home:
    """Return the tables of a store's name."""
    return next(home for home in HOMES if home.store == store)


def by_home(kinds: Iterable[tuple[str, _T]]) -> Iterator[tuple[Home, list[_T]]]:
    """Group values by the tables of their kind, leaving out empty groups."""
    found: dict[Home, list[_T]] = {}
    for kind, one in kinds:
        found.setdefault(home_of(kind), []).append(one)
    yield from found.items()


_VERSION: Final = [documents.c[name] for name in DocumentRow.__dataclass_fields__]
_SECTION: Final = [sections.c[name] for name in SectionRow.__dataclass_fields__]
_ANY_DOCUMENT: Final = sa.select(documents.c.document_id).where(*bound_lane(documents)).limit(sa.literal_column("1"))


def write_resources(unit: Unit, lane_id: int, rows: ResourceRows) -> None:
    """Store the rows of one entry."""
    own = {"tenant_id": unit.tenant, "lane_id": lane_id}
    versions = [{**own, **asdict(row), "recorded_at": to_micros(row.recorded_at)} for row in rows.documents]
    insert(unit, documents, versions)
    insert(unit, sections, [{**own, **asdict(row)} for row in rows.sections])


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
    query = sa.select(*_VERSION).where(*own_lane(unit, documents, lane_id), condition)
    if as_of is not None:
        query = query.where(documents.c.recorded_at <= as_of)
    order = (documents.c.recorded_at, documents.c.document_id, documents.c.number)
    rows = unit.run(query.order_by(*order)).mappings()
    return [DocumentRow(**{**row, "recorded_at": from_micros(row["recorded_at"])}) for row in rows]


def sections_of(unit: Unit, lane_id: int, document_id: str, number: int) -> list[SectionRow]:
    """Return the sections of a version of a document, in reading order."""
    query = sa.select(*_SECTION).where(
        *own_lane(unit, sections, lane_id),
        sections.c.document_id == document_id,
        sections.c.number == number,
    )
    rows = unit.run(query.order_by(sections.c.n)).mappings()
    return [SectionRow(**{**row, "path": tuple(row["path"])}) for row in rows]
