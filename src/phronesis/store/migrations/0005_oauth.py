"""Keys of one user and of OAuth clients; the clients that registered, and their codes and tokens."""

from typing import Any, Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from phronesis.store.columns import Json
from phronesis.store.migrations import keep_no_tenant_statistics, secure_table

revision: Final = "0005"
down_revision: Final = "0004"
branch_labels: Final = None
depends_on: Final = None

_TEXT: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the columns of keys, empty; make the two tables, and close them to other tenants."""
    schema = None if op.get_bind().dialect.name == "sqlite" else "phronesis"
    for name in ("user_id", "client_id", "made_by"):
        op.add_column("api_keys", sa.Column(name, _TEXT, nullable=True), schema=schema)
    _table(
        "oauth_clients",
        sa.Column("client_id", _TEXT, nullable=False),
        sa.Column("metadata", Json()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("granted_at", sa.BigInteger()),
        key="client_id",
    )
    _table(
        "oauth_tokens",
        sa.Column("token_id", _TEXT, nullable=False),
        sa.Column("kind", _TEXT, nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("client_id", _TEXT, nullable=False),
        sa.Column("key_id", _TEXT),
        sa.Column("data", Json()),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        key="token_id",
    )
    for column in ("key_id", "expires_at"):
        name = f"ix_oauth_tokens_tenant_id_{column}"
        op.create_index(name, "oauth_tokens", ["tenant_id", column], schema=schema)


def _table(name: str, *columns: sa.Column[Any], key: str) -> None:
    connection = op.get_bind()
    schema = "phronesis" if connection.dialect.name == "postgresql" else None
    tenant = sa.Column("tenant_id", _TEXT, nullable=False)
    primary = sa.PrimaryKeyConstraint("tenant_id", key, name=f"pk_{name}")
    op.create_table(name, tenant, *columns, primary, schema=schema, sqlite_with_rowid=False)
    if schema is not None:
        secure_table(connection, f"{schema}.{name}")
        keep_no_tenant_statistics(connection, f"{schema}.{name}")
