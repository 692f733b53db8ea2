"""External ids: the column of a caller's own names for items, and its index.

The index is not unique: items that ended keep the name in their row, and that one item at most has it otherwise is
decided where entries are applied, under the lane's lock (docs/decisions/02).
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: Final = "0003"
down_revision: Final = "0002"
branch_labels: Final = None
depends_on: Final = None

_TEXT: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
_COLUMNS: Final = ["tenant_id", "lane_id", "external_id", "status", "ended", "quarantine", "updated_at", "id"]


def upgrade() -> None:
    """Add the column, empty, and the index of the rows that have a name."""
    schema = None if op.get_bind().dialect.name == "sqlite" else "phronesis"
    op.add_column("items", sa.Column("external_id", _TEXT, nullable=True), schema=schema)
    named = sa.text("external_id IS NOT NULL")
    op.create_index("ix_items_external", "items", _COLUMNS, schema=schema, sqlite_where=named, postgresql_where=named)
