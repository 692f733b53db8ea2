"""Observability: request metrics for Prometheus, an access log, and OpenTelemetry spans."""

import json
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from opentelemetry import propagate, trace
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers
from starlette.types import Scope

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

logger = logging.getLogger("phronesis.access")


@dataclass(slots=True)
class Watch:
    """Records each request after its response."""

    metrics: Metrics = field(default_factory=Metrics)
    log: bool = True
    tracer: trace.Tracer = field(default_factory=lambda: trace.get_tracer("phronesis"))

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
        if self.log:
            state = scope.get("state", {})
            caller = state.get("caller")
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


def route_of(scope: Scope) -> str:
    """Return the declared route of a request: ``/api/v1/memories/{id}``."""
    route = scope.get("route")
    path: str = getattr(route, "path_format", None) or getattr(route, "path", None) or UNKNOWN
    return path
