"""The spine: the log, what is derived from it, and the index.

What a migration did never changes: columns and types are written out here and not taken from ``store.schema``.
tests/contract/test_migrations.py compares the two.
"""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from phronesis.store.columns import HalfVector, Json
from phronesis.store.database import APPLICATION_ROLE
from phronesis.store.migrations import keep_no_tenant_statistics, make_role, make_schema, secure_table

revision: Final = "0001"
down_revision: Final = None
branch_labels: Final = None
depends_on: Final = None

MEMORY: Final = "phronesis"
RESOURCES: Final = "phronesis_resources"
_OF_RESOURCES: Final = ("documents", "sections", "chunks", "chunk_vectors")

_TEXT: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
_KINDS: Final[dict[str, Any]] = {
    "text": _TEXT,
    "big": sa.BigInteger(),
    "int": sa.Integer(),
    "small": sa.SmallInteger(),
    "double": sa.Double(),
    "bool": sa.Boolean(),
    "json": Json(),
    "bytes": sa.LargeBinary(),
    "vector": HalfVector(),
}


def _table(name: str, columns: str, *, key: str = "", rowid: bool = False, checks: str = "", **unique: str) -> None:
    """Make a table of ``name:kind`` columns, ``!`` for not null; ``key`` is the primary key after the tenant.

    On PostgreSQL it lies in the schema of memory, and one of the resources' in theirs.
    """
    keys = ["tenant_id", *key.split()]
    made = [sa.Column("tenant_id", _TEXT, nullable=False)]
    for column in columns.split():
        title, _, kind = column.partition(":")
        made.append(sa.Column(title, _KINDS[kind.rstrip("!")], nullable=not kind.endswith("!"), autoincrement=False))
    constraints: list[sa.Constraint] = [sa.PrimaryKeyConstraint(*keys, name=f"pk_{name}")]
    constraints += [sa.CheckConstraint(rule, name=f"ck_{name}_{title}") for title, rule in _rules(checks)]
    for column in unique.values():
        names = ["tenant_id", *column.split()]
        constraints.append(sa.UniqueConstraint(*names, name=f"uq_{name}_{'_'.join(names)}"))
    op.create_table(name, *made, *constraints, schema=_schema_of(name), sqlite_with_rowid=rowid)


def _schema_of(table: str) -> str | None:
    if op.get_bind().dialect.name != "postgresql":
        return None
    return RESOURCES if table in _OF_RESOURCES else MEMORY


def _rules(checks: str) -> list[tuple[str, str]]:
    return [(check.split()[0], check.strip()) for check in checks.split(";") if check.strip()]


def _index(table: str, columns: str) -> None:
    names = ["tenant_id", *columns.split()]
    op.create_index(f"ix_{table}_{'_'.join(names)}", table, names, schema=_schema_of(table))


def _partial(
    table: str,
    title: str,
    columns: str,
    *,
    where: str,
    on_postgres: str | None = None,
    unique: bool = False,
    last: tuple[str, ...] = (),
) -> None:
    """Make an index of the rows that meet a condition; ``last`` are expressions behind the columns."""
    op.create_index(
        f"ix_{table}_{title}",
        table,
        ["tenant_id", *columns.split(), *map(sa.text, last)],
        unique=unique,
        sqlite_where=sa.text(where),
        postgresql_where=sa.text(on_postgres or where),
    )


def upgrade() -> None:
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
    if connection.dialect.name == "postgresql":
        for name in (
            "tenants",
            "lanes",
            "entries",
            "payload_parts",
            "blobs",
            "outcomes",
            "failures",
            "items",
            "edges",
            "evidence",
            "deltas",
            "creations",
            "entities",
            "mentions",
            "sessions",
            "turns",
            "repeated_messages",
            "tool_calls",
            "refs",
            "summaries",
            "search_documents",
            "embedding_models",
            "vectors",
            "index_marks",
            "shown_contexts",
            "used_memories",
            "usage",
            "lookups",
            "api_keys",
            "model_calls",
            *_OF_RESOURCES,
        ):
            secure_table(connection, f"{_schema_of(name)}.{name}")
            keep_no_tenant_statistics(connection, f"{_schema_of(name)}.{name}")


