"""API keys of a server's callers, stored with a hash of the secret."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from phronesis.core.api_keys import ApiKey, Role
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import insert
from phronesis.store.database import Unit
from phronesis.store.side_tables import api_keys


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
    }
    insert(unit, api_keys, [row])


def find_key(unit: Unit, key_id: str) -> StoredKey | None:
    """Return a key, revoked or not; None when there is none of that id."""
    query = sa.select(api_keys).where(api_keys.c.tenant_id == unit.tenant, api_keys.c.key_id == key_id)
    row = unit.run(query).one_or_none()
    return None if row is None else _stored_key(row)


def list_keys(unit: Unit) -> list[ApiKey]:
    """Return a tenant's keys, oldest first."""
    query = sa.select(api_keys).where(api_keys.c.tenant_id == unit.tenant)
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
    """Record when a key was revoked; the first time is kept."""
    mine = (api_keys.c.tenant_id == unit.tenant) & (api_keys.c.key_id == key_id)
    unit.run(sa.update(api_keys).where(mine, api_keys.c.revoked_at.is_(None)).values(revoked_at=at))


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
    )
    return StoredKey(key, bytes(row.hash))
