"""The HTTP application: its routes, middleware and error handlers."""

from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from phronesis import __version__
from phronesis.config.server import Serving
from phronesis.interfaces.authentication import Authenticator, RateLimit
from phronesis.interfaces.http import admin_routes, engine_routes, memory_routes, openapi
from phronesis.interfaces.http.middleware import REQUEST_ID, Gate, Watch
from phronesis.interfaces.http.openapi import EVERYWHERE, INFORMATION, describe, operation_id, problems
from phronesis.interfaces.http.problems import answer_problems
from phronesis.memory import Memory

ROUTES: Final = (
    memory_routes.memory_router,
    memory_routes.conversation_router,
    memory_routes.entity_router,
    engine_routes.experience_router,
    memory_routes.user_router,
    engine_routes.run_router,
    engine_routes.resource_router,
    admin_routes.activity_router,
    admin_routes.upkeep_router,
)
"""Routers in the order of the OpenAPI document."""

_ABOUT: Final = """\
A memory for AI agents: what happened, what was learned from it, and the evidence for every line. Each route is a verb
of `Memory`; results are its records, errors are problems (RFC 9457) with its codes."""


def make_app(memory: Memory, serving: Serving) -> FastAPI:
    """Return the HTTP API over a Memory.

    ``app.state.admission`` authenticates callers; other interfaces mounted in the application share it.
    """
    app = FastAPI(
        title="Phronesis",
        version=__version__,
        description=_ABOUT,
        **INFORMATION,
        generate_unique_id_function=operation_id,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json" if serving.docs else None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # spans would hold queries, logs bodies
    )
    watch = Watch(log=serving.access_log, memory=memory)
    keys_required = serving.keys_required or serving.reached_by_others or serving.oauth is not None
    app.state.admission = Authenticator(
        memory,
        keys_required=keys_required,
        seconds=serving.key_seconds,
        limit=RateLimit(serving.requests_per_minute, serving.burst),
    )
    app.state.serving = serving
    app.state.metrics = watch.metrics
    if serving.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=serving.cors_origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", REQUEST_ID],
            expose_headers=["ETag", "Link", REQUEST_ID, "Retry-After"],
        )
    app.add_middleware(Gate, serving=serving, watch=watch)
    answer_problems(app)
    app.include_router(admin_routes.health_router)
    if serving.docs:
        app.include_router(openapi.docs_router)
    for routes in ROUTES:
        app.include_router(routes, responses=problems(*EVERYWHERE))
    if serving.upstream is not None:
        from phronesis.interfaces.http.chat_proxy import ChatProxy, chat_router  # noqa: PLC0415 - if it is configured

        proxy = ChatProxy(serving.upstream)
        app.include_router(chat_router(proxy), responses=problems(*EVERYWHERE))
        app.router.lifespan_context = proxy.lifespan(app.router.lifespan_context)
    describe(app, ROUTES)
    return app
