"""Mount the web pages and their static files in a server."""

from typing import Any

from fastapi import FastAPI, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from phronesis.engine.plugin import merge_parts
from phronesis.interfaces.authentication import Authenticator
from phronesis.interfaces.web.pages import (
    activity,
    conversations,
    engines,
    entities,
    experience,
    item_edits,
    item_export,
    keys,
    login,
    memories,
    new_memory,
    people,
    quarantine,
    resources,
    runs,
    sessions,
    status,
    suggestions,
)
from phronesis.interfaces.web.routing import error_page
from phronesis.interfaces.web.session import VisitorFactory
from phronesis.wiring import find_engines


def mount(app: FastAPI, admission: Authenticator) -> None:
    """Add the pages and their static files to a server; PluginBroken if an engine brings a page that is there."""
    app.state.reception = VisitorFactory(admission)
    app.state.problem_page = error_page
    app.mount("/static", VersionedStaticFiles(packages=[("phronesis.interfaces.web", "static")]), name="static")
    lists = (new_memory, item_export, item_edits, memories, quarantine, suggestions)
    own = (login, status, keys, *lists)
    pages = (*own, sessions, conversations, people, entities, experience, runs, resources, activity)
    for page in pages:
        app.include_router(page.router, include_in_schema=False)
    paths = {route.path: None for page in pages for route in page.router.routes if isinstance(route, APIRoute)}
    found = find_engines()
    merge_parts([("phronesis", paths), *((one.name, {page.path: None for page in one.pages}) for one in found)])
    app.include_router(engines.make_engine_router(found.pages), include_in_schema=False)


class VersionedStaticFiles(StaticFiles):
    """Static files, cacheable by browsers since their addresses carry the version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return a file, cacheable for a day."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=86400"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
