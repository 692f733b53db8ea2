"""The authorization server of /mcp: clients, approvals, tokens and its routes, over the handlers of MCP's SDK.

The SDK checks the form of requests, redirect addresses and PKCE (S256 alone); `OAuthGrants` keeps what was granted.
Clients are public: PKCE and exact redirect addresses protect their codes, so that no client has a secret to keep.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import pydantic
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from mcp.server.auth.handlers.authorize import AuthorizationHandler, AuthorizationRequest
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.auth import (
    InvalidRedirectUriError,
    InvalidScopeError,
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp

from phronesis.config.server import MCP_PATH, READ_SCOPE, WRITE_SCOPE, OAuth, is_loopback
from phronesis.core.api_keys import ApiKey, Role
from phronesis.core.text import check_id
from phronesis.errors import InputError, Unauthenticated
from phronesis.interfaces.authentication import Authenticator, RateLimit
from phronesis.interfaces.http.dependencies import address_of
from phronesis.memory import Memory
from phronesis.memory.keys import HeldToken, IssuedTokens, OAuthGrants

SCOPES: Final = (READ_SCOPE, WRITE_SCOPE)
MAX_REDIRECTS: Final = 10
MAX_NAME: Final = 100
_CHALLENGE_LENGTH: Final = 43  # of a SHA-256 in base64url


class RegisteredClient(OAuthClientInformationFull):
    """A client as registered. Its redirect addresses match exactly, but for the port of loopback's (RFC 8252, 7.3)."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """Return the address to redirect to; InvalidRedirectUriError if it is not registered."""
        if redirect_uri is not None and _is_local(redirect_uri):
            given = _without_port(redirect_uri)
            if any(_is_local(one) and _without_port(one) == given for one in self.redirect_uris or ()):
                return redirect_uri
        return super().validate_redirect_uri(redirect_uri)


def _is_safe(uri: AnyUrl) -> bool:
    """Return whether answers may go to an address; what precedes an ``@`` would pass for its host."""
    return (uri.scheme == "https" or _is_local(uri)) and not (uri.fragment or uri.username or uri.password)


def _is_local(uri: AnyUrl) -> bool:
    return uri.scheme == "http" and is_loopback(uri.host or "")


def _without_port(uri: AnyUrl) -> tuple[Any, ...]:
    parts = urlsplit(str(uri))
    return parts.scheme, parts.hostname, parts.path, parts.query


@dataclass(frozen=True, slots=True)
class Approval:
    """A checked request for authorization, as a person approves it."""

    client: RegisteredClient
    redirect_uri: AnyUrl
    scopes: Sequence[str]
    state: str | None
    data: Mapping[str, Any]
    issuer: str

    @property
    def origin(self) -> str:
        """Scheme, host and port to which the answer goes."""
        parts = urlsplit(str(self.redirect_uri))
        return f"{parts.scheme}://{parts.netloc}"

    def answer(self, **result: str) -> str:
        """Return the address that carries an answer to the client, with the issuer (RFC 9207)."""
        return construct_redirect_uri(str(self.redirect_uri), **result, state=self.state, iss=self.issuer)


class _Code(AuthorizationCode):
    held: HeldToken


class _Refresh(RefreshToken):
    held: HeldToken


class _Access(AccessToken):
    held: HeldToken


