"""The migrations of the schema, oldest first.

What a migration did never changes: columns and types are written out here and not taken from ``store.schema``.
tests/contract/test_migrations.py compares the two.
"""

from collections.abc import Callable, Mapping
from typing import Final

from alembic import op

from phronesis.store.database import APPLICATION_ROLE
from phronesis.store.migrations.operations import (
    MEMORY,
    RESOURCES,
    add_columns,
    make_index,
    make_partial_index,
    make_role,
    make_schema,
    make_table,
    schema_of,
    secure_tables,
)

_TABLES: Final = """
    tenants lanes entries payload_parts blobs outcomes failures items edges evidence deltas creations entities
    mentions sessions turns repeated_messages tool_calls refs summaries search_documents embedding_models vectors
    index_marks shown_contexts used_memories usage lookups api_keys model_calls documents sections chunks
    chunk_vectors
"""
"""The tables that the first migration makes."""


def _make_schema() -> None:
    """Make roles and schemas (PostgreSQL), tables and indexes, and close every table to other tenants."""
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        make_role(connection)
        make_schema(connection, MEMORY)
        make_schema(connection, RESOURCES)
        # Alembic made its table before there were default privileges. The application reads it, no more.
        connection.exec_driver_sql(f"GRANT SELECT ON {MEMORY}.alembic_version TO {APPLICATION_ROLE}")
    _truth()
    _items()
    _relations()
    _conversations()
    _index_tables()
    _resources()
    _side()
    _ledger()
    secure_tables(*_TABLES.split())


def _truth() -> None:
    make_table("tenants", "created_at:big! secret:bytes!", rowid=True)
    make_table(
        "lanes",
        "lane_id:big! kind:text! name:text head_seq:big! applied_seq:big! documents_seq:big! epoch:big!"
        " last_recorded_at:big! head_hash:text!",
        key="lane_id",
        rowid=True,
        check="kind IN ('user', 'shared')",
        unique="kind name",
    )
    make_table(
        "entries",
        "lane_id:big! seq:big! entry_id:text! verb:text! handler_version:int! actor:text! recorded_at:big!"
        " parent_id:text idempotency:text paths:json commitments:bytes! hash:text!",
        key="lane_id seq",
        unique="entry_id",
    )
    make_partial_index("entries", "idempotency", "idempotency", where="idempotency IS NOT NULL", unique=True)
    make_table("payload_parts", "entry_id:text! n:int! salt:bytes! body:bytes blob_id:text", key="entry_id n")
    make_table("blobs", "blob_id:text! body:bytes!", key="blob_id", rowid=True)
    make_table(
        "outcomes", "entry_id:text! role:text! n:int! lane_id:big! made_by:text! body:bytes!", key="entry_id role n"
    )
    make_table("failures", "entry_id:text! lane_id:big! attempts:int! code:text! message:text! at:big!", key="entry_id")


def _items() -> None:
    make_table(
        "items",
        "id:text! lane_id:big! kind:text! content:text! entry_id:text! recorded_at:big! updated_at:big! version:int!"
        " subject:text key:text value:json metadata:json importance:small! status:text! ended:text ended_by:text"
        " confidence:double! trust:small! quarantine:text pinned:bool! stage:text label:text source_type:text"
        " source_ref:text agent_id:text session_id:text run_id:text message_id:text role:text name:text position:int"
        " occurred_at:big valid_from:big valid_to:big data:json",
        key="id",
        rowid=True,
        check="status IN ('active', 'archived')",
    )
    make_index("items", "lane_id session_id message_id")
    make_partial_index("items", "kind", "lane_id kind recorded_at", where="kind <> 'message'")
    make_partial_index(
        "items",
        "newest",
        "lane_id recorded_at",
        last=("coalesce(position, -1)", "id"),
        where="status <> 'archived' AND ended IS NULL AND quarantine IS NULL",
    )
    make_partial_index("items", "subject", "lane_id subject key", where="subject IS NOT NULL")
    make_partial_index("items", "run", "lane_id run_id", where="run_id IS NOT NULL")
    make_partial_index("items", "pinned", "lane_id recorded_at", where="pinned = 1", on_postgres="pinned")
    make_partial_index("items", "quarantine", "lane_id recorded_at", where="quarantine IS NOT NULL")
    make_partial_index("items", "label", "lane_id label kind status ended quarantine id", where="label IS NOT NULL")
    make_table(
        "deltas",
        "id:text! lane_id:big! seq:big! entry_id:text! item_id:text! n:int! op:text! patch:json actor:text!"
        " reason:text! recorded_at:big! version:int! evidence_added:json evidence_removed:json edges_added:json"
        " edges_removed:json",
        key="id",
        rowid=True,
    )
    make_index("deltas", "item_id version")
    make_index("deltas", "lane_id entry_id")
    make_table(
        "creations", "entry_id:text! lane_id:big! seq:big! actor:text! recorded_at:big! item_ids:json", key="entry_id"
    )


