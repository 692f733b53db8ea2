"""Side tables: what reads showed, what a public source was asked, and who may come in.

No text of memories; in no hash, not exported.
"""

from typing import Final

import sqlalchemy as sa

from phronesis.storage.columns import big, blob, json, key, number, text
from phronesis.storage.tables import table

# Which items composed contexts showed to a session: ids alone, and for whose it was a number made of their name.
shown_contexts = table(
    "shown_contexts",
    key("session"),
    key("context_id"),
    text("owner", required=True),
    big("seq", required=True),
    json("item_ids"),
    sa.Index(None, "tenant_id", "owner"),
    small=True,
)

# Which items and claims reads showed to a run; whose run, and which, are numbers made of their names.
used_memories = table(
    "used_memories",
    key("run"),
    key("item_id"),
    key("part"),
    text("owner", required=True),
    text("via", required=True),
    number("distance", required=False),
    sa.Index(None, "tenant_id", "owner"),
    sa.Index(None, "tenant_id", "item_id"),
    small=True,
)

# How often reads showed each item, all in all, and when last.
usage = table(
    "usage",
    key("lane_id", sa.BigInteger),
    key("item_id"),
    big("count", required=True),
    big("last_at", required=True),
    small=True,
)

# What a public source answered, by a number made of its address and of what was asked; never the question.
lookups = table(
    "lookups",
    key("number"),
    big("asked_at", required=True),
    big("expires_at", required=True),
    json("answer"),
    small=True,
)

# Keys of the server's callers; of the secret its hash alone (``core/keys``). A store's own: what is exported has none.
api_keys = table(
    "api_keys",
    key("key_id"),
    blob("hash", required=True),
    text("role", required=True),
    text("actor", required=True),
    text("label", required=True),
    big("created_at", required=True),
    big("revoked_at"),
    small=True,
)

SIDE: Final = (shown_contexts, used_memories, usage, lookups, api_keys)
"""All of them."""
