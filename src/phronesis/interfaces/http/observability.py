"""Observability: request metrics in the Prometheus text format 0.0.4, an access log, and OpenTelemetry spans."""

import json
import logging
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final

from opentelemetry import propagate, trace
from starlette.datastructures import Headers
from starlette.types import Scope

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the latency histogram in seconds: a search takes milliseconds, a learn seconds."""

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Metrics:
    """Request counters. Labels are declared routes, never paths, which may contain a user. Thread-safe."""

    _requests: dict[Labels, int] = field(default_factory=lambda: defaultdict(int))
    _buckets: dict[Labels, list[int]] = field(default_factory=dict)
    _seconds: dict[Labels, float] = field(default_factory=lambda: defaultdict(float))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        of_route = (("method", method), ("route", route))
        with self._lock:
            self._requests[*of_route, ("status", str(status))] += 1
            self._buckets.setdefault(of_route, [0] * (len(BOUNDS) + 1))[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[of_route] += seconds

    def text(self, gauges: Mapping[str, tuple[str, Mapping[Labels, int]]]) -> str:
        """Return all metrics as text, with ``gauges``: by name, a description and values by labels."""
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
            buckets = {labels: tuple(counts) for labels, counts in self._buckets.items()}
        lines = [
            "# HELP phronesis_http_requests_total Requests answered.",
            "# TYPE phronesis_http_requests_total counter",
        ]
        lines += [_line("phronesis_http_requests_total", labels, value) for labels, value in sorted(requests.items())]
        lines += [
            "# HELP phronesis_http_request_seconds How long they took.",
            "# TYPE phronesis_http_request_seconds histogram",
        ]
        for labels, counts in sorted(buckets.items()):
            lines += _histogram(labels, counts, seconds[labels])
        for name, (said, values) in gauges.items():
            lines += [f"# HELP {name} {said}", f"# TYPE {name} gauge"]
            lines += [_line(name, labels, value) for labels, value in sorted(values.items())]
        return "\n".join(lines) + "\n"


def _histogram(labels: Labels, counts: Iterable[int], seconds: float) -> list[str]:
    name, total, lines = "phronesis_http_request_seconds", 0, []
    for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
        total += count
        lines.append(_line(f"{name}_bucket", (*labels, ("le", str(bound))), total))
    return [*lines, _line(f"{name}_sum", labels, round(seconds, 6)), _line(f"{name}_count", labels, total)]


def _line(name: str, labels: Labels, value: float) -> str:
    said = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in labels)
    return f"{name}{{{said}}} {value}" if said else f"{name} {value}"


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
