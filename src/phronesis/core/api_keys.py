"""API keys: a caller's rights at a server, and the format of tokens.

A token is ``phr_<tenant>.<key id>.<secret>``: the tenant's name in base64url, so that one lookup finds the row in a
store that is distributed by tenant; the id by which the key is listed and revoked; and 256 random bits. The tokens of
OAuth have the same form under other prefixes.

The store keeps the SHA-256 of the secret. Passwords need a slow, salted hash because they can be guessed; 256 random
bits cannot, so a fast hash is as safe and cheap enough for every request.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

from phronesis.core.ids import is_id
from phronesis.core.serialization import Record
from phronesis.errors import InputError, Unauthenticated

TOKEN_PREFIX: Final = "phr_"  # noqa: S105 - what every token begins with, for those who scan code for lost keys
SECRET_BYTES: Final = 32
"""Length of a secret: 256 bits."""
ACCESS_PREFIX: Final = "pha_"
REFRESH_PREFIX: Final = "phf_"
CODE_PREFIX: Final = "phc_"
MAX_TOKEN_LENGTH: Final = 256
"""Maximum length in characters. The longest name of a tenant gives a token of 171."""
_PARTS: Final = 3


class Role(IntEnum):
    """The rights of a key; each role includes those before it."""

    READ = 1
    """Search, list, compose contexts; nothing is stored except usage."""
    WRITE = 2
    """Store, change, archive, roll back, learn."""
    ADMIN = 3
    """Erase, export, look across all users of the tenant, release what is in quarantine."""

    @classmethod
    def _missing_(cls, value: object) -> "Role | None":
        """Accept a name in lower case too, as written by ``ApiKey.to_dict``."""
        return cls.__members__.get(value.upper()) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey(Record):
    """An API key without its secret. ``actor`` is the name that the log records for its calls.

    A key with a ``user_id`` acts for that user alone. A key with a ``client_id`` has no secret: it is what a person
    granted to an OAuth client, by signing in with the key ``made_by``.
    """

    id: str
    tenant: str
    role: Role
    actor: str
    label: str
    created_at: datetime
    revoked_at: datetime | None = None
    user_id: str | None = None
    client_id: str | None = None
    made_by: str | None = None

    @property
    def active(self) -> bool:
        """Return whether the key was not revoked."""
        return self.revoked_at is None


@dataclass(frozen=True, slots=True)
class Token:
    """The parts of a token; ``secret`` never appears in its ``repr``."""

    tenant: str
    key_id: str
    secret: bytes
    prefix: str = TOKEN_PREFIX

    def __repr__(self) -> str:
        return f"Token(tenant={self.tenant!r}, key_id={self.key_id!r})"

    def __str__(self) -> str:
        return f"{self.prefix}{_text(self.tenant.encode())}.{self.key_id}.{_text(self.secret)}"


def parse_token(text: str, prefix: str = TOKEN_PREFIX) -> Token:
    """Parse a token; Unauthenticated for any other text, which the message does not repeat."""
    parts = text.removeprefix(prefix).split(".") if len(text) <= MAX_TOKEN_LENGTH else []
    if not text.startswith(prefix) or len(parts) != _PARTS or not is_id(parts[1]):
        raise _bad_key_error()
    try:
        token = Token(_bytes(parts[0]).decode("ascii"), parts[1], _bytes(parts[2]), prefix)
    except (binascii.Error, ValueError) as error:
        raise _bad_key_error() from error
    if len(token.secret) != SECRET_BYTES or str(token) != text:  # base64 has several spellings of the same bytes
        raise _bad_key_error()
    return token


def hash_secret(secret: bytes) -> bytes:
    """Return the stored hash of a secret."""
    return hashlib.sha256(secret).digest()


def secret_matches(kept: bytes, secret: bytes) -> bool:
    """Return whether a secret matches a stored hash, in constant time."""
    return hmac.compare_digest(kept, hash_secret(secret))


def check_role(value: object) -> Role:
    """Return the role of a name such as ``write``; InputError for what is none."""
    if isinstance(value, Role):
        return value
    if isinstance(value, str) and value.upper() in Role.__members__:
        return Role[value.upper()]
    names = ", ".join(role.name.lower() for role in Role)
    raise InputError(f"role must be one of {names}, not {value!r:.40}", field="role")


def _bad_key_error() -> Unauthenticated:
    return Unauthenticated(
        f"this is no API key of Phronesis: one begins with {TOKEN_PREFIX} and is given whole, as `phronesis serve keys"
        " create` printed it, in the header 'Authorization: Bearer …'",
        field="Authorization",
    )


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
