"""Middleware before every route: limits of bodies, host and origin checks, errors as problems, and observability."""

import json
import logging
import re
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import accumulate
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from opentelemetry import propagate, trace
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from phronesis.config.server import Serving
from phronesis.core.timestamps import to_micros
from phronesis.errors import AccessRefused, PhronesisError, TooLarge
from phronesis.interfaces.authentication import Caller
from phronesis.interfaces.http import PREFIX, UPLOAD, problems
from phronesis.interfaces.http.dependencies import segment_path
from phronesis.memory import Memory
from phronesis.store.activity_log import RequestRow, user_number
from phronesis.uuid7 import new_id

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the latency histogram in seconds: a search takes milliseconds, a learn seconds."""


class Metrics:
    """Request counters of one server. Labels are declared routes, never paths, which may contain a user."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "phronesis_http_requests", "Requests answered.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "phronesis_http_request_seconds", "How long they took.", labels, buckets=BOUNDS, registry=self._registry
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self, pending: int, items: Mapping[str, int]) -> bytes:
        """Return all metrics as text, with the entries that wait and the items by kind of one tenant."""
        of_tenant = CollectorRegistry()
        waiting = Gauge("phronesis_pending_entries", "Entries that wait for their interpretation.", registry=of_tenant)
        waiting.set(pending)
        kinds = Gauge("phronesis_items", "Items by kind.", ("kind",), registry=of_tenant)
        for kind, count in items.items():
            kinds.labels(kind).set(count)
        return generate_latest(self._registry) + generate_latest(of_tenant)


# Per request: counts, a line of the access log, and a span where the host configured OpenTelemetry.

MCP: Final = "/mcp"
"""Path of the MCP endpoint. Its tools record their own calls; here only what it refused is recorded."""

MAX_READ: Final = 1 << 20
"""Maximum bytes of a body that is read for the user it names, after the response was sent."""

logger = logging.getLogger("phronesis.access")


@dataclass(slots=True)
class Watch:
    """Records each request after its response; ``memory`` is the server's own, for requests without a valid key."""

    metrics: Metrics = field(default_factory=Metrics)
    log: bool = True
    tracer: trace.Tracer = field(default_factory=lambda: trace.get_tracer("phronesis"))
    memory: Memory | None = None

    def span(self, scope: Scope, headers: Headers) -> AbstractContextManager[trace.Span]:
        """Return a span, a child of the caller's if the headers name one; without OpenTelemetry it is a no-op."""
        return self.tracer.start_as_current_span(
            scope["method"], propagate.extract(dict(headers)), kind=trace.SpanKind.SERVER, record_exception=False
        )

    def record_result(self, scope: Scope, span: trace.Span, status: int, seconds: float) -> None:
        """Record the result of a request; status 0 means that nothing was sent."""
        declared, method, state = scope.get("route"), scope["method"], scope.get("state", {})
        route: str = getattr(declared, "path_format", None) or getattr(declared, "path", None) or "unknown"
        self.metrics.count(method, route, status, seconds)
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
        caller: Caller | None = state.get("caller")
        key_id = None if caller is None or caller.key is None else caller.key.id
        failed = not HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST
        memory = self.memory if caller is None else caller.memory
        if memory is not None and (scope["path"].startswith(f"{PREFIX}/") or (failed and scope["path"] == MCP)):
            user = user_of(scope) or (None if caller is None else caller.user_id)
            with suppress(PhronesisError):  # the memory was closed: the server stops
                row = RequestRow(
                    request_id=new_id(),
                    at=to_micros(memory.admin.components.clock()),
                    interface="http",
                    route=f"{method} {route}",
                    status=str(status),
                    failed=failed,
                    milliseconds=round(seconds * 1000, 1),
                    key_id=key_id,
                    owner=None if user is None else user_number(user),
                )
                memory.admin.components.activity.note_request(memory.admin.tenant, row)
        if self.log:
            line = {
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 2),
                "request_id": state.get("request_id"),
                "tenant": None if caller is None else caller.memory.admin.tenant,
                "key": key_id,
            }
            logger.info(json.dumps(line))


def user_of(scope: Scope) -> str | None:
    """Return the user that a request names, in its path, its query or its JSON body."""
    named: Any = scope.get("path_params", {}).get("user_id")
    if named is None:
        named = QueryParams(scope.get("query_string", b"")).get("user_id")
    body = scope.get("state", {}).get("body", b"")
    if named is None and body and len(body) <= MAX_READ:
        with suppress(ValueError):  # the parser refused it too
            given = orjson.loads(body)
            named = given.get("user_id") if isinstance(given, dict) else None
    return named if isinstance(named, str) and named else None


# Size and depth of a JSON body, measured on its bytes before parsing.

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"
_OTHERS: Final = bytes(sorted(set(range(256)) - set(_OPENING + _CLOSING)))
_STEP: Final = tuple((code in _OPENING) - (code in _CLOSING) for code in range(256))
_QUOTES_OF_MEMBER: Final = 4
"""Quotation marks of one member: at most two strings, its name and its value."""


def check_extent(body: bytes, serving: Serving) -> None:
    """Refuse a body with too many members, or nested too deeply. TooLarge names the setting.

    Members of all objects and lists count together. The time is linear in the bytes. Invalid JSON passes; the parser
    refuses it.
    """
    if _members(body) <= serving.max_members and _deepest(body, serving.max_depth) <= serving.max_depth:
        return
    # The number of strings is bounded by the quotation marks that no backslash precedes.
    is_long = body.count(b'"') - body.count(b'\\"') > _QUOTES_OF_MEMBER * serving.max_members
    structure = b"" if is_long else _STRING.sub(b"", body)
    if is_long or _members(structure) > serving.max_members:
        raise TooLarge(
            f"the body has more than {serving.max_members:,} members (server.max_members); send it in several parts, or"
            " keep data in a file and refer to it",
            field="body",
        )
    if _deepest(structure, serving.max_depth) > serving.max_depth:
        raise TooLarge(
            f"the body is nested more than {serving.max_depth} levels deep (server.max_depth); flatten it", field="body"
        )


