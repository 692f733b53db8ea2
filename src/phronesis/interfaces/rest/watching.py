"""What is seen of requests: counts, a line of the access log, and a span where the host configured OpenTelemetry.

None of them holds a word of a request: a path may name a user and a query may say anything, so the route as it is
declared stands for both.
"""

import json
import logging
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from opentelemetry import propagate, trace
from starlette.datastructures import Headers
from starlette.types import Scope

from phronesis.interfaces.rest.metrics import Metrics

UNKNOWN = "unknown"
"""The route of a request that met none."""

logger = logging.getLogger("phronesis.access")


@dataclass(slots=True)
class Watch:
    """Notes each request once it was answered."""

    metrics: Metrics = field(default_factory=Metrics)
    log: bool = True
    tracer: trace.Tracer = field(default_factory=lambda: trace.get_tracer("phronesis"))

    def span(self, scope: Scope, headers: Headers) -> AbstractContextManager[trace.Span]:
        """Give a span of a request, below the caller's own where its headers name one; without OpenTelemetry, none."""
        return self.tracer.start_as_current_span(
            scope["method"], propagate.extract(dict(headers)), kind=trace.SpanKind.SERVER, record_exception=False
        )

    def seen(self, scope: Scope, span: trace.Span, status: int, seconds: float) -> None:
        """Note what became of a request; status 0: nothing was sent."""
        route, method = route_of(scope), scope["method"]
        self.metrics.count(method, route, status, seconds)
        span.update_name(f"{method} {route}")
        span.set_attributes({"http.request.method": method, "http.route": route, "http.response.status_code": status})
        if self.log:
            state = scope.get("state", {})
            caller = state.get("caller")
            line = {
                "method": method, "route": route, "status": status, "ms": round(seconds * 1000, 2),
                "request_id": state.get("request_id"),
                "tenant": None if caller is None else caller.memory.tenant,
                "key": None if caller is None or caller.key is None else caller.key.id,
            }  # fmt: skip
            logger.info(json.dumps(line))


def route_of(scope: Scope) -> str:
    """Give the route that a request met, as it is declared: ``/api/v1/memories/{id}``."""
    route = scope.get("route")
    path: str = getattr(route, "path_format", None) or getattr(route, "path", None) or UNKNOWN
    return path
