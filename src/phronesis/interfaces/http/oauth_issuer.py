"""Tokens of another authorization server: JSON Web Tokens, checked with the public keys that it publishes."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import jwt
from jwt import PyJWK, PyJWKClient

from phronesis.config import check_tenant
from phronesis.config.server import Issuer
from phronesis.core.api_keys import ApiKey
from phronesis.core.ids import derived_id
from phronesis.core.text import check_id
from phronesis.errors import Forbidden, InputError, ServerUnavailable, Unauthenticated
from phronesis.interfaces.http.oauth import role_of

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with public keys alone: with a shared secret, whoever checks a token could make one."""

LEEWAY: Final = 30
"""Seconds that clocks may differ."""

REFRESH: Final = 60.0
"""Least seconds between two requests for the keys: tokens with unknown keys cause no more of them."""


@dataclass(slots=True)
class TokenReader:
    """Reads the tokens of an issuer. Thread-safe."""

    issuer: Issuer
    resource: str
    tenant: str
    seconds: Callable[[], float] = time.monotonic
    _keys: PyJWKClient = field(init=False)
    _asked: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Make the client that keeps the keys."""
        self._keys = PyJWKClient(self.issuer.jwks_url, lifespan=3600, timeout=10)

    def find_key(self, token: str) -> ApiKey:
        """Return the caller of a token as a key that is bound to its user.

        Unauthenticated if the token is not valid here, Forbidden without the scope to read.
        """
        try:
            claims = jwt.decode(
                token,
                self._signing_key(str(jwt.get_unverified_header(token).get("kid"))),
                algorithms=list(ALGORITHMS),
                audience=self.issuer.audience or self.resource,
                issuer=self.issuer.url,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return self._key_of(claims)
        except (jwt.PyJWTError, InputError) as error:
            raise Unauthenticated(
                f"this token is not valid here ({type(error).__name__}): it needs the issuer {self.issuer.url}, the"
                f" audience {self.issuer.audience or self.resource}, and the claims that the policy names",
                field="Authorization",
            ) from error

    def _signing_key(self, key_id: str) -> PyJWK:
        """Return a key of the issuer; asked for again at most once a minute where there is none of that id."""
        try:
            with self._lock:
                found = self._find(key_id, refresh=False)
                if found is None and self.seconds() - self._asked >= REFRESH:
                    self._asked = self.seconds()
                    found = self._find(key_id, refresh=True)
        except jwt.PyJWKClientError as error:
            raise ServerUnavailable("server.oauth.issuer.jwks_url gave no keys") from error
        if found is None:
            raise jwt.InvalidTokenError("unknown key")
        return found

    def _find(self, key_id: str, *, refresh: bool) -> PyJWK | None:
        keys = self._keys.get_signing_keys(refresh=refresh)
        return next((one for one in keys if one.key_id == key_id), None)

    def _key_of(self, claims: Mapping[str, Any]) -> ApiKey:
        scopes = claims.get("scope") or claims.get("scp") or ()
        given = scopes.split() if isinstance(scopes, str) else [str(one) for one in scopes]
        if not {self.issuer.read_scope, self.issuer.write_scope} & set(given):
            raise Forbidden(
                f"the token has neither the scope {self.issuer.read_scope} nor {self.issuer.write_scope}",
                field="Authorization",
            )
        named = self.issuer.tenant_claim
        user = check_id(claims.get(self.issuer.user_claim), field=self.issuer.user_claim)
        return ApiKey(
            id=derived_id("oauth", self.issuer.url, str(claims["sub"])),
            tenant=self.tenant if named is None else check_tenant(claims.get(named)),
            role=role_of(given, write=self.issuer.write_scope),
            actor="agent",
            label=str(claims.get("client_id") or claims.get("azp") or "OAuth"),
            created_at=datetime.now(UTC),
            user_id=user,
        )
