"""What changed in the schema since a database was made, oldest first; an empty one is made as `store.schema` says.

What a migration did never changes: columns and types are written out here and not taken from ``store.schema``.
tests/contract/test_migrations.py compares the two.
"""

from collections.abc import Callable, Mapping
from typing import Final

import sqlalchemy as sa

from phronesis.store.migrations.operations import add_columns, make_table


def _index_edges_by_node(connection: sa.Connection) -> None:
    """Let the indexes of edges by node hold all that a walk over the graph reads of an edge.

    Of each edge at a node the row had to be looked up in the table for its weight.
    """
    for title, near, far in (("out", "from_id", "to_id"), ("in", "to_id", "from_id")):
        columns = f"tenant_id, {near}, lane_id, type, weight, {far}, grade, entry_id"
        connection.exec_driver_sql(f"CREATE INDEX ix_edges_{title} ON edges ({columns})")
        connection.exec_driver_sql(f"DROP INDEX ix_edges_tenant_id_{near}")


def _add_external_ids(connection: sa.Connection) -> None:
    """Add the column of a caller's own names for items, and the index of the rows that have one.

    The index is not unique: items that ended keep the name in their row, and that one item at most has it otherwise is
    decided where entries are applied, under the lane's lock (docs/decisions/02).
    """
    add_columns(connection, "items", "external_id:text")
    connection.exec_driver_sql(
        "CREATE INDEX ix_items_external ON items"
        " (tenant_id, lane_id, external_id, status, ended, quarantine, updated_at, id) WHERE external_id IS NOT NULL"
    )


def _add_activity_log(connection: sa.Connection) -> None:
    """Make the bounded logs of the contexts that were composed and the requests that were answered."""
    make_table(
        connection,
        "composed_contexts",
        "context_id:text! at:big! verb:text! owner:text! session:text namespace:text agent_id:text token_count:big!"
        " token_budget:big! milliseconds:double! abstained:bool! shown:json",
        key="context_id",
        rowid=True,
    )
    make_table(
        connection,
        "answered_requests",
        "request_id:text! at:big! interface:text! route:text! status:text! failed:bool! milliseconds:double!"
        " key_id:text owner:text",
        key="request_id",
    )


def _add_oauth(connection: sa.Connection) -> None:
    """Add the columns of keys of one user and of OAuth clients; make the tables of clients, and of codes and tokens."""
    add_columns(connection, "api_keys", "user_id:text client_id:text made_by:text")
    clients = "client_id:text! metadata:json created_at:big! granted_at:big"
    make_table(connection, "oauth_clients", clients, key="client_id")
    make_table(
        connection,
        "oauth_tokens",
        "token_id:text! kind:text! hash:bytes! client_id:text! key_id:text data:json expires_at:big! used_at:big",
        key="token_id",
    )
    for name in ("key_id", "expires_at"):
        connection.exec_driver_sql(f"CREATE INDEX ix_oauth_tokens_tenant_id_{name} ON oauth_tokens (tenant_id, {name})")


def _add_context_aliases(connection: sa.Connection) -> None:
    """Add which items the citations in a reply to a context mean: of earlier contexts they say nothing."""
    add_columns(connection, "shown_contexts", "aliases:json")


REVISIONS: Final[Mapping[str, Callable[[sa.Connection], None]]] = {
    "0002": _index_edges_by_node,
    "0003": _add_external_ids,
    "0004": _add_activity_log,
    "0005": _add_oauth,
    "0006": _add_context_aliases,
}
"""The migrations by number, oldest first."""
