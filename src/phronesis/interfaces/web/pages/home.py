"""The first page: what was learned lately, what contradicts what, what waits for a person."""

from datetime import timedelta
from typing import Final

from fastapi import Response

from phronesis.core.overview import RECORDED_KINDS
from phronesis.interfaces.web.rendering import page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.visiting import Visiting

SPANS: Final = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}
"""Since when the page tells what was learned."""

SHOWN: Final = 12
"""Items of each list."""

router = make_router()


@router.get("/")
def home(visitor: Visiting, span: str = "day") -> Response:
    """Show a scope at a glance."""
    chosen = span if span in SPANS else "day"
    since = visitor.memory.stages.clock() - SPANS[chosen]
    seen = visitor.memory.overview(**visitor.looking.scope, since=since, limit=SHOWN)
    learned = {kind: count for kind, count in seen.counts.items() if kind not in RECORDED_KINDS}
    recorded = {kind: count for kind, count in seen.counts.items() if kind in RECORDED_KINDS}
    return page(visitor, "home.html", seen=seen, learned=learned, recorded=recorded, span=chosen, spans=tuple(SPANS))
