"""The routes of an application."""

from typing import Any

from fastapi.routing import APIRoute


def routes(found: Any) -> list[APIRoute]:
    """Give the routes of an application, those of routers within it too."""
    out: list[APIRoute] = []
    for route in found:
        if isinstance(route, APIRoute):
            out.append(route)
        elif hasattr(route, "original_router"):
            out += routes(route.original_router.routes)
        elif getattr(route, "routes", None):
            out += routes(route.routes)
    return out
