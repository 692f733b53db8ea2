"""Tables that are not derived from the log: the log itself, and records beside it (rules as in ``store/schema``)."""

from typing import Final

import sqlalchemy as sa

from phronesis.store.columns import big, blob, json_text, key, number, table, text

tenants = table("tenants", big("created_at", required=True), blob("secret", required=True))

lanes = table(
    "lanes",
    key("lane_id", sa.BigInteger),
    text("kind", required=True),
    text("name"),
    big("head_seq", required=True),
    big("applied_seq", required=True),
    big("documents_seq", required=True),
    big("epoch", required=True),
    big("last_recorded_at", required=True),
    text("head_hash", required=True),
    sa.CheckConstraint("kind IN ('user', 'shared')", name="kind"),
    sa.UniqueConstraint("tenant_id", "kind", "name"),
)

entries = table(
    "entries",
    key("lane_id", sa.BigInteger),
    key("seq", sa.BigInteger),
    text("entry_id", required=True),
    text("verb", required=True),
    sa.Column("handler_version", sa.Integer, nullable=False),
    text("actor", required=True),
    big("recorded_at", required=True),
    text("parent_id", seldom=True),
    text("idempotency", seldom=True),
    json_text("paths"),
    blob("commitments", required=True),
    text("hash", required=True),
    sa.UniqueConstraint("tenant_id", "entry_id"),
    sa.Index(
        "ix_entries_idempotency",
        "tenant_id",
        "idempotency",
        unique=True,
        sqlite_where=sa.text("idempotency IS NOT NULL"),
    ),
    small=True,
)

payload_parts = table(
    "payload_parts",
    key("entry_id"),
    key("n", sa.Integer),
    blob("salt", required=True),
    blob("body"),
    text("blob_id"),
    small=True,
)

blobs = table("blobs", key("blob_id"), blob("body", required=True))

outcomes = table(
    "outcomes",
    key("entry_id"),
    key("role"),
    key("n", sa.Integer),
    big("lane_id", required=True),
    text("made_by", required=True),
    blob("body", required=True),
    small=True,
)

failures = table(
    "failures",
    key("entry_id"),
    big("lane_id", required=True),
    sa.Column("attempts", sa.Integer, nullable=False),
    text("code", required=True),
    text("message", required=True),
    big("at", required=True),
    small=True,
)

TRUTH: Final = (tenants, lanes, entries, payload_parts, blobs, outcomes, failures)


# Records beside the log: impressions and usage of reads, cached lookups, API keys.

# Which items composed contexts showed to a session: ids alone, and for whose it was a number made of their name.
shown_contexts = table(
    "shown_contexts",
    key("session"),
    key("context_id"),
    text("owner", required=True),
    big("seq", required=True),
    json_text("item_ids"),
    json_text("aliases"),  # {section: {alias: item id}}
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
    json_text("answer"),
    small=True,
)

# Keys of the server's callers; of the secret its hash alone (``core/api_keys``). An export holds none. A key of one
# user names them, until they are erased.
api_keys = table(
    "api_keys",
    key("key_id"),
    blob("hash", required=True),
    text("role", required=True),
    text("actor", required=True),
    text("label", required=True),
    big("created_at", required=True),
    big("revoked_at"),
    text("user_id"),
    text("client_id"),
    text("made_by"),
    small=True,
)

# Programs that registered for OAuth, and the codes and tokens that they hold, by id; of a secret its hash alone.
oauth_clients = table(
    "oauth_clients",
    key("client_id"),
    json_text("metadata"),
    big("created_at", required=True),
    big("granted_at"),
    small=True,
)

oauth_tokens = table(
    "oauth_tokens",
    key("token_id"),
    text("kind", required=True),
    blob("hash", required=True),
    text("client_id", required=True),
    text("key_id"),
    json_text("data"),
    big("expires_at", required=True),
    big("used_at"),
    sa.Index(None, "tenant_id", "key_id"),
    sa.Index(None, "tenant_id", "expires_at"),
    small=True,
)

# Contexts composed and requests answered (``store/activity_log``). Whose they were, and of which session, are numbers
# made of their names, as above.
composed_contexts = table(
    "composed_contexts",
    key("context_id"),
    big("at", required=True),
    text("verb", required=True),
    text("owner", required=True),
    text("session"),
    text("namespace"),
    text("agent_id"),
    big("token_count", required=True),
    big("token_budget", required=True),
    number("milliseconds"),
    sa.Column("abstained", sa.Boolean, nullable=False),
    json_text("shown"),
)

answered_requests = table(
    "answered_requests",
    key("request_id"),
    big("at", required=True),
    text("interface", required=True),
    text("route", required=True),
    text("status", required=True),
    sa.Column("failed", sa.Boolean, nullable=False),
    number("milliseconds"),
    text("key_id"),
    text("owner"),
    small=True,
)

SIDE: Final = (
    shown_contexts,
    used_memories,
    usage,
    lookups,
    api_keys,
    oauth_clients,
    oauth_tokens,
    composed_contexts,
    answered_requests,
)
"""All side tables."""
