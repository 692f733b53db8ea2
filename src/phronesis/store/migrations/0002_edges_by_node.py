"""Edges by node: the indexes of both ends hold all that a walk over the graph reads of an edge.

Of each edge at a node the row had to be looked up in the table for its weight.
"""

from typing import Final

from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"
branch_labels: Final = None
depends_on: Final = None


def upgrade() -> None:
    """Make the indexes that take the place of those by node alone, and drop these."""
    schema = None if op.get_bind().dialect.name == "sqlite" else "phronesis"
    for title, near, far in (("out", "from_id", "to_id"), ("in", "to_id", "from_id")):
        columns = ["tenant_id", near, "lane_id", "type", "weight", far, "grade", "entry_id"]
        op.create_index(f"ix_edges_{title}", "edges", columns, schema=schema)
        op.drop_index(f"ix_edges_tenant_id_{near}", "edges", schema=schema)
