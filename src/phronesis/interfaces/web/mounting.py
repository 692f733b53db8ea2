"""Mount the web pages, those of engines too, and their static files in a server."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Response
from fastapi.routing import APIRoute
from fastapi.staticfiles import StaticFiles

from phronesis.engine.plugin import Page, merge_parts
from phronesis.interfaces.authentication import Authenticator
from phronesis.interfaces.web.pages import (
    activity,
    conversations,
    entities,
    experience,
    item_edits,
    login,
    memories,
    people,
    resources,
    runs,
    sessions,
    status,
    traits,
)
from phronesis.interfaces.web.rendering import error_page, make_router, page
from phronesis.interfaces.web.session import Visiting, VisitorFactory
from phronesis.wiring import find_engines

ROUTERS = tuple(
    module.router
    for module in (
        *(login, status, item_edits, memories, sessions, conversations, people, traits),
        *(entities, experience, runs, resources, activity),
    )
)
"""Routers in the order in which a path is looked up: /memories/new before the page of an item."""


def mount(app: FastAPI, admission: Authenticator) -> None:
    """Add the pages and their static files to a server; PluginBroken if an engine brings a page that is there."""
    app.state.reception = VisitorFactory(admission)
    app.state.problem_page = error_page
    app.mount("/static", VersionedStaticFiles(packages=[("phronesis.interfaces.web", "static")]), name="static")
    paths = {route.path: None for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)}
    engines = find_engines()
    merge_parts([("phronesis", paths), *((one.name, {page.path: None for page in one.pages}) for one in engines)])
    of_engines = make_router()
    for one in engines.pages:
        of_engines.add_api_route(one.path, _engine_page(one))
    for router in (*ROUTERS, of_engines):
        app.include_router(router, include_in_schema=False)


def _engine_page(one: Page) -> Callable[..., Response]:
    def show(visitor: Visiting) -> Response:
        content = one.render(visitor.memory, visitor.looking.scope, dict(visitor.request.query_params))
        return page(visitor, "engine_page.html", title=one.title, content=content)

    return show


class VersionedStaticFiles(StaticFiles):
    """Static files, cacheable by browsers since their addresses carry the version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """Return a file, cacheable for a day."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "public, max-age=86400"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
