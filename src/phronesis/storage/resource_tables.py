"""The tables of resources: documents, their sections, and the chunks of these that are searched, with vectors.

On PostgreSQL they lie in a schema of their own, ``phronesis_resources``; the names differ from all of memory's, so that
no statement says in which. The rules of ``storage/schema`` hold here too. All but the vectors are derived.
"""

from typing import Final

import sqlalchemy as sa

from phronesis.storage.columns import big, json, key, text
from phronesis.storage.search_tables import embedded, searched
from phronesis.storage.tables import table

# A document's versions, and what each consisted of, are facts of the entries that brought them, as turns are: they stay
# when an entry is rolled back. Which version counts is said by the item of kind ``document``.
documents: Final = table(
    "documents",
    key("lane_id", sa.BigInteger),
    key("document_id"),
    key("number", sa.Integer),
    text("entry_id", required=True),
    text("uri", required=True),
    text("title", required=True),
    text("media_type", required=True),
    text("type", required=True),
    sa.Column("characters", sa.Integer, nullable=False),
    big("recorded_at", required=True),
    sa.Index(None, "tenant_id", "lane_id", "uri"),
)

sections: Final = table(
    "sections",
    key("lane_id", sa.BigInteger),
    key("document_id"),
    key("number", sa.Integer),
    key("n", sa.Integer),
    text("item_id", required=True),
    json("path"),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    small=True,
)

chunks: Final = searched("chunks")
chunk_vectors: Final = embedded("chunk_vectors")

RESOURCE_TABLES: Final = (documents, sections, chunks, chunk_vectors)
"""What the second schema holds."""
