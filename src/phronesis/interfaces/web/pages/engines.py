"""Pages that engines bring."""

from collections.abc import Callable, Iterable

from fastapi import APIRouter, Response

from phronesis.engine.plugin import Page
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import Visiting


def make_engine_router(pages: Iterable[Page]) -> APIRouter:
    """Return a router of engines' pages."""
    router = make_router()
    for one in pages:
        router.add_api_route(one.path, _show(one))
    return router


def _show(one: Page) -> Callable[..., Response]:
    def show(visitor: Visiting) -> Response:
        content = one.render(visitor.memory, visitor.looking.scope, dict(visitor.request.query_params))
        return page(visitor, "engine_page.html", title=one.title, content=content)

    return show
