"""API keys of a server's callers, stored with a hash of the secret."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from phronesis.core.api_keys import ApiKey, Role
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import insert
from phronesis.store.database import Unit
from phronesis.store.side_tables import api_keys, oauth_tokens


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key with the hash of its secret."""

    key: ApiKey
    hash: bytes


def keep_key(unit: Unit, kept: StoredKey) -> None:
    """Store a new key."""
    key = kept.key
    row = {
        "tenant_id": unit.tenant,
        "key_id": key.id,
        "hash": kept.hash,
        "role": key.role.name.lower(),
        "actor": key.actor,
        "label": key.label,
        "created_at": to_micros(key.created_at),
        "revoked_at": None,
        "user_id": key.user_id,
        "client_id": key.client_id,
        "made_by": key.made_by,
    }
    insert(unit, api_keys, [row])


def find_key(unit: Unit, key_id: str) -> StoredKey | None:
    """Return a key, revoked or not; None when there is none of that id."""
    query = sa.select(api_keys).where(api_keys.c.tenant_id == unit.tenant, api_keys.c.key_id == key_id)
    row = unit.run(query).one_or_none()
    return None if row is None else _stored_key(row)


def list_keys(unit: Unit, *, user_id: str | None = None) -> list[ApiKey]:
    """Return a tenant's keys, or those of one user, oldest first."""
    query = sa.select(api_keys).where(api_keys.c.tenant_id == unit.tenant)
    if user_id is not None:
        query = query.where(api_keys.c.user_id == user_id)
    return [_stored_key(row).key for row in unit.run(query.order_by(api_keys.c.created_at, api_keys.c.key_id))]


def has_active_key(unit: Unit) -> bool:
    """Return whether a tenant has a key that was not revoked."""
    query = sa.select(sa.literal(1)).where(api_keys.c.tenant_id == unit.tenant, api_keys.c.revoked_at.is_(None))
    return unit.run(query.limit(1)).first() is not None


def has_key(unit: Unit) -> bool:
    """Return whether a tenant ever had a key, revoked ones included."""
    query = sa.select(sa.literal(1)).where(api_keys.c.tenant_id == unit.tenant)
    return unit.run(query.limit(1)).first() is not None


def revoke_key(unit: Unit, key_id: str, *, at: int) -> None:
    """Record when a key, and what was granted with it, was revoked; the first time is kept."""
    mine = (api_keys.c.key_id == key_id) | (api_keys.c.made_by == key_id)
    active = (api_keys.c.tenant_id == unit.tenant) & api_keys.c.revoked_at.is_(None)
    unit.run(sa.update(api_keys).where(active, mine).values(revoked_at=at))


def forget_user(unit: Unit, user_id: str, *, label: str, at: int) -> None:
    """Revoke a user's keys, remove their tokens, and take the user's name from both; the rows remain.

    A tenant that ever had a key asks for one (`has_key`).
    """
    mine = (api_keys.c.tenant_id == unit.tenant) & (api_keys.c.user_id == user_id)
    ids = list(unit.run(sa.select(api_keys.c.key_id).where(mine)).scalars())
    of_tenant = oauth_tokens.c.tenant_id == unit.tenant
    unit.run(sa.delete(oauth_tokens).where(of_tenant, oauth_tokens.c.key_id.in_(ids)))
    revoked = sa.func.coalesce(api_keys.c.revoked_at, at)
    unit.run(sa.update(api_keys).where(mine).values(revoked_at=revoked, user_id=None, label=label, actor=label))


def _stored_key(row: Any) -> StoredKey:
    revoked = None if row.revoked_at is None else from_micros(row.revoked_at)
    key = ApiKey(
        id=row.key_id,
        tenant=row.tenant_id,
        role=Role[row.role.upper()],
        actor=row.actor,
        label=row.label,
        created_at=from_micros(row.created_at),
        revoked_at=revoked,
        user_id=row.user_id,
        client_id=row.client_id,
        made_by=row.made_by,
    )
    return StoredKey(key, bytes(row.hash))