def _relations() -> None:
    make_table(
        "edges",
        "lane_id:big! type:text! from_kind:text! from_id:text! to_kind:text! to_id:text! entry_id:text! weight:double!"
        " grade:text origin:text! data:json",
        key="lane_id type from_kind from_id to_kind to_id",
    )
    make_index("edges", "from_id")
    make_index("edges", "to_id")
    make_table(
        "evidence",
        "item_id:text! part:text! polarity:text! source_key:text! lane_id:big! entry_id:text! source_entry_id:text"
        " source_item_id:text source_ref:text span_start:int span_end:int grade:text origin:text! weight:double!"
        " occurred_at:big recorded_at:big!",
        key="item_id part polarity source_key",
    )
    make_index("evidence", "lane_id")
    make_index("evidence", "source_entry_id")
    make_table(
        "entities",
        "id:text! lane_id:big! name:text! normal:text! kind:text! entry_id:text! canonical_id:text",
        key="id",
    )
    make_index("entities", "lane_id normal")
    make_partial_index("entities", "canonical", "canonical_id", where="canonical_id IS NOT NULL")
    make_table(
        "mentions",
        "lane_id:big! entity_id:text! item_id:text! start:int! end:int! entry_id:text!",
        key="lane_id entity_id item_id start",
    )


def _conversations() -> None:
    make_table(
        "sessions",
        "lane_id:big! session_id:text! created_at:big! updated_at:big! turn_count:int! message_count:int!"
        " metadata:json",
        key="lane_id session_id",
        rowid=True,
    )
    make_table(
        "turns",
        "lane_id:big! session_id:text! number:int! entry_id:text! recorded_at:big!",
        key="lane_id session_id number",
    )
    make_table(
        "repeated_messages",
        "entry_id:text! n:int! lane_id:big! session_id:text! item_id:text! role:text! message_id:text name:text"
        " occurred_at:big",
        key="entry_id n",
    )
    make_table(
        "tool_calls",
        "entry_id:text! n:int! lane_id:big! session_id:text! name:text! call_id:text status:text",
        key="entry_id n",
    )
    make_index("tool_calls", "lane_id session_id")
    make_table("refs", "entry_id:text! n:int! lane_id:big! session_id:text! ref_type:text! uri:text!", key="entry_id n")
    make_index("refs", "lane_id session_id")
    make_table(
        "summaries",
        "lane_id:big! session_id:text! entry_id:text! turn:int! position:int! recorded_at:big! lines:json",
        key="lane_id session_id",
        rowid=True,
    )


def _index_tables() -> None:
    _searched("search_documents")
    make_table("embedding_models", "model_id:text! dimension:int! prefix_scheme:text! active:bool!", key="model_id")
    _embedded("vectors")
    make_table("index_marks", "space:text! lane_id:big! epoch:big! seq:big! stamp:big!", key="space lane_id")


def _searched(name: str) -> None:
    make_table(
        name,
        "item_id:text! part:text! version:int! id:text! lane_id:big! kind:text! session_id:text position:int"
        " speaker:text text:text terms:bytes! marks:bytes! current_from:big! current_to:big changed_seq:big!",
        key="item_id part version",
        rowid=True,
    )
    make_index(name, "lane_id changed_seq")


def _embedded(name: str) -> None:
    make_table(
        name,
        "lane_id:big! model_id:text! document_id:text! embedding:vector!",
        key="lane_id model_id document_id",
        rowid=True,
    )


