"""Routes of administration: health checks, metrics, jobs, quarantine, export, and the log of activity."""

import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final, Literal

import pydantic
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST

from phronesis import __version__
from phronesis.core.context import ContextDetail, ContextRecord, RequestRecord, RouteLatency, UnlearnedText
from phronesis.core.items import Item
from phronesis.core.reports import Jobs, Overview, Page, UserInfo
from phronesis.core.results import EditResult
from phronesis.interfaces.http import PREFIX, bodies, queries
from phronesis.interfaces.http.dependencies import Administering, Reading, Written
from phronesis.interfaces.http.middleware import Metrics
from phronesis.interfaces.http.openapi import OPEN, answer, gives, page_response, problems
from phronesis.memory import Memory
from phronesis.store.items import count_by_kind
from phronesis.store.lanes import list_behind

# Liveness, readiness and metrics.

health_router = APIRouter(tags=["health"])


@health_router.get("/healthz", openapi_extra=OPEN, responses=problems(403))
async def check_liveness() -> Response:
    """Tell that the process answers; it asks nothing else."""
    return answer({"status": "ok", "version": __version__})


@health_router.get("/readyz", openapi_extra=OPEN, responses=problems(403, 500, 503))
def check_readiness(request: Request) -> Response:
    """Tell that the database answers, and how many entries wait for their interpretation."""
    memory: Memory = request.app.state.admission.memory
    return answer({"status": "ready", "pending": _count_pending(memory)})


@health_router.get(
    "/metrics",
    responses={
        200: {"description": "In the text form that Prometheus reads.", "content": {"text/plain": {}}},
        **problems(401, 403, 429, 500, 503),
    },
)
def get_metrics(request: Request, caller: Reading) -> Response:
    """Return counts of requests, their latencies, and what the key's tenant holds."""
    caller.require_tenant_key("metrics")
    counted: Metrics = request.app.state.metrics
    with caller.memory.admin.components.database.transaction(caller.memory.admin.tenant, "read") as unit:
        kinds = count_by_kind(unit)
    return Response(counted.text(_count_pending(caller.memory), kinds), HTTPStatus.OK, media_type=CONTENT_TYPE_LATEST)


def _count_pending(memory: Memory) -> int:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        return sum(lane.head_seq - lane.applied_seq for lane in list_behind(unit))


upkeep_router = APIRouter(prefix=PREFIX, tags=["upkeep"])

NDJSON: Final = "application/x-ndjson"
_CHUNK: Final = 1 << 16


@upkeep_router.get("/jobs", responses=gives(Jobs))
def list_jobs(caller: Reading, limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> Response:
    """List what failed, waits, or is due."""
    return answer(caller.memory.admin.jobs(limit=limit))


@upkeep_router.post("/jobs/{entry_id}/retry", responses=gives(EditResult, 404, 409))
def retry_entry(caller: Administering, entry_id: str, how: Written) -> Response:
    """Retry an entry that failed; an admin's key."""
    return answer(caller.memory.admin.retry(entry_id, **how.by(caller)))


@upkeep_router.get("/overview", responses=gives(Overview))
def get_overview(caller: Reading, wanted: Annotated[queries.OverviewQuery, Query()]) -> Response:
    """Return counts, what was learned lately, contradictions, and what waits for a person."""
    return answer(caller.memory.admin.overview(**wanted.of(caller)))


@upkeep_router.get("/users", responses=gives(list[UserInfo]))
def list_users(caller: Administering) -> Response:
    """List the users of the tenant, most recently active first; an admin's key."""
    return answer(caller.memory.admin.users())


@upkeep_router.get("/quarantine", responses=gives(list[Item]))
def list_quarantine(caller: Reading, wanted: Annotated[queries.QuarantineQuery, Query()]) -> Response:
    """List what reads like an order to a model."""
    return answer(caller.memory.quarantine.list(**wanted.of(caller)))


@upkeep_router.post("/quarantine", responses=gives(EditResult, 404, 409, 415))
def decide_quarantine(caller: Administering, body: bodies.Verdict, how: Written) -> Response:
    """Let an item in quarantine go, or end it; an admin's key."""
    verb = caller.memory.quarantine.release if body.action == "release" else caller.memory.quarantine.reject
    return answer(verb(body.id, reason=body.reason, user_id=body.user_id, **how.by(caller)))


@upkeep_router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The log, a JSON object a line.", "content": {NDJSON: {"schema": {"type": "string"}}}}
    },
)
def export_log(caller: Administering) -> Response:
    """Return the whole log as lines of JSON, from which ``import`` makes the same store; an admin's key."""
    # The export is completed before the first byte is sent, so a failure is a problem response, not a truncated file.
    folder = tempfile.TemporaryDirectory(prefix="phronesis-export-")
    try:
        path = Path(folder.name) / "export.jsonl"
        caller.memory.export(path)
    except BaseException:
        folder.cleanup()
        raise
    return StreamingResponse(_read(path, folder), media_type=NDJSON)


