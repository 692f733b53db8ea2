"""Mount the web pages and their static files in a server."""

from typing import Any

from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles

from phronesis.interfaces.authentication import Authenticator
from phronesis.interfaces.web.pages import (
    conversations,
    entities,
    experience,
    login,
    memories,
    people,
    resources,
    runs,
    status,
)
from phronesis.interfaces.web.routing import error_page
from phronesis.interfaces.web.session import VisitorFactory


def mount(app: FastAPI, admission: Authenticator) -> None:
    """Add the pages and their static files to a server."""
    app.state.reception = VisitorFactory(admission)
    app.state.problem_page = error_page
    app.mount("/static", VersionedStaticFiles(packages=[("phronesis.interfaces.web", "static")]), name="static")
    pages = (login, status, memories, conversations, people, entities, experience, runs, resources)
    for page in pages:
        app.include_router(page.router, include_in_schema=False)


class VersionedStaticFiles(StaticFiles):
    """Static files, cacheable by browsers since their addresses carry the version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return a file, cacheable for a day."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=86400"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