def _members(structure: bytes) -> int:
    """Return an upper bound of the members: one more than the commas in each object or list."""
    return structure.count(b",") + structure.count(b"[") + structure.count(b"{")


def _deepest(structure: bytes, enough: int) -> int:
    """Return the nesting depth of brackets; at most ``enough`` where too few open, or more close than open."""
    opened = structure.count(b"[") + structure.count(b"{")
    if opened <= enough or structure.count(b"]") + structure.count(b"}") > opened:
        return min(opened, enough)
    return max(accumulate(map(_STEP.__getitem__, structure.translate(None, _OTHERS))))


REQUEST_ID: Final = "X-Request-ID"
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""Accepted form of a caller's request id; others are ignored, since the id goes to logs and a header."""

_AT_ONCE: Final = 100_000
"""Maximum bytes of a body that is checked without a thread: about a millisecond."""

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_FROM_ANYWHERE: Final = frozenset({"/register", "/token", "/revoke"})
"""Endpoints of OAuth, which pages of other sites may call: they use no cookies."""


@dataclass(frozen=True, slots=True)
class Gate:
    """ASGI middleware. It turns any exception into a problem response, unless the response has started."""

    app: ASGIApp
    serving: Serving
    watch: Watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, started, status = Headers(scope=scope), time.perf_counter(), 0
        scope["path"] = segment_path(scope)
        given_id = headers.get(REQUEST_ID, "")
        request_id = given_id if _GIVEN_ID.fullmatch(given_id) else new_id()
        scope.setdefault("state", {})["request_id"] = request_id

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sent = MutableHeaders(scope=message)
                sent[REQUEST_ID] = request_id
                sent["X-Content-Type-Options"] = "nosniff"
                sent.setdefault("Cache-Control", "no-store")
            await send(message)

        with self.watch.span(scope, headers) as span:
            request = Request(scope, receive)
            try:
                self._check(scope, headers)
                kind = headers.get("content-type", "").partition(";")[0].strip().lower()
                wanted = _wanted_media_type(scope, headers)
                if wanted not in {None, kind}:
                    said, status_code = f"give the body as {wanted}", HTTPStatus.UNSUPPORTED_MEDIA_TYPE
                    response = problems.problem(request, status_code, "http.media_type", said, field="Content-Type")
                    await response(scope, receive, sending)
                    return
                bounded = _limit_body(receive, self.serving.max_body)
                if kind == "application/json" or kind.endswith("+json"):
                    bounded = await _check_body(bounded, scope, self.serving)
                await self.app(scope, bounded, sending)
            except HTTPException as error:  # the body grew too large
                await problems.framework_response(request, error)(scope, receive, sending)
            except PhronesisError as error:
                await problems.error_response(request, error)(scope, receive, sending)
            except Exception as error:
                if status:
                    raise
                await problems.unexpected_response(request, error)(scope, receive, sending)
            finally:
                self.watch.record_result(scope, span, status, time.perf_counter() - started)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Refuse a foreign host name (DNS rebinding), cross-site writes, and a body that is too large."""
        hosts = self.serving.answers_to
        if hosts and _name(headers.get("host", "")) not in hosts:
            raise AccessRefused(
                "this server does not go by the name in the header Host; name it in server.allowed_hosts, or"
                " phronesis serve --allow-host",
                field="Host",
            )
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > self.serving.max_body:
            raise TooLarge(
                f"the body has {int(length):,} bytes; this server takes {self.serving.max_body:,}", field="body"
            )
        oauth = self.serving.oauth is not None and scope["path"] in _FROM_ANYWHERE
        if scope["method"] in _SAFE or "authorization" in headers or oauth:
            return  # a safe method, or a key was sent, which browsers never add
        origin = headers.get("origin")
        if origin is None:
            is_foreign = headers.get("sec-fetch-site") in {"cross-site", "same-site"}
        else:
            own = origin.partition("://")[2].lower() == headers.get("host", "").lower()
            is_foreign = not own and origin.lower() not in self.serving.cors_origins
        if is_foreign:
            raise AccessRefused("a page of another site may not send this; call the server itself", field="Origin")


def _limit_body(receive: Receive, most: int) -> Receive:
    """Return a ``receive`` that refuses a body without a declared length once it grows too large."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413)  # the framework lets this exception through; others read as a malformed body
        return message

    return bounded


async def _check_body(receive: Receive, scope: Scope, serving: Serving) -> Receive:
    """Return a ``receive`` with the same body, refused if it holds more than the server takes.

    The body is kept in the scope's state too, for the log of requests.
    """
    pieces: list[bytes] = []
    while (message := await receive())["type"] == "http.request":
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            break
    body = b"".join(pieces)
    await run_in_threadpool(check_extent, body, serving) if len(body) > _AT_ONCE else check_extent(body, serving)
    scope["state"]["body"] = body
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    if message["type"] != "http.request":
        waiting = [message]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _wanted_media_type(scope: Scope, headers: Headers) -> str | None:
    """Return the type that the body of an API request must have: cross-site pages can send some others; None: any."""
    if scope["method"] in _SAFE or not scope["path"].startswith(PREFIX):
        return None
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    return "multipart/form-data" if scope["path"] == UPLOAD else "application/json"


def _name(host: str) -> str:
    """Return the name in a Host header without its port, and an IPv6 address without brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
