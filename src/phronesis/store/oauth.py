"""Clients that registered for OAuth, and their codes and tokens; of a secret the hash alone is stored."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

import sqlalchemy as sa

from phronesis.store.compiled_statements import insert
from phronesis.store.database import Unit
from phronesis.store.side_tables import oauth_clients, oauth_tokens

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
    mine = (oauth_clients.c.tenant_id == unit.tenant) & (oauth_clients.c.client_id == client_id)
    found: Mapping[str, Any] | None = unit.run(sa.select(oauth_clients.c.metadata).where(mine)).scalar_one_or_none()
    return found


def drop_unused_clients(unit: Unit, *, before: int) -> int:
    """Remove clients that registered before a time and were never approved; return how many such are left."""
    unused = (oauth_clients.c.tenant_id == unit.tenant) & oauth_clients.c.granted_at.is_(None)
    unit.run(sa.delete(oauth_clients).where(unused, oauth_clients.c.created_at < before))
    left: int = unit.run(sa.select(sa.func.count()).select_from(oauth_clients).where(unused)).scalar_one()
    return left


def note_grant(unit: Unit, client_id: str, *, at: int) -> None:
    """Record that a person approved a client."""
    mine = (oauth_clients.c.tenant_id == unit.tenant) & (oauth_clients.c.client_id == client_id)
    unit.run(sa.update(oauth_clients).where(mine).values(granted_at=at))


def keep_token(unit: Unit, token: OAuthToken) -> None:
    """Store a code or token."""
    insert(unit, oauth_tokens, [{"tenant_id": unit.tenant, **asdict(token)}])


def find_token(unit: Unit, token_id: str, kind: Kind) -> OAuthToken | None:
    """Return a code or token, used, expired or not; None if there is none."""
    mine = (oauth_tokens.c.tenant_id == unit.tenant) & (oauth_tokens.c.token_id == token_id)
    row = unit.run(sa.select(*_COLUMNS).where(mine, oauth_tokens.c.kind == kind)).mappings().one_or_none()
    return None if row is None else OAuthToken(**{**row, "hash": bytes(row["hash"])})


def use_token(unit: Unit, token_id: str, *, key_id: str, at: int) -> bool:
    """Record that a code or refresh token was used, by which grant; return False if it was used before."""
    mine = (oauth_tokens.c.tenant_id == unit.tenant) & (oauth_tokens.c.token_id == token_id)
    unused = sa.update(oauth_tokens).where(mine, oauth_tokens.c.used_at.is_(None))
    return unit.run(unused.values(used_at=at, key_id=key_id)).rowcount == 1


def drop_expired_tokens(unit: Unit, *, before: int) -> None:
    """Remove codes and tokens that expired before a time."""
    unit.run(sa.delete(oauth_tokens).where(oauth_tokens.c.tenant_id == unit.tenant, oauth_tokens.c.expires_at < before))
