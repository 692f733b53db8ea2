"""API keys of a server's callers, and OAuth: clients that registered, their codes and tokens. Of a secret, a hash."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

import sqlalchemy as sa

from phronesis.core.api_keys import ApiKey, Role
from phronesis.core.timestamps import from_micros, optional_moment, to_micros
from phronesis.store.compiled_statements import insert, own_rows
from phronesis.store.database import Unit
from phronesis.store.schema import api_keys, oauth_clients, oauth_tokens

_AS_THEY_ARE: Final = ("actor", "label", "user_id", "client_id", "made_by")
"""Columns of a key that are members of its record."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key with the hash of its secret."""

    key: ApiKey
    hash: bytes


def keep_key(unit: Unit, kept: StoredKey) -> None:
    """Store a new key."""
    row = {name: getattr(kept.key, name) for name in _AS_THEY_ARE}
    row |= {"key_id": kept.key.id, "role": kept.key.role.name.lower(), "created_at": to_micros(kept.key.created_at)}
    insert(unit, api_keys, [{"tenant_id": unit.tenant, "hash": kept.hash, "revoked_at": None, **row}])


def find_key(unit: Unit, key_id: str) -> StoredKey | None:
    """Return a key, revoked or not; None when there is none of that id."""
    query = sa.select(api_keys).where(*own_rows(unit, api_keys, key_id=key_id))
    row = unit.run(query).one_or_none()
    return None if row is None else _stored_key(row)


def list_keys(unit: Unit, *, user_id: str | None = None) -> list[ApiKey]:
    """Return a tenant's keys, or those of one user, oldest first."""
    query = sa.select(api_keys).where(*own_rows(unit, api_keys))
    if user_id is not None:
        query = query.where(api_keys.c.user_id == user_id)
    return [_stored_key(row).key for row in unit.run(query.order_by(api_keys.c.created_at, api_keys.c.key_id))]


def has_active_key(unit: Unit) -> bool:
    """Return whether a tenant has a key that was not revoked."""
    query = sa.select(sa.literal(1)).where(*own_rows(unit, api_keys), api_keys.c.revoked_at.is_(None))
    return unit.run(query.limit(1)).first() is not None


def has_key(unit: Unit) -> bool:
    """Return whether a tenant ever had a key, revoked ones included."""
    query = sa.select(sa.literal(1)).where(*own_rows(unit, api_keys))
    return unit.run(query.limit(1)).first() is not None


def revoke_key(unit: Unit, key_id: str, *, at: int) -> None:
    """Record when a key, and what was granted with it, was revoked; the first time is kept."""
    mine = (api_keys.c.key_id == key_id) | (api_keys.c.made_by == key_id)
    active = (*own_rows(unit, api_keys), api_keys.c.revoked_at.is_(None), mine)
    unit.run(sa.update(api_keys).where(*active).values(revoked_at=at))


def forget_user(unit: Unit, user_id: str, *, label: str, at: int) -> None:
    """Revoke a user's keys, remove their tokens, and take the user's name from both; the rows remain.

    A tenant that ever had a key asks for one (`has_key`).
    """
    mine = own_rows(unit, api_keys, user_id=user_id)
    ids = list(unit.run(sa.select(api_keys.c.key_id).where(*mine)).scalars())
    unit.run(sa.delete(oauth_tokens).where(*own_rows(unit, oauth_tokens), oauth_tokens.c.key_id.in_(ids)))
    revoked = sa.func.coalesce(api_keys.c.revoked_at, at)
    unit.run(sa.update(api_keys).where(*mine).values(revoked_at=revoked, user_id=None, label=label, actor=label))


def _stored_key(row: Any) -> StoredKey:
    key = ApiKey(
        id=row.key_id,
        tenant=row.tenant_id,
        role=Role[row.role.upper()],
        created_at=from_micros(row.created_at),
        revoked_at=optional_moment(row.revoked_at),
        **{name: getattr(row, name) for name in _AS_THEY_ARE},
    )
    return StoredKey(key, bytes(row.hash))


Kind = Literal["code", "access", "refresh"]

_COLUMNS: Final = tuple(column for column in oauth_tokens.c if column.name != "tenant_id")


@dataclass(frozen=True, slots=True)
class OAuthToken:
    """A code or token. ``key_id``: of a code that was not used yet, the key that approved it; else the grant."""

    token_id: str
    kind: Kind
    hash: bytes
    client_id: str
    key_id: str
    expires_at: int
    data: Mapping[str, Any] = field(default_factory=dict)
    used_at: int | None = None


def keep_client(unit: Unit, client_id: str, metadata: Mapping[str, Any], *, at: int) -> None:
    """Store a client that registered."""
    row = {"tenant_id": unit.tenant, "client_id": client_id, "metadata": dict(metadata), "created_at": at}
    insert(unit, oauth_clients, [row])


def find_client(unit: Unit, client_id: str) -> Mapping[str, Any] | None:
    """Return a client's metadata, or None."""
    mine = own_rows(unit, oauth_clients, client_id=client_id)
    found: Mapping[str, Any] | None = unit.run(sa.select(oauth_clients.c.metadata).where(*mine)).scalar_one_or_none()
    return found


def drop_unused_clients(unit: Unit, *, before: int) -> int:
    """Remove clients that registered before a time and were never approved; return how many such are left."""
    unused = (*own_rows(unit, oauth_clients), oauth_clients.c.granted_at.is_(None))
    unit.run(sa.delete(oauth_clients).where(*unused, oauth_clients.c.created_at < before))
    left: int = unit.run(sa.select(sa.func.count()).select_from(oauth_clients).where(*unused)).scalar_one()
    return left


def note_grant(unit: Unit, client_id: str, *, at: int) -> None:
    """Record that a person approved a client."""
    mine = own_rows(unit, oauth_clients, client_id=client_id)
    unit.run(sa.update(oauth_clients).where(*mine).values(granted_at=at))


def keep_token(unit: Unit, token: OAuthToken) -> None:
    """Store a code or token."""
    insert(unit, oauth_tokens, [{"tenant_id": unit.tenant, **asdict(token)}])


def find_token(unit: Unit, token_id: str, kind: Kind) -> OAuthToken | None:
    """Return a code or token, used, expired or not; None if there is none."""
    mine = own_rows(unit, oauth_tokens, token_id=token_id)
    row = unit.run(sa.select(*_COLUMNS).where(*mine, oauth_tokens.c.kind == kind)).mappings().one_or_none()
    return None if row is None else OAuthToken(**{**row, "hash": bytes(row["hash"])})


def use_token(unit: Unit, token_id: str, *, key_id: str, at: int) -> bool:
    """Record that a code or refresh token was used, by which grant; return False if it was used before."""
    mine = own_rows(unit, oauth_tokens, token_id=token_id)
    unused = sa.update(oauth_tokens).where(*mine, oauth_tokens.c.used_at.is_(None))
    return unit.run(unused.values(used_at=at, key_id=key_id)).rowcount == 1


def drop_expired_tokens(unit: Unit, *, before: int) -> None:
    """Remove codes and tokens that expired before a time."""
    unit.run(sa.delete(oauth_tokens).where(*own_rows(unit, oauth_tokens), oauth_tokens.c.expires_at < before))