def _read(path: Path, folder: "tempfile.TemporaryDirectory[str]") -> Iterator[bytes]:
    with folder, path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


_NEXT: Final = {"Link": "The next page."}


class Span(bodies.Form):
    """A span of time: from ``since``, before ``until``."""

    since: bodies.Time | None = None
    until: bodies.Time | None = None


class LogPage(Span):
    """A page of a log."""

    limit: Annotated[int, pydantic.Field(ge=1, le=1_000)] = 50
    cursor: str | None = pydantic.Field(default=None, description="next_cursor of the page before.")


class ScopedPage(LogPage, queries.ReadScope):
    """A page of a log of whose memory; ``across=tenant`` is everybody's, and needs an admin's key."""

    across: Literal["tenant"] | None = None


class ContextsQuery(ScopedPage):
    """Which contexts."""

    session_id: str | None = None
    agent_id: str | None = None
    item_id: str | None = pydantic.Field(default=None, description="Only those that showed this item.")
    verb: str | None = None


class UnlearnedQuery(ScopedPage):
    """Which texts."""

    rule: str | None = None
    role: str | None = None


class LatenciesQuery(Span):
    """Which requests."""

    user_id: str | None = None
    interface: Literal["http", "mcp"] | None = None


class RequestsQuery(LogPage, LatenciesQuery):
    """Which requests, and which page of them."""

    route: str | None = None
    failed: bool | None = None


activity_router = APIRouter(prefix=PREFIX, tags=["activity"])


@activity_router.get("/contexts", responses=gives(Page[ContextRecord], headers=_NEXT))
def list_contexts(request: Request, caller: Reading, wanted: Annotated[ContextsQuery, Query()]) -> Response:
    """List the contexts that agents were shown, newest first: tokens, latency and ids."""
    return page_response(request, caller.memory.admin.contexts(**wanted.of(caller)))


@activity_router.get("/contexts/{context_id}", responses=gives(ContextDetail, 404))
def get_context(caller: Reading, context_id: str) -> Response:
    """Return a context with the items that it showed, as they are now."""
    return answer(caller.memory.admin.context(context_id))


@activity_router.get("/requests", responses=gives(Page[RequestRecord], headers=_NEXT))
def list_requests(request: Request, caller: Administering, wanted: Annotated[RequestsQuery, Query()]) -> Response:
    """List the requests that the server answered, newest first; an admin's key."""
    return page_response(request, caller.memory.admin.requests(**wanted.arguments()))


@activity_router.get("/requests/latencies", responses=gives(list[RouteLatency]))
def list_latencies(caller: Administering, wanted: Annotated[LatenciesQuery, Query()]) -> Response:
    """Return the median and 95th percentile of the times of requests by route; an admin's key."""
    return answer(caller.memory.admin.latencies(**wanted.arguments()))


@activity_router.get("/unlearned", responses=gives(Page[UnlearnedText], headers=_NEXT))
def list_unlearned_texts(request: Request, caller: Reading, wanted: Annotated[UnlearnedQuery, Query()]) -> Response:
    """List the texts from which nothing was learned, with the rule and the reason."""
    return page_response(request, caller.memory.admin.unlearned(**wanted.of(caller)))
