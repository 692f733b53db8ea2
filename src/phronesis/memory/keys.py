"""API keys of a server's callers, and what people granted to OAuth clients with them."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.api_keys import (
    ACCESS_PREFIX,
    CODE_PREFIX,
    REFRESH_PREFIX,
    SECRET_BYTES,
    ApiKey,
    Role,
    Token,
    check_role,
    hash_secret,
    parse_token,
    secret_matches,
)
from phronesis.core.ids import parse_id
from phronesis.core.text import check_id
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.errors import InputError, NotFound, RateLimited, Unauthenticated
from phronesis.store import credentials
from phronesis.store.database import Database, Unit
from phronesis.uuid7 import new_id

ERASED: Final = "erased"
"""Label and actor of the keys of a user who was erased."""


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The API keys of one tenant, reached by ``memory.admin.keys``; outside the log (no export or replay).

    With a ``user_id`` it holds that user's keys alone.
    """

    database: Database
    tenant: str
    clock: Callable[[], datetime]
    user_id: str | None = None

    def create(
        self, role: Role | str, *, label: str, actor: str = "agent", user_id: str | None = None
    ) -> tuple[str, ApiKey]:
        """Create a key; return its token, which cannot be read again, and the key as listed.

        ``label`` describes its owner or purpose; ``actor`` is the actor that the log records for its calls (``agent``,
        or a person: a person's feedback counts more). With a ``user_id`` the key acts for that user alone, and may
        read or write. InputError for an invalid role, label, actor or user.
        """
        secret = secrets.token_bytes(SECRET_BYTES)
        user = self.user_id if user_id is None else check_id(user_id, field="user_id")
        if user is not None and check_role(role) > Role.WRITE:
            raise InputError(
                "role: a key of one user may read or write; an admin's key is of the whole tenant, without user_id",
                field="role",
            )
        key = ApiKey(
            id=new_id(),
            tenant=self.tenant,
            role=check_role(role),
            actor=check_id(actor, field="actor"),
            label=check_id(label, field="label"),
            created_at=self.clock(),
            user_id=user,
        )
        with self.database.transaction(self.tenant, "append") as unit:
            credentials.keep_key(unit, credentials.StoredKey(key, hash_secret(secret)))
        return str(Token(self.tenant, key.id, secret)), key

    def list(self) -> list[ApiKey]:
        """Return every key of the tenant, or of the user, oldest first: revoked ones and grants of OAuth too."""
        with self.database.transaction(self.tenant, "read") as unit:
            return credentials.list_keys(unit, user_id=self.user_id)

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key, and what OAuth clients were granted with it, on every server; return it as listed now.

        A server that has just used it may accept it for ``server.key_seconds`` more: a second by default. A revoked key
        stays as it was. NotFound if the tenant has no key of that id.
        """
        identity, now = parse_id(key_id, field="id"), self.clock()
        with self.database.transaction(self.tenant, "append") as unit:
            kept = credentials.find_key(unit, identity)
            if kept is not None and self.user_id in (None, kept.key.user_id):
                credentials.revoke_key(unit, identity, at=to_micros(now))
                kept = credentials.find_key(unit, identity)
        if kept is None or self.user_id not in (None, kept.key.user_id):
            raise NotFound(f"there is no key {identity}; `phronesis serve keys list` shows those there are", field="id")
        return kept.key

    def find(self, token: str) -> ApiKey | None:
        """Return the key of a token, in whichever tenant of this store it names; None if it grants no access.

        Unauthenticated if the text is not a token.
        """
        from phronesis.config import check_tenant  # noqa: PLC0415 - pydantic is not needed before

        given = parse_token(token)
        try:
            tenant = check_tenant(given.tenant)
        except InputError:
            return None
        with self.database.transaction(tenant, "read") as unit:
            kept = credentials.find_key(unit, given.key_id)
        if kept is None or not secret_matches(kept.hash, given.secret) or not kept.key.active:
            return None
        return kept.key

    def forget_user(self, user_id: str) -> None:
        """Revoke the keys of a user who was erased, and remove their name from them."""
        with self.database.transaction(self.tenant, "append") as unit:
            credentials.forget_user(unit, user_id, label=ERASED, at=to_micros(self.clock()))

    def any_active(self) -> bool:
        """Return whether the tenant has an active key."""
        with self.database.transaction(self.tenant, "read") as unit:
            return credentials.has_active_key(unit)

    def any_made(self) -> bool:
        """Return whether the tenant ever had a key, revoked or not: if so, every request needs one."""
        with self.database.transaction(self.tenant, "read") as unit:
            return credentials.has_key(unit)


# Authorization codes, access tokens, and refresh tokens that rotate. A grant is an API key without a secret
# (``core/api_keys``): it is listed, counted and revoked as keys are. Codes and tokens are stored in the tenant of the
# person's key, clients in the server's own.

CODE_LIFE: Final = timedelta(seconds=60)
"""How long an authorization code is valid: a client exchanges it at once."""
KEPT: Final = timedelta(minutes=10)
"""How long expired codes and tokens are kept, so that a second use of one is noticed."""
UNUSED: Final = timedelta(days=1)
"""How long a client is kept that registered and was never approved."""
_PREFIXES: Final[Mapping[credentials.Kind, str]] = {
    "code": CODE_PREFIX,
    "access": ACCESS_PREFIX,
    "refresh": REFRESH_PREFIX,
}


@dataclass(frozen=True, slots=True)
class HeldToken:
    """A valid code or token: what it is for, and the grant of a token or the approving key of a code."""

    tenant: str
    token_id: str
    client_id: str
    key: ApiKey
    data: Mapping[str, Any]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """The tokens of a grant, which cannot be read again."""

    access: str
    refresh: str


@dataclass(frozen=True, slots=True)
class OAuthGrants:
    """The clients of a server, and what its people granted them."""

    database: Database
    tenant: str
    clock: Callable[[], datetime]
    access_life: timedelta
    refresh_life: timedelta
    max_clients: int

    def register(self, client_id: str, metadata: Mapping[str, Any]) -> None:
        """Store a client; RateLimited while too many registered that nobody approved."""
        now = self.clock()
        with self.database.transaction(self.tenant, "append") as unit:
            if credentials.drop_unused_clients(unit, before=to_micros(now - UNUSED)) >= self.max_clients:
                raise RateLimited(
                    f"{self.max_clients} clients registered that nobody approved (server.oauth.max_clients); come again"
                    " in an hour",
                    details={"retry_after": 3600},
                )
            credentials.keep_client(unit, client_id, metadata, at=to_micros(now))

    def client(self, client_id: str) -> Mapping[str, Any] | None:
        """Return a client's metadata, or None."""
        with self.database.transaction(self.tenant, "read") as unit:
            return credentials.find_client(unit, client_id)

    def issue_code(self, client_id: str, key: ApiKey, data: Mapping[str, Any]) -> str:
        """Return the code by which a client gets tokens; ``key`` is that of the person who approved it."""
        with self.database.transaction(self.tenant, "append") as unit:
            credentials.note_grant(unit, client_id, at=to_micros(self.clock()))
        with self.database.transaction(key.tenant, "append") as unit:
            credentials.drop_expired_tokens(unit, before=to_micros(self.clock() - KEPT))
            return self._issue(unit, "code", CODE_LIFE, client_id=client_id, key_id=key.id, data=data)

    def find(self, text: str, kind: credentials.Kind) -> HeldToken | None:
        """Return what a code or token is for; None if it is unknown or expired, or its key was revoked.

        The second use of a code or a refresh token revokes the grant: one of both holders stole it.
        """
        from phronesis.config import check_tenant  # noqa: PLC0415 - pydantic is not needed before

        try:
            given = parse_token(text, _PREFIXES[kind])
            tenant = check_tenant(given.tenant)
        except (Unauthenticated, InputError):
            return None
        with self.database.transaction(tenant, "read") as unit:
            found = credentials.find_token(unit, given.key_id, kind)
            kept = None if found is None else credentials.find_key(unit, found.key_id)
        if found is None or kept is None or not secret_matches(found.hash, given.secret):
            return None
        if found.used_at is not None:
            with self.database.transaction(tenant, "append") as unit:
                self._refuse_reuse(unit, found.token_id, kind)
            return None
        expires = from_micros(found.expires_at)
        if not kept.key.active or expires <= self.clock():
            return None
        return HeldToken(tenant, found.token_id, found.client_id, kept.key, found.data, expires)

    def exchange_code(self, code: HeldToken, *, label: str, role: Role) -> IssuedTokens | None:
        """Make a grant of a code, and return its first tokens; None if the code was used meanwhile.

        ``role`` is what the grant may do, at most what the key may that approved it.
        """
        now, key = self.clock(), code.key
        may = min(role, key.role)
        grant = replace(
            key, id=new_id(), role=may, label=label, created_at=now, client_id=code.client_id, made_by=key.id
        )
        with self.database.transaction(code.tenant, "append") as unit:
            approved = credentials.find_key(unit, key.id)
            if approved is None or not approved.key.active:  # revoked since the code was looked up
                return None
            if not credentials.use_token(unit, code.token_id, key_id=grant.id, at=to_micros(now)):
                self._refuse_reuse(unit, code.token_id, "code")
                return None
            credentials.keep_key(unit, credentials.StoredKey(grant, secrets.token_bytes(SECRET_BYTES)))
            return self._issue_both(unit, grant, code.data["scopes"], code.data["resource"])

    def refresh(self, token: HeldToken, scopes: Sequence[str]) -> IssuedTokens | None:
        """Return new tokens for a refresh token, which is thereby used; None if it was used meanwhile."""
        with self.database.transaction(token.tenant, "append") as unit:
            if not credentials.use_token(unit, token.token_id, key_id=token.key.id, at=to_micros(self.clock())):
                self._refuse_reuse(unit, token.token_id, "refresh")
                return None
            credentials.drop_expired_tokens(unit, before=to_micros(self.clock() - KEPT))
            return self._issue_both(unit, token.key, scopes, token.data["resource"])

    def revoke(self, grant: ApiKey) -> None:
        """Revoke a grant, and with it all its tokens."""
        if grant.client_id is not None:
            with self.database.transaction(grant.tenant, "append") as unit:
                credentials.revoke_key(unit, grant.id, at=to_micros(self.clock()))

    def _refuse_reuse(self, unit: Unit, token_id: str, kind: credentials.Kind) -> None:
        """Revoke the grant of a code or token that was used a second time."""
        used = credentials.find_token(unit, token_id, kind)
        if used is not None:
            credentials.revoke_key(unit, used.key_id, at=to_micros(self.clock()))

    def _issue_both(self, unit: Unit, grant: ApiKey, scopes: Sequence[str], resource: str) -> IssuedTokens:
        data = {"scopes": list(scopes), "resource": resource}
        own: dict[str, Any] = {"client_id": str(grant.client_id), "key_id": grant.id, "data": data}
        return IssuedTokens(
            self._issue(unit, "access", self.access_life, **own), self._issue(unit, "refresh", self.refresh_life, **own)
        )

    def _issue(
        self,
        unit: Unit,
        kind: credentials.Kind,
        life: timedelta,
        *,
        client_id: str,
        key_id: str,
        data: Mapping[str, Any],
    ) -> str:
        token = Token(unit.tenant, new_id(), secrets.token_bytes(SECRET_BYTES), _PREFIXES[kind])
        until = to_micros(self.clock() + life)
        row = credentials.OAuthToken(
            token.key_id, kind, hash_secret(token.secret), client_id, key_id, until, dict(data)
        )
        credentials.keep_token(unit, row)
        return str(token)
