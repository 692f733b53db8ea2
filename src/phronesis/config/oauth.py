"""Policy section of OAuth: how remote MCP clients, such as claude.ai and ChatGPT, get access to /mcp."""

import ipaddress
from typing import Annotated, Final
from urllib.parse import urlsplit

import pydantic

from phronesis.config.model_roles import Part, plain_url

MCP_PATH: Final = "/mcp"
READ_SCOPE: Final = "memory.read"
WRITE_SCOPE: Final = "memory.write"

_Claim = Annotated[str, pydantic.Field(min_length=1, max_length=200)]


def is_loopback(host: str) -> bool:
    """Return whether a name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _safe_url(value: str, *, example: str) -> str:
    url = str(plain_url(value, example=example))
    if not url.startswith("https://") and not is_loopback(urlsplit(url).hostname or ""):
        raise ValueError(f"must begin with https://, such as {example}; http is for this machine alone")
    return url


class Issuer(Part):
    """Another authorization server (Keycloak, Auth0, Entra) whose JSON Web Tokens are accepted at /mcp."""

    url: str = pydantic.Field(
        description="Its issuer, as `iss` names it.", examples=["https://id.example.com/realms/a"]
    )
    jwks_url: str = pydantic.Field(
        description="Where its public keys are: `jwks_uri` of its metadata.",
        examples=["https://id.example.com/realms/a/protocol/openid-connect/certs"],
    )
    audience: _Claim | None = pydantic.Field(
        default=None, description="What `aud` must name; default: the address of /mcp."
    )
    user_claim: _Claim = pydantic.Field(default="sub", description="The claim that names the user.")
    tenant_claim: _Claim | None = pydantic.Field(
        default=None, description="The claim that names the tenant; none: everybody is of the server's own."
    )
    read_scope: _Claim = pydantic.Field(default=READ_SCOPE, description="The scope that lets a token read.")
    write_scope: _Claim = pydantic.Field(default=WRITE_SCOPE, description="The scope that lets a token write.")

    @pydantic.field_validator("url")
    @classmethod
    def _is_issuer(cls, value: str) -> str:
        slash = "/" if value.endswith("/") else ""  # part of the name: `iss` is compared as it is
        return _safe_url(value, example="https://id.example.com/realms/a") + slash

    @pydantic.field_validator("jwks_url")
    @classmethod
    def _is_key_set(cls, value: str) -> str:
        return _safe_url(value, example="https://id.example.com/realms/a/protocol/openid-connect/certs")


class OAuth(Part):
    """OAuth 2.1 for /mcp. Without an ``issuer`` the server issues tokens itself: people sign in with their API keys."""

    base_url: str = pydantic.Field(
        description="The address by which clients reach this server: scheme and host, without a path.",
        examples=["https://memory.example.com"],
    )
    access_minutes: int = pydantic.Field(default=60, ge=1, le=1_440, description="How long an access token is valid.")
    refresh_days: int = pydantic.Field(
        default=30, ge=1, le=365, description="How long a client that is not used stays connected."
    )
    registrations_per_minute: int = pydantic.Field(
        default=10, ge=1, le=10_000, description="Clients that may register, and sign-ins, a minute from one address."
    )
    max_clients: int = pydantic.Field(
        default=1_000, ge=1, le=1_000_000, description="Registered clients that nobody has approved, at most."
    )
    issuer: Issuer | None = pydantic.Field(
        default=None, title="Issuer", description="Accept the tokens of another authorization server instead."
    )

    @pydantic.field_validator("base_url")
    @classmethod
    def _is_base(cls, value: str) -> str:
        url = _safe_url(value, example="https://memory.example.com")
        if urlsplit(url).path:
            raise ValueError("must be scheme and host, such as https://memory.example.com, without a path")
        return url.lower()

    @property
    def host(self) -> str:
        """The name of the server, without port."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def resource(self) -> str:
        """The address of /mcp: the audience of tokens (RFC 8707)."""
        return self.base_url + MCP_PATH

    @property
    def metadata_url(self) -> str:
        """The address of the metadata of /mcp (RFC 9728)."""
        return f"{self.base_url}/.well-known/oauth-protected-resource{MCP_PATH}"
