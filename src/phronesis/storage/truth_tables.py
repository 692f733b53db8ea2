"""The tables of truth: written once, and derived from nothing (the rules of ``storage/schema`` hold here too)."""

from typing import Final

import sqlalchemy as sa

from phronesis.storage.columns import big, blob, json, key, text
from phronesis.storage.tables import table

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
    json("paths"),
    blob("commitments", required=True),
    text("hash", required=True),
    sa.UniqueConstraint("tenant_id", "entry_id"),
    sa.Index(
        "ix_entries_idempotency", "tenant_id", "idempotency", unique=True,
        sqlite_where=sa.text("idempotency IS NOT NULL"), postgresql_where=sa.text("idempotency IS NOT NULL"),
    ),
    small=True,
)  # fmt: skip

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
