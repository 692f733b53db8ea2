"""Activity: the contexts that were composed and the requests that were answered, as bounded logs of ids."""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from phronesis.store.columns import Json
from phronesis.store.migrations import keep_no_tenant_statistics, secure_table

revision: Final = "0004"
down_revision: Final = "0003"
branch_labels: Final = None
depends_on: Final = None

_TEXT: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the two tables, and close them to other tenants."""
    _table(
        "composed_contexts",
        sa.Column("context_id", _TEXT, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("verb", _TEXT, nullable=False),
        sa.Column("owner", _TEXT, nullable=False),
        sa.Column("session", _TEXT),
        sa.Column("namespace", _TEXT),
        sa.Column("agent_id", _TEXT),
        sa.Column("token_count", sa.BigInteger(), nullable=False),
        sa.Column("token_budget", sa.BigInteger(), nullable=False),
        sa.Column("milliseconds", sa.Double(), nullable=False),
        sa.Column("abstained", sa.Boolean(), nullable=False),
        sa.Column("shown", Json()),
        key="context_id",
        rowid=True,
    )
    _table(
        "answered_requests",
        sa.Column("request_id", _TEXT, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("interface", _TEXT, nullable=False),
        sa.Column("route", _TEXT, nullable=False),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("failed", sa.Boolean(), nullable=False),
        sa.Column("milliseconds", sa.Double(), nullable=False),
        sa.Column("key_id", _TEXT),
        sa.Column("owner", _TEXT),
        key="request_id",
        rowid=False,
    )


def _table(name: str, *columns: sa.Column[Any], key: str, rowid: bool) -> None:
    connection = op.get_bind()
    schema = "phronesis" if connection.dialect.name == "postgresql" else None
    tenant = sa.Column("tenant_id", _TEXT, nullable=False)
    primary = sa.PrimaryKeyConstraint("tenant_id", key, name=f"pk_{name}")
    op.create_table(name, tenant, *columns, primary, schema=schema, sqlite_with_rowid=rowid)
    if schema is not None:
        secure_table(connection, f"{schema}.{name}")
        keep_no_tenant_statistics(connection, f"{schema}.{name}")
