"""The memories: browse them a page at a time, or search them and see why each was found."""

from typing import Any, Final

from fastapi import Response

from phronesis.core.items import KINDS
from phronesis.interfaces.web.rendering import address, page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.visiting import Visiting, Visitor

PAGE: Final = 30
"""Items of a page, and results of a search."""

STATES: Final = {
    "": None,
    "archived": {"status": "archived"},
    "ended": {"ended": {"in": ["superseded", "retracted", "dissolved", "retired"]}},
    "pinned": {"pinned": True},
}
"""What the list of states lets choose, as filters."""

router = make_router()


@router.get("/memories")
def memories(visitor: Visiting, q: str = "", kind: str = "", state: str = "", cursor: str = "") -> Response:
    """List memories, or search them where words are given."""
    chosen = kind if kind in KINDS else ""
    asked = {"q": q.strip(), "kind": chosen, "state": state if state in STATES else "", **visitor.looking.named}
    shared: dict[str, Any] = {"query": q.strip(), "asked": asked, "kinds": KINDS, "states": tuple(STATES)}
    if q.strip():
        found = _search(visitor, q.strip(), asked)
        return page(visitor, "found.html" if visitor.partial else "memories.html", found=found, listed=None, **shared)
    listed = visitor.memory.get_all(
        **visitor.looking.scope, kinds=[chosen] if chosen else None, filters=STATES[asked["state"]], limit=PAGE,
        cursor=cursor or None,
    )  # fmt: skip
    further = address("/memories", cursor=listed.next_cursor, **asked)
    template = "found.html" if visitor.partial else "memories.html"
    return page(visitor, template, found=None, listed=listed, further=further, **shared)


def _search(visitor: Visitor, query: str, asked: dict[str, str]) -> object:
    return visitor.memory.search(
        query, **visitor.looking.scope, kinds=[asked["kind"]] if asked["kind"] else None,
        filters=STATES[asked["state"]], limit=PAGE, explain=True,
    )  # fmt: skip