@dataclass(frozen=True, slots=True)
class OAuthProvider(OAuthAuthorizationServerProvider[_Code, _Refresh, _Access]):
    """What the SDK's handlers need of this server. It opens the store in threads."""

    settings: OAuth
    grants: OAuthGrants

    async def get_client(self, client_id: str) -> RegisteredClient | None:
        """Return a registered client, or None."""
        found = await run_in_threadpool(self.grants.client, client_id)
        if found is None:
            return None
        return RegisteredClient.model_validate({**found, "client_id": client_id, "token_endpoint_auth_method": "none"})

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Store a client; RegistrationError for an address or a name that is not taken."""
        uris = client_info.redirect_uris or []
        if len(uris) > MAX_REDIRECTS or not all(map(_is_safe, uris)):
            raise RegistrationError(
                "invalid_redirect_uri",
                f"redirect_uris: at most {MAX_REDIRECTS}, each https, or http at 127.0.0.1; no user, no fragment",
            )
        try:
            name = check_id((client_info.client_name or urlsplit(str(uris[0])).netloc)[:MAX_NAME], field="client_name")
        except InputError as error:
            raise RegistrationError("invalid_client_metadata", error.message) from error
        client_info.token_endpoint_auth_method = "none"  # noqa: S105 - PKCE takes a secret's place
        client_info.client_secret = client_info.client_secret_expires_at = None
        client_info.client_name = name
        kept = client_info.model_dump(mode="json", include={"client_name", "redirect_uris", "scope", "grant_types"})
        await run_in_threadpool(self.grants.register, client_info.client_id, kept)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Return the address of the page on which a person decides."""
        self._check(params.resource, params.scopes or SCOPES, params.code_challenge)
        return construct_redirect_uri(
            f"{self.settings.base_url}/consent",
            response_type="code",
            client_id=client.client_id,
            redirect_uri=str(params.redirect_uri) if params.redirect_uri_provided_explicitly else None,
            code_challenge=params.code_challenge,
            code_challenge_method="S256",
            scope=" ".join(params.scopes or SCOPES),
            state=params.state,
            resource=params.resource,
        )

    def _check(self, resource: str | None, scopes: Sequence[str], challenge: str) -> None:
        if resource is not None and resource.rstrip("/") not in (self.settings.resource, self.settings.base_url):
            raise AuthorizeError("invalid_target", f"resource: this server is {self.settings.resource}")
        if not set(scopes) <= set(SCOPES) or READ_SCOPE not in scopes:
            raise AuthorizeError("invalid_scope", f"scope: there are {' and '.join(SCOPES)}; the first is needed")
        if len(challenge) != _CHALLENGE_LENGTH:
            raise AuthorizeError("invalid_request", "code_challenge: it is the SHA-256 of the verifier in base64url")

    async def read_approval(self, given: Mapping[str, Any]) -> Approval:
        """Check the request that a person is to approve; InputError if it is none of a registered client."""
        try:
            asked = AuthorizationRequest.model_validate(dict(given))
            client = await self.get_client(asked.client_id)
            if client is None:
                raise InputError("client_id: this client is not registered here; connect anew", field="client_id")
            uri = client.validate_redirect_uri(asked.redirect_uri)
            scopes = client.validate_scope(asked.scope) or SCOPES
            self._check(asked.resource, scopes, asked.code_challenge)
        except pydantic.ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            raise InputError(f"{field}: {error.errors()[0]['msg']}", field=field) from error
        except (InvalidRedirectUriError, InvalidScopeError) as error:
            raise InputError(error.message, field="redirect_uri") from error
        except AuthorizeError as error:
            raise InputError(str(error.error_description), field=error.error) from error
        data = {
            "scopes": list(scopes),
            "redirect_uri": str(uri),
            "explicit": asked.redirect_uri is not None,
            "challenge": asked.code_challenge,
            "resource": self.settings.resource,
        }
        return Approval(client, uri, scopes, asked.state, data, self.settings.base_url)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> _Code | None:
        """Return a code that was not used; the second use revokes what the first one brought."""
        held = await run_in_threadpool(self.grants.find, authorization_code, "code")
        if held is None or held.client_id != client.client_id:
            return None
        return _Code(
            code=authorization_code,
            scopes=held.data["scopes"],
            expires_at=held.expires_at.timestamp(),
            client_id=held.client_id,
            code_challenge=held.data["challenge"],
            redirect_uri=AnyUrl(held.data["redirect_uri"]),
            redirect_uri_provided_explicitly=held.data["explicit"],
            resource=held.data["resource"],
            held=held,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: _Code
    ) -> OAuthToken:
        """Return the tokens for a code."""
        label = f"{client.client_name} (OAuth)"
        held, role = authorization_code.held, role_of(authorization_code.scopes, write=WRITE_SCOPE)
        issued = await run_in_threadpool(self.grants.exchange_code, held, label=label, role=role)
        return self._token(issued, authorization_code.scopes)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> _Refresh | None:
        """Return a refresh token that was not used; the second use revokes the grant."""
        held = await run_in_threadpool(self.grants.find, refresh_token, "refresh")
        if held is None or held.client_id != client.client_id:
            return None
        return _Refresh(token=refresh_token, client_id=held.client_id, scopes=held.data["scopes"], held=held)

    async def exchange_refresh_token(
        self,
        client: OAuthClientInformationFull,  # noqa: ARG002 - the SDK's signature
        refresh_token: _Refresh,
        scopes: list[str],
    ) -> OAuthToken:
        """Return new tokens for a refresh token."""
        issued = await run_in_threadpool(self.grants.refresh, refresh_token.held, scopes)
        return self._token(issued, scopes)

    async def load_access_token(self, token: str) -> _Access | None:
        """Return an access token, or None."""
        held = await run_in_threadpool(self.grants.find, token, "access")
        if held is None:
            return None
        return _Access(token=token, client_id=held.client_id, scopes=held.data["scopes"], held=held)

    async def revoke_token(self, token: _Access | _Refresh) -> None:
        """Revoke the grant of a token."""
        await run_in_threadpool(self.grants.revoke, token.held.key)

    def _token(self, issued: IssuedTokens | None, scopes: Sequence[str]) -> OAuthToken:
        if issued is None:
            raise TokenError("invalid_grant", "it was used already")
        return OAuthToken(
            access_token=issued.access,
            refresh_token=issued.refresh,
            expires_in=self.settings.access_minutes * 60,
            scope=" ".join(scopes),
        )

    def find_key(self, token: str) -> ApiKey:
        """Return the grant of an access token for /mcp, with the role of its scopes; Unauthenticated without one."""
        held = self.grants.find(token, "access")
        if held is None or held.data["resource"] != self.settings.resource:
            raise Unauthenticated(
                "this access token expired, was revoked, or is for another server; connect anew", field="Authorization"
            )
        return replace(held.key, role=min(held.key.role, role_of(held.data["scopes"], write=WRITE_SCOPE)))


