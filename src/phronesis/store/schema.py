"""The table declarations, shared by SQLite and PostgreSQL.

Rules that hold for every table, so that the same schema distributes by tenant (tests/architecture checks them):
``tenant_id`` is not null, leads every primary, unique and foreign key and is never updated; no enums, triggers or
foreign keys that set null. Times are microseconds since 1970 UTC. Ids are canonical UUID text. Lanes are numbers: the
user's name is stored in ``lanes.name`` alone, so that erasing a person leaves pseudonymous rows.

Conditions of indexes are SQLite's: PostgreSQL's tables are made by the migrations alone, which state its own. Its
dialect would be imported by every process.

Source tables (never derived): tenants, lanes, entries, payload_parts, blobs, outcomes, failures.
"""

from typing import Final

import sqlalchemy as sa

from phronesis.store.dialects import big, json_text, key, number, table, text
from phronesis.store.side_tables import SIDE, TRUTH, chunks, documents, search_documents, sections

metadata: Final = (*TRUTH, *SIDE)[0].metadata
"""All tables, including source and side tables."""

LIVE: Final = "status <> 'archived' AND ended IS NULL AND quarantine IS NULL"
"""The condition of ordinary reads, with an unusual spelling: with ``status = 'active'``, SQLite would use this index
for every such statement and scan a lane for its order where another index finds a few rows at once."""

# --- derived ---------------------------------------------------------------------------------------------------

items = table(
    "items",
    key("id"),
    big("lane_id", required=True),
    text("kind", required=True),
    text("content", required=True),
    text("entry_id", required=True),
    big("recorded_at", required=True),
    big("updated_at", required=True),
    sa.Column("version", sa.Integer, nullable=False),
    text("subject", seldom=True),
    text("key", seldom=True),
    json_text("value", seldom=True),
    json_text("metadata", seldom=True),
    sa.Column("importance", sa.SmallInteger, nullable=False),
    text("status", required=True),
    text("ended", seldom=True),
    text("ended_by", seldom=True),
    number("confidence"),
    sa.Column("trust", sa.SmallInteger, nullable=False),
    text("quarantine", seldom=True),
    sa.Column("pinned", sa.Boolean, nullable=False),
    text("stage", seldom=True),
    text("label", seldom=True),
    text("source_type"),
    text("source_ref", seldom=True),
    text("agent_id", seldom=True),
    text("session_id"),
    text("run_id", seldom=True),
    text("message_id"),
    text("role"),
    text("name"),
    sa.Column("position", sa.Integer),
    big("occurred_at"),
    big("valid_from"),
    big("valid_to", seldom=True),
    json_text("data", seldom=True),
    text("external_id", seldom=True),
    sa.CheckConstraint("status IN ('active', 'archived')", name="status"),
    sa.Index(None, "tenant_id", "lane_id", "session_id", "message_id"),
    # Most items are messages, and those are looked for by their session.
    sa.Index("ix_items_kind", "tenant_id", "lane_id", "kind", "recorded_at", sqlite_where=sa.text("kind <> 'message'")),
    # Messages have no subject.
    sa.Index("ix_items_subject", "tenant_id", "lane_id", "subject", "key", sqlite_where=sa.text("subject IS NOT NULL")),
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
    sa.Index("ix_items_run", "tenant_id", "lane_id", "run_id", sqlite_where=sa.text("run_id IS NOT NULL")),
    # Few items are pinned, and every composed context asks for them.
    sa.Index("ix_items_pinned", "tenant_id", "lane_id", "recorded_at", sqlite_where=sa.text("pinned = 1")),
    # Fewer still are in quarantine, and every composed context asks for them too.
    sa.Index(
        "ix_items_quarantine", "tenant_id", "lane_id", "recorded_at", sqlite_where=sa.text("quarantine IS NOT NULL")
    ),
    # What a search for a label needs to know of an item, so that the rows, which may be long, are not read.
    sa.Index(
        "ix_items_label",
        "tenant_id",
        "lane_id",
        "label",
        "kind",
        "status",
        "ended",
        "quarantine",
        "id",
        sqlite_where=sa.text("label IS NOT NULL"),
    ),
    # Items that a caller names, and what a listing of names needs to know of them.
    sa.Index(
        "ix_items_external",
        "tenant_id",
        "lane_id",
        "external_id",
        "status",
        "ended",
        "quarantine",
        "updated_at",
        "id",
        sqlite_where=sa.text("external_id IS NOT NULL"),
    ),
)
VISIBLE: Final = (items.c.status == "active", items.c.ended.is_(None), items.c.quarantine.is_(None))
"""The conditions of items that ordinary reads show."""

edges = table(
    "edges",
    key("lane_id", sa.BigInteger),
    key("type"),
    key("from_kind"),
    key("from_id"),
    key("to_kind"),
    key("to_id"),
    text("entry_id", required=True),
    number("weight"),
    text("grade"),
    text("origin", required=True),
    json_text("data"),
    sa.Index("ix_edges_out", "tenant_id", "from_id", "lane_id", "type", "weight", "to_id", "grade", "entry_id"),
    sa.Index("ix_edges_in", "tenant_id", "to_id", "lane_id", "type", "weight", "from_id", "grade", "entry_id"),
    small=True,
)
"""Covering indexes for graph traversal."""

