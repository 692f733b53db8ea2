"""The tables of what is searched: search documents and their vectors, in the shape that every home of them has."""

from typing import Final

import sqlalchemy as sa

from phronesis.storage.columns import big, blob, key, text
from phronesis.storage.halfvec import HalfVector
from phronesis.storage.tables import table


def searched(name: str) -> sa.Table:
    """Give a table of search documents: parts of versions of items, each while it was current.

    Not in its key's own tree: ids are random, and each document of a session would be on a page of its own.
    """
    return table(
        name,
        key("item_id"),
        key("part"),
        key("version", sa.Integer),
        text("id", required=True),
        big("lane_id", required=True),
        text("kind", required=True),
        text("session_id"),
        sa.Column("position", sa.Integer),
        text("speaker"),
        text("text", seldom=True),
        blob("terms", required=True),
        blob("marks", required=True),
        big("current_from", required=True),
        big("current_to", seldom=True),
        big("changed_seq", required=True),
        sa.Index(None, "tenant_id", "lane_id", "changed_seq"),
    )


def embedded(name: str) -> sa.Table:
    """Give a table of search documents' vectors, one for each model."""
    return table(
        name,
        key("lane_id", sa.BigInteger),
        key("model_id"),
        key("document_id"),
        sa.Column("embedding", HalfVector, nullable=False),
    )


search_documents: Final = searched("search_documents")
vectors: Final = embedded("vectors")
