"""The table declarations, shared by SQLite and PostgreSQL.

Rules that hold for every table, so that the same schema distributes by tenant (tests/architecture checks them):
``tenant_id`` is not null, leads every primary, unique and foreign key and is never updated; no enums, triggers or
foreign keys that set null. Times are microseconds since 1970 UTC. Ids are canonical UUID text. Lanes are numbers: the
user's name is stored in ``lanes.name`` alone, so that erasing a person leaves pseudonymous rows.

Conditions of indexes are SQLite's: PostgreSQL's tables are made by the migrations alone, which state its own. Its
dialect would be imported by every process.
"""

from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from phronesis.core.entries import SECTION
from phronesis.core.retrieval_plan import Store
from phronesis.store.dialects import collection, index, table

tenants = table("tenants", "created_at:big! secret:bytes!")

lanes = table(
    "lanes",
    """
    lane_id:big kind:text! name:text head_seq:big! applied_seq:big! documents_seq:big! epoch:big!
    last_recorded_at:big! head_hash:text!
    """,
    sa.CheckConstraint("kind IN ('user', 'shared')", name="kind"),
    sa.UniqueConstraint("tenant_id", "kind", "name"),
    key="lane_id",
)

entries = table(
    "entries",
    """
    lane_id:big seq:big entry_id:text! verb:text! handler_version:int! actor:text! recorded_at:big! parent_id:text
    idempotency:text paths:json commitments:bytes! hash:text!
    """,
    sa.UniqueConstraint("tenant_id", "entry_id"),
    index("idempotency", name="ix_entries_idempotency", where="idempotency IS NOT NULL", unique=True),
    key="lane_id seq",
    small=True,
)

payload_parts = table(
    "payload_parts", "entry_id:text n:int salt:bytes! body:bytes blob_id:text", key="entry_id n", small=True
)

blobs = table("blobs", "blob_id:text body:bytes!", key="blob_id")

outcomes = table(
    "outcomes",
    "entry_id:text role:text n:int lane_id:big! made_by:text! body:bytes!",
    key="entry_id role n",
    small=True,
)

failures = table(
    "failures", "entry_id:text lane_id:big! attempts:int! code:text! message:text! at:big!", key="entry_id", small=True
)


# Records beside the log: impressions and usage of reads, cached lookups, API keys.

# Which items composed contexts showed to a session: ids alone, and for whose it was a number made of their name.
# ``aliases``: {section: {alias: item id}}.
shown_contexts = table(
    "shown_contexts",
    "session:text context_id:text owner:text! seq:big! item_ids:json aliases:json",
    index("owner"),
    key="session context_id",
    small=True,
)

# Which items and claims reads showed to a run; whose run, and which, are numbers made of their names.
used_memories = table(
    "used_memories",
    "run:text item_id:text part:text owner:text! via:text! distance:double",
    index("owner"),
    index("item_id"),
    key="run item_id part",
    small=True,
)

# How often reads showed each item, all in all, and when last.
usage = table("usage", "lane_id:big item_id:text count:big! last_at:big!", key="lane_id item_id", small=True)

# What a public source answered, by a number made of its address and of what was asked; never the question.
lookups = table("lookups", "number:text asked_at:big! expires_at:big! answer:json", key="number", small=True)

# Keys of the server's callers; of the secret its hash alone (``core/api_keys``). An export holds none. A key of one
# user names them, until they are erased.
api_keys = table(
    "api_keys",
    """
    key_id:text hash:bytes! role:text! actor:text! label:text! created_at:big! revoked_at:big user_id:text
    client_id:text made_by:text
    """,
    key="key_id",
    small=True,
)

# Programs that registered for OAuth, and the codes and tokens that they hold, by id; of a secret its hash alone.
oauth_clients = table(
    "oauth_clients", "client_id:text metadata:json created_at:big! granted_at:big", key="client_id", small=True
)

oauth_tokens = table(
    "oauth_tokens",
    "token_id:text kind:text! hash:bytes! client_id:text! key_id:text data:json expires_at:big! used_at:big",
    index("key_id"),
    index("expires_at"),
    key="token_id",
    small=True,
)

# Contexts composed and requests answered (``store/activity_log``). Whose they were, and of which session, are numbers
# made of their names, as above.
composed_contexts = table(
    "composed_contexts",
    """
    context_id:text at:big! verb:text! owner:text! session:text namespace:text agent_id:text token_count:big!
    token_budget:big! milliseconds:double! abstained:bool! shown:json
    """,
    key="context_id",
)

answered_requests = table(
    "answered_requests",
    """
    request_id:text at:big! interface:text! route:text! status:text! failed:bool! milliseconds:double! key_id:text
    owner:text
    """,
    key="request_id",
    small=True,
)


