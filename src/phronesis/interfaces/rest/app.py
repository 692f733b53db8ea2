"""The application: the routes, what they pass, and what becomes of errors."""

from fastapi import FastAPI

from phronesis import __version__
from phronesis.config.serving import Serving
from phronesis.interfaces.admission import Admission
from phronesis.interfaces.rest import health, memories
from phronesis.interfaces.rest.gate import Gate
from phronesis.interfaces.rest.problems import answer_problems
from phronesis.memory import Memory

PREFIX = "/api/v1"


def make_app(memory: Memory, serving: Serving) -> FastAPI:
    """Give the HTTP API over a Memory. ``app.state.admission`` lets callers in; other faces share it."""
    app = FastAPI(
        title="Phronesis", version=__version__, telemetry={"tracing": False, "metrics": False, "logs": False},
        docs_url=None, redoc_url=None, openapi_url="/openapi.json" if serving.docs else None,
    )  # fmt: skip
    app.state.admission = Admission(memory, keys_required=serving.keys_required)
    app.state.serving = serving
    app.add_middleware(Gate, serving=serving)
    answer_problems(app)
    app.include_router(health.router)
    for routes in (memories.router,):
        app.include_router(routes, prefix=PREFIX)
    return app
