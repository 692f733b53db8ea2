"""The application: the routes, what they pass, and what becomes of errors."""

from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from phronesis import __version__
from phronesis.config.serving import Serving
from phronesis.interfaces.admission import Admission
from phronesis.interfaces.limiting import RateLimit
from phronesis.interfaces.rest import (
    conversations,
    documentation,
    experience,
    health,
    memories,
    resources,
    runs,
    upkeep,
    users,
)
from phronesis.interfaces.rest.documented import EVERYWHERE, describe, problems
from phronesis.interfaces.rest.gate import REQUEST_ID, Gate
from phronesis.interfaces.rest.problems import answer_problems
from phronesis.interfaces.rest.watching import Watch
from phronesis.memory import Memory

ROUTES: Final = (
    memories.router,
    conversations.router,
    experience.router,
    users.router,
    runs.router,
    resources.router,
    upkeep.router,
)
"""In the order of the document."""

_ABOUT: Final = """\
A memory for AI agents: what happened, what was learned from it, and the evidence for every line. Each route is a verb
of `Memory`; results are its records, errors are problems (RFC 9457) with its codes."""


def make_app(memory: Memory, serving: Serving) -> FastAPI:
    """Give the HTTP API over a Memory.

    ``app.state.admission`` lets callers in; other faces that are mounted in it share that.
    """
    app = FastAPI(
        title="Phronesis", version=__version__, description=_ABOUT, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json" if serving.docs else None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its spans hold queries, its logs bodies
    )  # fmt: skip
    watch = Watch(log=serving.access_log)
    keys_required = serving.keys_required or serving.reached_by_others
    app.state.admission = Admission(
        memory, keys_required=keys_required, seconds=serving.key_seconds,
        limit=RateLimit(serving.requests_per_minute, serving.burst),
    )  # fmt: skip
    app.state.serving = serving
    app.state.metrics = watch.metrics
    if serving.cors_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=serving.cors_origins, allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", REQUEST_ID],
            expose_headers=["ETag", "Link", REQUEST_ID, "Retry-After"],
        )  # fmt: skip
    app.add_middleware(Gate, serving=serving, watch=watch)
    answer_problems(app)
    app.include_router(health.router)
    if serving.docs:
        app.include_router(documentation.router)
    for routes in ROUTES:
        app.include_router(routes, responses=problems(*EVERYWHERE))
    describe(app, ROUTES)
    return app
