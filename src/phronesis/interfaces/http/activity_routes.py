"""Routes of activity: contexts composed, requests answered and their latencies, and what was not learned."""

from typing import Annotated, Any, Final, Literal

import pydantic
from fastapi import APIRouter, Query, Request, Response

from phronesis.core.api_keys import Role
from phronesis.core.context import ContextDetail, ContextRecord, RequestRecord, RouteLatency, UnlearnedText
from phronesis.core.reports import Page
from phronesis.interfaces.authentication import Caller
from phronesis.interfaces.http import PREFIX
from phronesis.interfaces.http.bodies import Form, Time
from phronesis.interfaces.http.dependencies import Administering, Reading
from phronesis.interfaces.http.openapi import answer, gives, page_response
from phronesis.interfaces.http.queries import ReadScope

_NEXT: Final = {"Link": "The next page."}


class Span(Form):
    """A span of time: from ``since``, before ``until``."""

    since: Time | None = None
    until: Time | None = None


class LogPage(Span):
    """A page of a log."""

    limit: Annotated[int, pydantic.Field(ge=1, le=1_000)] = 50
    cursor: str | None = pydantic.Field(default=None, description="next_cursor of the page before.")


class ScopedPage(LogPage, ReadScope):
    """A page of a log of whose memory; ``across=tenant`` is everybody's, and needs an admin's key."""

    across: Literal["tenant"] | None = None

    def of(self, caller: Caller) -> dict[str, Any]:
        """Return the given fields as arguments; Forbidden when the caller may not see across the tenant."""
        if self.across is not None:
            caller.needs(Role.ADMIN)
        return self.given()


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
    return page_response(request, caller.memory.admin.requests(**wanted.given()))


@activity_router.get("/requests/latencies", responses=gives(list[RouteLatency]))
def list_latencies(caller: Administering, wanted: Annotated[LatenciesQuery, Query()]) -> Response:
    """Return the median and 95th percentile of the times of requests by route; an admin's key."""
    return answer(caller.memory.admin.latencies(**wanted.given()))


@activity_router.get("/unlearned", responses=gives(Page[UnlearnedText], headers=_NEXT))
def list_unlearned_texts(request: Request, caller: Reading, wanted: Annotated[UnlearnedQuery, Query()]) -> Response:
    """List the texts from which nothing was learned, with the rule and the reason."""
    return page_response(request, caller.memory.admin.unlearned(**wanted.of(caller)))
