"""Observability: request metrics for Prometheus, an access log, the log of requests, and OpenTelemetry spans."""

import json
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import orjson
from opentelemetry import propagate, trace
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, QueryParams
from starlette.types import Scope

from phronesis.core.timestamps import to_micros
from phronesis.errors import PhronesisError
from phronesis.interfaces.http import PREFIX
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
        Gauge("phronesis_pending_entries", "Entries that wait for their interpretation.", registry=of_tenant).set(
            pending
        )
        kinds = Gauge("phronesis_items", "Items by kind.", ("kind",), registry=of_tenant)
        for kind, count in items.items():
            kinds.labels(kind).set(count)
        return generate_latest(self._registry) + generate_latest(of_tenant)


# Per request: counts, a line of the access log, and a span where the host configured OpenTelemetry.

UNKNOWN = "unknown"
"""Route label of a request that matched none."""

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
        """Return a span for a request, a child of the caller's if its headers name one.

        Without OpenTelemetry it is a no-op.
        """
        return self.tracer.start_as_current_span(
            scope["method"], propagate.extract(dict(headers)), kind=trace.SpanKind.SERVER, record_exception=False
        )

    def seen(self, scope: Scope, span: trace.Span, status: int, seconds: float) -> None:
        """Record the result of a request; status 0 means that nothing was sent."""
        route, method = route_of(scope), scope["method"]
        self.metrics.count(method, route, status, seconds)
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
        state = scope.get("state", {})
        caller = state.get("caller")
        failed = not HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST
        if scope["path"].startswith(f"{PREFIX}/") or (failed and scope["path"] == MCP):
            self._record(scope, f"{method} {route}", status, seconds)
        if self.log:
            line = {
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 2),
                "request_id": state.get("request_id"),
                "tenant": None if caller is None else caller.memory.admin.tenant,
                "key": None if caller is None or caller.key is None else caller.key.id,
            }
            logger.info(json.dumps(line))

    def _record(self, scope: Scope, route: str, status: int, seconds: float) -> None:
        """Queue a row of the request log (``store/activity_log``)."""
        caller = scope.get("state", {}).get("caller")
        memory = self.memory if caller is None else caller.memory
        if memory is None:
            return
        user = user_of(scope) or (None if caller is None else caller.user_id)
        with suppress(PhronesisError):  # the memory was closed: the server stops
            row = RequestRow(
                request_id=new_id(),
                at=to_micros(memory.admin.components.clock()),
                interface="http",
                route=route,
                status=str(status),
                failed=not HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST,
                milliseconds=round(seconds * 1000, 1),
                key_id=None if caller is None or caller.key is None else caller.key.id,
                owner=None if user is None else user_number(user),
            )
            memory.admin.components.activity.note_request(memory.admin.tenant, row)


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


def route_of(scope: Scope) -> str:
    """Return the declared route of a request: ``/api/v1/memories/{id}``."""
    route = scope.get("route")
    path: str = getattr(route, "path_format", None) or getattr(route, "path", None) or UNKNOWN
    return path
