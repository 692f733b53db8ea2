"""The routes of OAuth 2.1 for /mcp: metadata of /mcp, and of the authorization server unless it is another one."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from fastapi import FastAPI
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from phronesis.config.server import MCP_PATH, OAuth
from phronesis.interfaces.authentication import Authenticator, RateLimit
from phronesis.interfaces.http.dependencies import address_of
from phronesis.interfaces.http.oauth import SCOPES, OAuthProvider
from phronesis.memory import Memory
from phronesis.memory.keys import OAuthGrants

MAX_BODY: Final = 16_384
"""Bytes of a request to these endpoints: names, addresses and tokens are short."""

TOKENS_PER_MINUTE: Final = 300
"""Calls of the token and revocation endpoints from one address: a service calls for all its users."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@dataclass(frozen=True, slots=True)
class _Limited:
    """An application that counts its calls by address."""

    app: ASGIApp
    limit: RateLimit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; RateLimited when there are too many."""
        self.limit.take(address_of(Request(scope)))
        await self.app(scope, receive, send)


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
        handle = ProtectedResourceMetadataHandler(metadata).handle
        app.router.routes.append(_readable(f"/.well-known/oauth-protected-resource{path}", handle))
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


def _server_routes(provider: OAuthProvider) -> list[Route]:
    """Return the routes of the authorization server, at the paths that clients assume where they read no metadata."""
    settings, clients = provider.settings, ClientAuthenticator(provider)
    metadata = OAuthMetadata.model_validate(
        {
            "issuer": settings.base_url,
            "authorization_endpoint": f"{settings.base_url}/authorize",
            "token_endpoint": f"{settings.base_url}/token",
            "registration_endpoint": f"{settings.base_url}/register",
            "revocation_endpoint": f"{settings.base_url}/revoke",
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
    return [
        *(
            _readable(f"/.well-known/{name}", MetadataHandler(metadata).handle)
            for name in ("oauth-authorization-server", "openid-configuration")
        ),
        Route("/authorize", AuthorizationHandler(provider).handle, methods=["GET"]),
        _callable("/token", TokenHandler(provider, clients).handle, often),
        _callable("/revoke", partial(_revoke, provider), often),
        _callable("/register", RegistrationHandler(provider, options).handle, seldom),
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


def _readable(path: str, handle: Handler) -> Route:
    return Route(path, _from_anywhere(request_response(handle), "GET"), methods=["GET", "OPTIONS"])


def _callable(path: str, handle: Handler, limit: RateLimit) -> Route:
    bounded = RequestBodyLimitMiddleware(_Limited(request_response(handle), limit), MAX_BODY)
    return Route(path, _from_anywhere(bounded, "POST"), methods=["POST", "OPTIONS"])


def _from_anywhere(app: ASGIApp, method: str) -> ASGIApp:
    """Return an application that pages of any site may call: it uses no cookies."""
    return CORSMiddleware(app, allow_origins="*", allow_methods=[method], allow_headers=["MCP-Protocol-Version"])