# Tables of search documents: parts of item versions, with the interval in which each was current. They have no tree by
# key: ids are random, and each document of a session would be on a page of its own. Of their vectors there is a row for
# each model.


def _search_tables(documents: str, vectors: str) -> tuple[sa.Table, sa.Table]:
    return table(
        documents,
        """
        item_id:text part:text version:int id:text! lane_id:big! kind:text! session_id:text position:int speaker:text
        text:text terms:bytes! marks:bytes! current_from:big! current_to:big changed_seq:big!
        """,
        index("lane_id changed_seq"),
        key="item_id part version",
    ), table(
        vectors, "lane_id:big model_id:text document_id:text embedding:vector!", key="lane_id model_id document_id"
    )


search_documents, vectors = _search_tables("search_documents", "vectors")
chunks, chunk_vectors = _search_tables("chunks", "chunk_vectors")

# A document's versions, and what each consisted of, are facts of the entries that brought them, as turns are: they stay
# when an entry is rolled back. Which version counts is said by the item of kind ``document``.
documents: Final = table(
    "documents",
    """
    lane_id:big document_id:text number:int entry_id:text! uri:text! title:text! media_type:text! type:text!
    characters:int! recorded_at:big!
    """,
    index("lane_id uri"),
    key="lane_id document_id number",
)
sections: Final = table(
    "sections",
    "lane_id:big document_id:text number:int n:int item_id:text! path:json start:int! end:int!",
    key="lane_id document_id number n",
    small=True,
)
RESOURCE_TABLES: Final = (documents, sections, chunks, chunk_vectors)
"""The tables of the second schema."""


# Items, and what is derived beside them.

metadata: Final = collection

LIVE: Final = "status <> 'archived' AND ended IS NULL AND quarantine IS NULL"
"""The condition of ordinary reads, with an unusual spelling: with ``status = 'active'``, SQLite would use this index
for every such statement and scan a lane for its order where another index finds a few rows at once."""

items = table(
    "items",
    """
    id:text lane_id:big! kind:text! content:text! entry_id:text! recorded_at:big! updated_at:big! version:int!
    subject:text key:text value:json metadata:json importance:small! status:text! ended:text ended_by:text
    confidence:double! trust:small! quarantine:text pinned:bool! stage:text label:text source_type:text
    source_ref:text agent_id:text session_id:text run_id:text message_id:text role:text name:text position:int
    occurred_at:big valid_from:big valid_to:big data:json external_id:text
    """,
    sa.CheckConstraint("status IN ('active', 'archived')", name="status"),
    index("lane_id session_id message_id"),
    # Most items are messages, and those are looked for by their session.
    index("lane_id kind recorded_at", name="ix_items_kind", where="kind <> 'message'"),
    # Messages have no subject.
    index("lane_id subject key", name="ix_items_subject", where="subject IS NOT NULL"),
    # What a browser shows, in its order (`eligible.NEWEST`); the words of ``LIVE`` must stand in a statement for it.
    sa.Index(
        "ix_items_newest",
        "tenant_id",
        "lane_id",
        "recorded_at",
        sa.text("coalesce(position, -1)"),
        "id",
        sqlite_where=sa.text(LIVE),
    ),
    # Few items are of a run.
    index("lane_id run_id", name="ix_items_run", where="run_id IS NOT NULL"),
    # Few items are pinned, and every composed context asks for them.
    index("lane_id recorded_at", name="ix_items_pinned", where="pinned = 1"),
    # Fewer still are in quarantine, and every composed context asks for them too.
    index("lane_id recorded_at", name="ix_items_quarantine", where="quarantine IS NOT NULL"),
    # What a search for a label needs to know of an item, so that the rows, which may be long, are not read.
    index("lane_id label kind status ended quarantine id", name="ix_items_label", where="label IS NOT NULL"),
    # Items that a caller names, and what a listing of names needs to know of them.
    index(
        "lane_id external_id status ended quarantine updated_at id",
        name="ix_items_external",
        where="external_id IS NOT NULL",
    ),
    key="id",
)
VISIBLE: Final = (items.c.status == "active", items.c.ended.is_(None), items.c.quarantine.is_(None))
"""The conditions of items that ordinary reads show."""

edges = table(
    "edges",
    """
    lane_id:big type:text from_kind:text from_id:text to_kind:text to_id:text entry_id:text! weight:double!
    grade:text origin:text! data:json
    """,
    # They hold all that a walk over the graph reads of an edge.
    index("from_id lane_id type weight to_id grade entry_id", name="ix_edges_out"),
    index("to_id lane_id type weight from_id grade entry_id", name="ix_edges_in"),
    key="lane_id type from_kind from_id to_kind to_id",
    small=True,
)