def role_of(scopes: Sequence[str], *, write: str) -> Role:
    """Return what a token with some scopes may do."""
    return Role.WRITE if write in scopes else Role.READ


MAX_BODY: Final = 16_384
"""Bytes of a request to these endpoints: names, addresses and tokens are short."""

TOKENS_PER_MINUTE: Final = 300
"""Calls of the token and revocation endpoints from one address: a service calls for all its users."""


def mount_oauth(app: FastAPI, memory: Memory, settings: OAuth) -> None:
    """Add the routes to a server, and let its authentication accept the tokens at /mcp."""
    admission: Authenticator = app.state.admission
    issuer = settings.issuer
    metadata = ProtectedResourceMetadata.model_validate(
        {
            "resource": settings.resource,
            "authorization_servers": [settings.base_url if issuer is None else issuer.url],
            "scopes_supported": list(SCOPES) if issuer is None else [issuer.read_scope, issuer.write_scope],
            "resource_name": "Phronesis",
        }
    )
    for path in ("", MCP_PATH):
        handle = request_response(ProtectedResourceMetadataHandler(metadata).handle)
        app.router.routes.append(_route(f"/.well-known/oauth-protected-resource{path}", handle))
    if issuer is not None:
        from phronesis.interfaces.http.oauth_issuer import TokenReader  # noqa: PLC0415 - cryptography

        admission.find_key = TokenReader(issuer, settings.resource, memory.admin.tenant).find_key
        return
    admin = memory.admin
    provider = OAuthProvider(
        settings,
        OAuthGrants(
            admin.components.database,
            admin.tenant,
            admin.components.clock,
            access_life=timedelta(minutes=settings.access_minutes),
            refresh_life=timedelta(days=settings.refresh_days),
            max_clients=settings.max_clients,
        ),
    )
    app.state.oauth = provider
    app.state.sign_ins = RateLimit(settings.registrations_per_minute, settings.registrations_per_minute)
    admission.find_key = provider.find_key
    app.router.routes.extend(_server_routes(provider))


_ENDPOINTS: Final = {"authorization": "authorize", "token": "token", "registration": "register", "revocation": "revoke"}


def _server_routes(provider: OAuthProvider) -> list[Route]:
    """Return the routes of the authorization server, at the paths that clients assume where they read no metadata."""
    settings, clients = provider.settings, ClientAuthenticator(provider)
    metadata = OAuthMetadata.model_validate(
        {
            "issuer": settings.base_url,
            **{f"{name}_endpoint": f"{settings.base_url}/{path}" for name, path in _ENDPOINTS.items()},
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
    )
    options = ClientRegistrationOptions(enabled=True, valid_scopes=list(SCOPES), default_scopes=list(SCOPES))
    often = RateLimit(TOKENS_PER_MINUTE, TOKENS_PER_MINUTE)
    seldom = RateLimit(settings.registrations_per_minute, settings.registrations_per_minute)

    def limited(path: str, handle: Callable[[Request], Awaitable[Response]], limit: RateLimit) -> Route:
        async def answer(request: Request) -> Response:
            limit.take(address_of(request))
            return await handle(request)

        return _route(path, RequestBodyLimitMiddleware(request_response(answer), MAX_BODY), "POST")

    read = request_response(MetadataHandler(metadata).handle)
    return [
        *(_route(f"/.well-known/{name}", read) for name in ("oauth-authorization-server", "openid-configuration")),
        Route("/authorize", AuthorizationHandler(provider).handle, methods=["GET"]),
        limited("/token", TokenHandler(provider, clients).handle, often),
        limited("/revoke", partial(_revoke, provider), often),
        limited("/register", RegistrationHandler(provider, options).handle, seldom),
    ]


async def _revoke(provider: OAuthProvider, request: Request) -> Response:
    """Revoke the grant of a token (RFC 7009). The SDK's handler takes no public clients: it requires a secret."""
    form = await request.form()
    client = await provider.get_client(str(form.get("client_id", "")))
    if client is None or "token" not in form:
        wrong = "invalid_client" if client is None else "invalid_request"
        return JSONResponse({"error": wrong}, 401 if client is None else 400)
    token = str(form["token"])
    held = await provider.load_access_token(token) or await provider.load_refresh_token(client, token)
    if held is not None and held.client_id == client.client_id:
        await provider.revoke_token(held)
    return Response()


def _route(path: str, app: ASGIApp, method: str = "GET") -> Route:
    """Return a route that pages of any site may call: it uses no cookies."""
    headers = ["MCP-Protocol-Version"]
    anywhere = CORSMiddleware(app, allow_origins="*", allow_methods=[method], allow_headers=headers)
    return Route(path, anywhere, methods=[method, "OPTIONS"])
