"""API keys of a server's callers: create, list, revoke, and look up by token."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.core.api_keys import SECRET_BYTES, ApiKey, Role, Token, check_role, hash_secret, opens, parse_token
from phronesis.core.ids import parse_id
from phronesis.core.text import check_id
from phronesis.core.timestamps import to_micros
from phronesis.errors import InputError, NotFound
from phronesis.store import credentials
from phronesis.store.database import Database
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
        given = parse_token(token)
        try:
            tenant = self._check_tenant(given.tenant)
        except InputError:
            return None
        with self.database.transaction(tenant, "read") as unit:
            kept = credentials.find_key(unit, given.key_id)
        if kept is None or not opens(kept.hash, given.secret) or not kept.key.active:
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

    def _check_tenant(self, tenant: str) -> str:
        from phronesis.config import check_tenant  # noqa: PLC0415 - pydantic is not needed before

        return check_tenant(tenant)