evidence = table(
    "evidence",
    """
    item_id:text part:text polarity:text source_key:text lane_id:big! entry_id:text! source_entry_id:text
    source_item_id:text source_ref:text span_start:int span_end:int grade:text origin:text! weight:double!
    occurred_at:big recorded_at:big!
    """,
    index("lane_id"),
    index("source_entry_id"),
    key="item_id part polarity source_key",
    small=True,
)

# Not small: a patch may hold two blocks of claims. In the key's own tree such a row would also seem to SQLite the
# cheapest way to an item's history, by walking the tenant's.
deltas = table(
    "deltas",
    """
    id:text lane_id:big! seq:big! entry_id:text! item_id:text! n:int! op:text! patch:json actor:text! reason:text!
    recorded_at:big! version:int! evidence_added:json evidence_removed:json edges_added:json edges_removed:json
    """,
    index("item_id version"),
    index("lane_id entry_id"),
    key="id",
)

# Most of what entries make is made with nothing more to say: who and when is said once for all of it. ``item_ids`` has
# the item of delta n at place n, null where a row of ``deltas`` says more.
creations = table(
    "creations",
    "entry_id:text lane_id:big! seq:big! actor:text! recorded_at:big! item_ids:json",
    key="entry_id",
    small=True,
)

entities = table(
    "entities",
    "id:text lane_id:big! name:text! normal:text! kind:text! entry_id:text! canonical_id:text",
    index("lane_id normal"),
    index("canonical_id", name="ix_entities_canonical", where="canonical_id IS NOT NULL"),
    key="id",
    small=True,
)

mentions = table(
    "mentions",
    "lane_id:big entity_id:text item_id:text start:int end:int! entry_id:text!",
    key="lane_id entity_id item_id start",
    small=True,
)

sessions = table(
    "sessions",
    "lane_id:big session_id:text created_at:big! updated_at:big! turn_count:int! message_count:int! metadata:json",
    key="lane_id session_id",
)

turns = table(
    "turns",
    "lane_id:big session_id:text number:int entry_id:text! recorded_at:big!",
    key="lane_id session_id number",
    small=True,
)

# Where a message stands is told by the item it became, whose id follows from its place. These became none: the session
# held the same message already.
repeated_messages = table(
    "repeated_messages",
    """
    entry_id:text n:int lane_id:big! session_id:text! item_id:text! role:text! message_id:text name:text
    occurred_at:big
    """,
    key="entry_id n",
    small=True,
)

tool_calls = table(
    "tool_calls",
    "entry_id:text n:int lane_id:big! session_id:text! name:text! call_id:text status:text",
    index("lane_id session_id"),
    key="entry_id n",
    small=True,
)

refs = table(
    "refs",
    "entry_id:text n:int lane_id:big! session_id:text! ref_type:text! uri:text!",
    index("lane_id session_id"),
    key="entry_id n",
    small=True,
)

# What models made of sessions, each in the place of the one before.
summaries = table(
    "summaries",
    "lane_id:big session_id:text entry_id:text! turn:int! position:int! recorded_at:big! lines:json",
    key="lane_id session_id",
)

embedding_models = table(
    "embedding_models", "model_id:text dimension:int! prefix_scheme:text! active:bool!", key="model_id", small=True
)

# How far an index outside the database has followed each lane; ``stamp`` counts the steps.
index_marks = table(
    "index_marks", "space:text lane_id:big epoch:big! seq:big! stamp:big!", key="space lane_id", small=True
)

# The ledger. One row a call; of days that are over one a day, role and model.
model_calls = table(
    "model_calls",
    """
    call_id:text at:big! role:text! model:text! status:text! prompt_tokens:big! completion_tokens:big! cost:double!
    milliseconds:big! calls:big!
    """,
    index("at"),
    key="call_id",
    small=True,
)

DERIVED: Final = (
    *(items, edges, evidence, deltas, creations, entities, mentions, sessions, turns, repeated_messages, tool_calls),
    *(refs, summaries, search_documents, documents, sections, chunks),
)
"""Tables that a rebuild replays and a verification compares. Each has ``lane_id``."""

# The tables of search documents by kind: the main schema for most kinds, the second schema for resources.


@dataclass(frozen=True, slots=True, eq=False)
class TableSet:
    """The tables of some kinds' search documents and vectors; ``store`` is their name in searches."""

    store: Store
    documents: sa.Table
    vectors: sa.Table


MEMORY: Final = TableSet("memory", search_documents, vectors)
RESOURCES: Final = TableSet("resources", chunks, chunk_vectors)
TABLE_SETS: Final = (MEMORY, RESOURCES)


def table_set_of(kind: str) -> TableSet:
    """Return the tables that hold the search documents of a kind."""
    return RESOURCES if kind == SECTION else MEMORY


def table_set_named(store: Store) -> TableSet:
    """Return the tables of a store's name."""
    return next(home for home in TABLE_SETS if home.store == store)
