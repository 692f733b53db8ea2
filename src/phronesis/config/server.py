"""Policy section of the server: address, authentication and limits; OAuth gives remote MCP clients access to /mcp."""

import ipaddress
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import pydantic

from phronesis.config.model_roles import VARIABLE, Part, check_url, plain_url, variable_name
from phronesis.core.serialization import MAX_DEPTH
from phronesis.errors import InputError

MCP_PATH: Final = "/mcp"
READ_SCOPE: Final = "memory.read"
WRITE_SCOPE: Final = "memory.write"
_KEY_SET: Final = "https://id.example.com/realms/a/protocol/openid-connect/certs"
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
    url = check_url(value, example=example)
    if not url.startswith("https://") and not is_loopback(urlsplit(url).hostname or ""):
        raise ValueError(f"must begin with https://, such as {example}; http is for this machine alone")
    return url


class Issuer(Part):
    """Another authorization server (Keycloak, Auth0, Entra) whose JSON Web Tokens are accepted at /mcp."""

    url: str = pydantic.Field(
        description="Its issuer, as `iss` names it.", examples=["https://id.example.com/realms/a"]
    )
    jwks_url: Annotated[str, pydantic.AfterValidator(partial(_safe_url, example=_KEY_SET))] = pydantic.Field(
        description="Where its public keys are: `jwks_uri` of its metadata.", examples=[_KEY_SET]
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


LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")
"""Names by which a browser on this machine addresses a server on loopback."""


def _is_host(value: str) -> str:
    if not value.isascii() or not value.isprintable() or any(sign in value for sign in " /@?#"):
        raise ValueError("must be a host's name or address, such as memory.example.com, without scheme and path")
    return value.lower()


def _is_origin(value: str) -> str:
    scheme, sign, host = value.partition("://")
    if scheme not in {"http", "https"} or not sign or not host or "/" in host or "*" in host:
        raise ValueError("must be an origin, such as https://app.example.com: scheme and host, no path, no '*'")
    return value.lower()


_Host = Annotated[str, pydantic.Field(min_length=1, max_length=255), pydantic.AfterValidator(_is_host)]
_Origin = Annotated[str, pydantic.Field(min_length=1, max_length=300), pydantic.AfterValidator(_is_origin)]


class UpstreamServer(Part):
    """The server that answers chat completions, when this one adds memory to them at ``/v1/chat/completions``."""

    base_url: Annotated[str, plain_url("http://127.0.0.1:11434/v1")] = pydantic.Field(
        description="Where it is, up to and with /v1.",
        examples=["http://127.0.0.1:11434/v1", "https://api.openai.com/v1"],
    )
    api_key_env: Annotated[str | None, variable_name("OPENAI_API_KEY")] = pydantic.Field(
        default=None,
        description="The name of the environment variable that holds its key; never the key itself.",
        examples=["OPENAI_API_KEY"],
        json_schema_extra={"pattern": VARIABLE},
    )
    timeout: float = pydantic.Field(default=300.0, gt=0, le=3600, description="Seconds that an answer may take.")
    token_budget: int = pydantic.Field(
        default=1_500, ge=300, le=100_000, description="Tokens of memory that are added to a request at most."
    )


class Serving(Part):
    """How ``phronesis serve`` serves. Without keys it is reached from this machine alone, whatever stands here."""

    host: _Host = pydantic.Field(default="127.0.0.1", description="The address it listens at.")
    port: int = pydantic.Field(
        default=8765, ge=0, le=65535, description="The port it listens at; 0: one that is free, which it prints."
    )
    keys_required: bool = pydantic.Field(
        default=False,
        description="Whether everybody needs an API key, even while there is none; true wherever others reach it.",
    )
    key_seconds: float = pydantic.Field(
        default=1.0,
        ge=0,
        le=60,
        description="How long a key that was taken is taken again unasked: so long may one that was revoked still be.",
    )
    allowed_hosts: tuple[_Host, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Names that the server answers to (the Host header). None: those of this machine where it is bound"
        " to loopback, else any. A name that is not this machine's own means that others reach it, through a proxy.",
    )
    cors_origins: tuple[_Origin, ...] = pydantic.Field(
        default=(),
        strict=False,
        max_length=64,
        description="Origins whose pages may call the API from a browser, with a key; none: no page of another site.",
    )
    max_body: int = pydantic.Field(
        default=16_000_000, ge=1_000, le=200_000_000, description="Bytes that a request may carry."
    )
    max_members: int = pydantic.Field(
        default=200_000,
        ge=100,
        le=10_000_000,
        description="Members that the objects and lists of a JSON body may have together.",
    )
    max_depth: int = pydantic.Field(
        default=MAX_DEPTH + 8,
        ge=8,
        le=200,
        description=f"Levels that a JSON body may be nested; each value in it may have {MAX_DEPTH}.",
    )
    requests_per_minute: int | None = pydantic.Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Calls of one key, or of one address without a key, at any face; none: any.",
    )
    burst: int = pydantic.Field(
        default=60, ge=1, le=100_000, description="Calls that may come at once before the rate counts."
    )
    shutdown_seconds: int = pydantic.Field(
        default=20, ge=1, le=600, description="How long requests that run may take when the server is asked to stop."
    )
    docs: bool = pydantic.Field(default=True, description="Whether /docs and /openapi.json are served.")
    access_log: bool = pydantic.Field(
        default=True, description="Whether each request is a line of JSON on stderr, without any words of it."
    )

    mcp_tools: tuple[Annotated[str, pydantic.Field(min_length=1, max_length=64)], ...] = pydantic.Field(
        default=("default",),
        strict=False,
        max_length=64,
        description="Which tools models are offered at /mcp: default (the eight that a model needs), all, or names.",
    )

    oauth: OAuth | None = pydantic.Field(
        default=None, title="OAuth", description="Let remote MCP clients connect by OAuth 2.1; none: keys alone."
    )
    upstream: UpstreamServer | None = pydantic.Field(
        default=None, title="Upstream", description="Answer chat completions with memory, by this server of models."
    )

    @property
    def on_loopback(self) -> bool:
        """Return whether it listens on loopback only; others may still reach it through a proxy."""
        return is_loopback(self.host)

    @property
    def reached_by_others(self) -> bool:
        """Return whether other machines may reach it: it listens to others, or has a name that others use."""
        return not self.on_loopback or any(not is_loopback(name) for name in self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the policy gives to the server."""
        return self.allowed_hosts if self.oauth is None else (*self.allowed_hosts, self.oauth.host)

    @property
    def answers_to(self) -> tuple[str, ...]:
        """The hosts that a request may name, without port; empty: any."""
        if self.allowed_hosts:
            return self.names
        return (*LOOPBACK_NAMES, self.host, *self.names) if self.on_loopback else ()

    def overridden(self, options: dict[str, Any]) -> "Serving":
        """Return a copy with a command's options applied; None means that an option was not given."""
        given = {name: value for name, value in options.items() if value is not None}
        try:
            return Serving.model_validate({**self.model_dump(), **given})
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            field = str(first["loc"][0])
            raise InputError(f"{field}: {first['msg'].removeprefix('Value error, ')}", field=field) from error