evidence = table(
    "evidence",
    key("item_id"),
    key("part"),
    key("polarity"),
    key("source_key"),
    big("lane_id", required=True),
    text("entry_id", required=True),
    text("source_entry_id"),
    text("source_item_id"),
    text("source_ref"),
    sa.Column("span_start", sa.Integer),
    sa.Column("span_end", sa.Integer),
    text("grade"),
    text("origin", required=True),
    number("weight"),
    big("occurred_at"),
    big("recorded_at", required=True),
    sa.Index(None, "tenant_id", "lane_id"),
    sa.Index(None, "tenant_id", "source_entry_id"),
    small=True,
)

# Not small: a patch may hold two blocks of claims. In the key's own tree such a row would also seem to SQLite the
# cheapest way to an item's history, by walking the tenant's.
deltas = table(
    "deltas",
    key("id"),
    big("lane_id", required=True),
    big("seq", required=True),
    text("entry_id", required=True),
    text("item_id", required=True),
    sa.Column("n", sa.Integer, nullable=False),
    text("op", required=True),
    json_text("patch"),
    text("actor", required=True),
    text("reason", required=True),
    big("recorded_at", required=True),
    sa.Column("version", sa.Integer, nullable=False),
    json_text("evidence_added"),
    json_text("evidence_removed"),
    json_text("edges_added"),
    json_text("edges_removed"),
    sa.Index(None, "tenant_id", "item_id", "version"),
    sa.Index(None, "tenant_id", "lane_id", "entry_id"),
)

# Most of what entries make is made with nothing more to say: who and when is said once for all of it. ``item_ids`` has
# the item of delta n at place n, null where a row of ``deltas`` says more.
creations = table(
    "creations",
    key("entry_id"),
    big("lane_id", required=True),
    big("seq", required=True),
    text("actor", required=True),
    big("recorded_at", required=True),
    json_text("item_ids"),
    small=True,
)

entities = table(
    "entities",
    key("id"),
    big("lane_id", required=True),
    text("name", required=True),
    text("normal", required=True),
    text("kind", required=True),
    text("entry_id", required=True),
    text("canonical_id"),
    sa.Index(None, "tenant_id", "lane_id", "normal"),
    sa.Index("ix_entities_canonical", "tenant_id", "canonical_id", sqlite_where=sa.text("canonical_id IS NOT NULL")),
    small=True,
)

mentions = table(
    "mentions",
    key("lane_id", sa.BigInteger),
    key("entity_id"),
    key("item_id"),
    key("start", sa.Integer),
    sa.Column("end", sa.Integer, nullable=False),
    text("entry_id", required=True),
    small=True,
)

sessions = table(
    "sessions",
    key("lane_id", sa.BigInteger),
    key("session_id"),
    big("created_at", required=True),
    big("updated_at", required=True),
    sa.Column("turn_count", sa.Integer, nullable=False),
    sa.Column("message_count", sa.Integer, nullable=False),
    json_text("metadata"),
)

turns = table(
    "turns",
    key("lane_id", sa.BigInteger),
    key("session_id"),
    key("number", sa.Integer),
    text("entry_id", required=True),
    big("recorded_at", required=True),
    small=True,
)

# Where a message stands is told by the item it became, whose id follows from its place. These became none: the session
# held the same message already.
repeated_messages = table(
    "repeated_messages",
    key("entry_id"),
    key("n", sa.Integer),
    big("lane_id", required=True),
    text("session_id", required=True),
    text("item_id", required=True),
    text("role", required=True),
    text("message_id"),
    text("name"),
    big("occurred_at"),
    small=True,
)

tool_calls = table(
    "tool_calls",
    key("entry_id"),
    key("n", sa.Integer),
    big("lane_id", required=True),
    text("session_id", required=True),
    text("name", required=True),
    text("call_id"),
    text("status"),
    sa.Index(None, "tenant_id", "lane_id", "session_id"),
    small=True,
)

refs = table(
    "refs",
    key("entry_id"),
    key("n", sa.Integer),
    big("lane_id", required=True),
    text("session_id", required=True),
    text("ref_type", required=True),
    text("uri", required=True),
    sa.Index(None, "tenant_id", "lane_id", "session_id"),
    small=True,
)

# What models made of sessions, each in the place of the one before.
summaries = table(
    "summaries",
    key("lane_id", sa.BigInteger),
    key("session_id"),
    text("entry_id", required=True),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    big("recorded_at", required=True),
    json_text("lines"),
)

# --- index -----------------------------------------------------------------------------------------------------

embedding_models = table(
    "embedding_models",
    key("model_id"),
    sa.Column("dimension", sa.Integer, nullable=False),
    text("prefix_scheme", required=True),
    sa.Column("active", sa.Boolean, nullable=False),
    small=True,
)

# How far an index outside the database has followed each lane; ``stamp`` counts the steps.
index_marks = table(
    "index_marks",
    key("space"),
    key("lane_id", sa.BigInteger),
    big("epoch", required=True),
    big("seq", required=True),
    big("stamp", required=True),
    small=True,
)

# --- ledger ----------------------------------------------------------------------------------------------------

# One row a call; of days that are over one a day, role and model.
model_calls = table(
    "model_calls",
    key("call_id"),
    big("at", required=True),
    text("role", required=True),
    text("model", required=True),
    text("status", required=True),
    big("prompt_tokens", required=True),
    big("completion_tokens", required=True),
    number("cost"),
    big("milliseconds", required=True),
    big("calls", required=True),
    sa.Index(None, "tenant_id", "at"),
    small=True,
)

DERIVED: Final = (
    items,
    edges,
    evidence,
    deltas,
    creations,
    entities,
    mentions,
    sessions,
    turns,
    repeated_messages,
    tool_calls,
    refs,
    summaries,
    search_documents,
    documents,
    sections,
    chunks,
)
"""Tables that a rebuild replays and a verification compares. Each has ``lane_id``."""