def _truth() -> None:
    _table("tenants", "created_at:big! secret:bytes!", rowid=True)
    _table(
        "lanes",
        "lane_id:big! kind:text! name:text head_seq:big! applied_seq:big! documents_seq:big! epoch:big!"
        " last_recorded_at:big! head_hash:text!",
        key="lane_id",
        rowid=True,
        checks="kind IN ('user', 'shared')",
        by_name="kind name",
    )
    _table(
        "entries",
        "lane_id:big! seq:big! entry_id:text! verb:text! handler_version:int! actor:text! recorded_at:big!"
        " parent_id:text idempotency:text paths:json commitments:bytes! hash:text!",
        key="lane_id seq",
        by_id="entry_id",
    )
    _partial("entries", "idempotency", "idempotency", where="idempotency IS NOT NULL", unique=True)
    _table("payload_parts", "entry_id:text! n:int! salt:bytes! body:bytes blob_id:text", key="entry_id n")
    _table("blobs", "blob_id:text! body:bytes!", key="blob_id", rowid=True)
    _table("outcomes", "entry_id:text! role:text! n:int! lane_id:big! made_by:text! body:bytes!", key="entry_id role n")
    _table("failures", "entry_id:text! lane_id:big! attempts:int! code:text! message:text! at:big!", key="entry_id")


def _items() -> None:
    _table(
        "items",
        "id:text! lane_id:big! kind:text! content:text! entry_id:text! recorded_at:big! updated_at:big! version:int!"
        " subject:text key:text value:json metadata:json importance:small! status:text! ended:text ended_by:text"
        " confidence:double! trust:small! quarantine:text pinned:bool! stage:text label:text source_type:text"
        " source_ref:text agent_id:text session_id:text run_id:text message_id:text role:text name:text position:int"
        " occurred_at:big valid_from:big valid_to:big data:json",
        key="id",
        rowid=True,
        checks="status IN ('active', 'archived')",
    )
    _index("items", "lane_id session_id message_id")
    _partial("items", "kind", "lane_id kind recorded_at", where="kind <> 'message'")
    _partial(
        "items",
        "newest",
        "lane_id recorded_at",
        last=("coalesce(position, -1)", "id"),
        where="status <> 'archived' AND ended IS NULL AND quarantine IS NULL",
    )
    _partial("items", "subject", "lane_id subject key", where="subject IS NOT NULL")
    _partial("items", "run", "lane_id run_id", where="run_id IS NOT NULL")
    _partial("items", "pinned", "lane_id recorded_at", where="pinned = 1", on_postgres="pinned")
    _partial("items", "quarantine", "lane_id recorded_at", where="quarantine IS NOT NULL")
    _partial("items", "label", "lane_id label kind status ended quarantine id", where="label IS NOT NULL")
    _table(
        "deltas",
        "id:text! lane_id:big! seq:big! entry_id:text! item_id:text! n:int! op:text! patch:json actor:text!"
        " reason:text! recorded_at:big! version:int! evidence_added:json evidence_removed:json edges_added:json"
        " edges_removed:json",
        key="id",
        rowid=True,
    )
    _index("deltas", "item_id version")
    _index("deltas", "lane_id entry_id")
    _table(
        "creations", "entry_id:text! lane_id:big! seq:big! actor:text! recorded_at:big! item_ids:json", key="entry_id"
    )


def _relations() -> None:
    _table(
        "edges",
        "lane_id:big! type:text! from_kind:text! from_id:text! to_kind:text! to_id:text! entry_id:text! weight:double!"
        " grade:text origin:text! data:json",
        key="lane_id type from_kind from_id to_kind to_id",
    )
    _index("edges", "from_id")
    _index("edges", "to_id")
    _table(
        "evidence",
        "item_id:text! part:text! polarity:text! source_key:text! lane_id:big! entry_id:text! source_entry_id:text"
        " source_item_id:text source_ref:text span_start:int span_end:int grade:text origin:text! weight:double!"
        " occurred_at:big recorded_at:big!",
        key="item_id part polarity source_key",
    )
    _index("evidence", "lane_id")
    _index("evidence", "source_entry_id")
    _table(
        "entities",
        "id:text! lane_id:big! name:text! normal:text! kind:text! entry_id:text! canonical_id:text",
        key="id",
    )
    _index("entities", "lane_id normal")
    _partial("entities", "canonical", "canonical_id", where="canonical_id IS NOT NULL")
    _table(
        "mentions",
        "lane_id:big! entity_id:text! item_id:text! start:int! end:int! entry_id:text!",
        key="lane_id entity_id item_id start",
    )