def _resources() -> None:
    make_table(
        "documents",
        "lane_id:big! document_id:text! number:int! entry_id:text! uri:text! title:text! media_type:text! type:text!"
        " characters:int! recorded_at:big!",
        key="lane_id document_id number",
        rowid=True,
    )
    make_index("documents", "lane_id uri")
    make_table(
        "sections",
        "lane_id:big! document_id:text! number:int! n:int! item_id:text! path:json start:int! end:int!",
        key="lane_id document_id number n",
    )
    _searched("chunks")
    _embedded("chunk_vectors")


def _side() -> None:
    make_table(
        "shown_contexts", "session:text! context_id:text! owner:text! seq:big! item_ids:json", key="session context_id"
    )
    make_index("shown_contexts", "owner")
    make_table(
        "used_memories",
        "run:text! item_id:text! part:text! owner:text! via:text! distance:double",
        key="run item_id part",
    )
    make_index("used_memories", "owner")
    make_index("used_memories", "item_id")
    make_table("usage", "lane_id:big! item_id:text! count:big! last_at:big!", key="lane_id item_id")
    make_table("lookups", "number:text! asked_at:big! expires_at:big! answer:json", key="number")
    make_table(
        "api_keys",
        "key_id:text! hash:bytes! role:text! actor:text! label:text! created_at:big! revoked_at:big",
        key="key_id",
    )


def _ledger() -> None:
    make_table(
        "model_calls",
        "call_id:text! at:big! role:text! model:text! status:text! prompt_tokens:big! completion_tokens:big!"
        " cost:double! milliseconds:big! calls:big!",
        key="call_id",
    )
    make_index("model_calls", "at")


def _index_edges_by_node() -> None:
    """Let the indexes of edges by node hold all that a walk over the graph reads of an edge.

    Of each edge at a node the row had to be looked up in the table for its weight.
    """
    for title, near, far in (("out", "from_id", "to_id"), ("in", "to_id", "from_id")):
        columns = ["tenant_id", near, "lane_id", "type", "weight", far, "grade", "entry_id"]
        op.create_index(f"ix_edges_{title}", "edges", columns, schema=schema_of("edges"))
        op.drop_index(f"ix_edges_tenant_id_{near}", "edges", schema=schema_of("edges"))


def _add_external_ids() -> None:
    """Add the column of a caller's own names for items, and the index of the rows that have one.

    The index is not unique: items that ended keep the name in their row, and that one item at most has it otherwise is
    decided where entries are applied, under the lane's lock (docs/decisions/02).
    """
    add_columns("items", "external_id:text")
    columns = "lane_id external_id status ended quarantine updated_at id"
    make_partial_index("items", "external", columns, where="external_id IS NOT NULL")


def _add_activity_log() -> None:
    """Make the bounded logs of the contexts that were composed and the requests that were answered."""
    make_table(
        "composed_contexts",
        "context_id:text! at:big! verb:text! owner:text! session:text namespace:text agent_id:text token_count:big!"
        " token_budget:big! milliseconds:double! abstained:bool! shown:json",
        key="context_id",
        rowid=True,
    )
    make_table(
        "answered_requests",
        "request_id:text! at:big! interface:text! route:text! status:text! failed:bool! milliseconds:double!"
        " key_id:text owner:text",
        key="request_id",
    )
    secure_tables("composed_contexts", "answered_requests")


def _add_oauth() -> None:
    """Add the columns of keys of one user and of OAuth clients; make the tables of clients, and of codes and tokens."""
    add_columns("api_keys", "user_id:text client_id:text made_by:text")
    make_table("oauth_clients", "client_id:text! metadata:json created_at:big! granted_at:big", key="client_id")
    make_table(
        "oauth_tokens",
        "token_id:text! kind:text! hash:bytes! client_id:text! key_id:text data:json expires_at:big! used_at:big",
        key="token_id",
    )
    secure_tables("oauth_clients", "oauth_tokens")
    make_index("oauth_tokens", "key_id")
    make_index("oauth_tokens", "expires_at")


def _add_context_aliases() -> None:
    """Add which items the citations in a reply to a context mean: of earlier contexts they say nothing."""
    add_columns("shown_contexts", "aliases:json")


REVISIONS: Final[Mapping[str, Callable[[], None]]] = {
    "0001": _make_schema,
    "0002": _index_edges_by_node,
    "0003": _add_external_ids,
    "0004": _add_activity_log,
    "0005": _add_oauth,
    "0006": _add_context_aliases,
}
"""The migrations by number, oldest first."""
