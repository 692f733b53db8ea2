"""Aliases of contexts: which items the citations in a reply to a context mean."""

from typing import Final

import sqlalchemy as sa
from alembic import op

from phronesis.store.columns import Json

revision: Final = "0006"
down_revision: Final = "0005"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Add the column, empty: citations of earlier contexts say nothing."""
    schema = None if op.get_bind().dialect.name == "sqlite" else "phronesis"
    op.add_column("shown_contexts", sa.Column("aliases", Json(), nullable=True), schema=schema)