def _conversations() -> None:
    _table(
        "sessions",
        "lane_id:big! session_id:text! created_at:big! updated_at:big! turn_count:int! message_count:int!"
        " metadata:json",
        key="lane_id session_id",
        rowid=True,
    )
    _table(
        "turns",
        "lane_id:big! session_id:text! number:int! entry_id:text! recorded_at:big!",
        key="lane_id session_id number",
    )
    _table(
        "repeated_messages",
        "entry_id:text! n:int! lane_id:big! session_id:text! item_id:text! role:text! message_id:text name:text"
        " occurred_at:big",
        key="entry_id n",
    )
    _table(
        "tool_calls",
        "entry_id:text! n:int! lane_id:big! session_id:text! name:text! call_id:text status:text",
        key="entry_id n",
    )
    _index("tool_calls", "lane_id session_id")
    _table("refs", "entry_id:text! n:int! lane_id:big! session_id:text! ref_type:text! uri:text!", key="entry_id n")
    _index("refs", "lane_id session_id")
    _table(
        "summaries",
        "lane_id:big! session_id:text! entry_id:text! turn:int! position:int! recorded_at:big! lines:json",
        key="lane_id session_id",
        rowid=True,
    )


def _index_tables() -> None:
    _searched("search_documents")
    _table("embedding_models", "model_id:text! dimension:int! prefix_scheme:text! active:bool!", key="model_id")
    _embedded("vectors")
    _table("index_marks", "space:text! lane_id:big! epoch:big! seq:big! stamp:big!", key="space lane_id")


def _searched(name: str) -> None:
    _table(
        name,
        "item_id:text! part:text! version:int! id:text! lane_id:big! kind:text! session_id:text position:int"
        " speaker:text text:text terms:bytes! marks:bytes! current_from:big! current_to:big changed_seq:big!",
        key="item_id part version",
        rowid=True,
    )
    _index(name, "lane_id changed_seq")


def _embedded(name: str) -> None:
    _table(
        name,
        "lane_id:big! model_id:text! document_id:text! embedding:vector!",
        key="lane_id model_id document_id",
        rowid=True,
    )


def _resources() -> None:
    _table(
        "documents",
        "lane_id:big! document_id:text! number:int! entry_id:text! uri:text! title:text! media_type:text! type:text!"
        " characters:int! recorded_at:big!",
        key="lane_id document_id number",
        rowid=True,
    )
    _index("documents", "lane_id uri")
    _table(
        "sections",
        "lane_id:big! document_id:text! number:int! n:int! item_id:text! path:json start:int! end:int!",
        key="lane_id document_id number n",
    )
    _searched("chunks")
    _embedded("chunk_vectors")


def _side() -> None:
    _table(
        "shown_contexts", "session:text! context_id:text! owner:text! seq:big! item_ids:json", key="session context_id"
    )
    _index("shown_contexts", "owner")
    _table(
        "used_memories",
        "run:text! item_id:text! part:text! owner:text! via:text! distance:double",
        key="run item_id part",
    )
    _index("used_memories", "owner")
    _index("used_memories", "item_id")
    _table("usage", "lane_id:big! item_id:text! count:big! last_at:big!", key="lane_id item_id")
    _table("lookups", "number:text! asked_at:big! expires_at:big! answer:json", key="number")
    _table(
        "api_keys",
        "key_id:text! hash:bytes! role:text! actor:text! label:text! created_at:big! revoked_at:big",
        key="key_id",
    )


def _ledger() -> None:
    _table(
        "model_calls",
        "call_id:text! at:big! role:text! model:text! status:text! prompt_tokens:big! completion_tokens:big!"
        " cost:double! milliseconds:big! calls:big!",
        key="call_id",
    )
    _index("model_calls", "at")
