"""Pages of memories: the list and search, and one item with its provenance and history."""

from dataclasses import dataclass
from typing import Any, Final

from fastapi import Response

from phronesis.core.items import KINDS, Item
from phronesis.core.results import Explanation, HistoryEvent
from phronesis.errors import NotFound
from phronesis.experience.laws.records import L1
from phronesis.interfaces.web.pages.people import trait_told
from phronesis.interfaces.web.rendering import address, page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.traits.laws.records import Trait

# The list: browse page by page, or search and see why each result was found.

PAGE: Final = 30
"""Items per page, and results of a search."""

STATES: Final = {
    "": None,
    "archived": {"status": "archived"},
    "ended": {"ended": {"in": ["superseded", "retracted", "dissolved", "retired"]}},
    "pinned": {"pinned": True},
}
"""Filters behind the list of states."""

router = make_router()


@router.get("/memories")
def memories(visitor: Visiting, q: str = "", kind: str = "", state: str = "", cursor: str = "") -> Response:
    """List memories, or search them where words are given."""
    chosen = kind if kind in KINDS else ""
    asked = {"q": q.strip(), "kind": chosen, "state": state if state in STATES else "", **visitor.looking.named}
    shared: dict[str, Any] = {
        "query": q.strip(),
        "asked": asked,
        "kinds": KINDS,
        "states": tuple(STATES),
        "exports": {name: address("/memories/export", format=name, **asked) for name in ("jsonl", "csv")},
    }
    if q.strip():
        found = _search(visitor, q.strip(), asked)
        return page(visitor, "found.html" if visitor.partial else "memories.html", found=found, listed=None, **shared)
    listed = visitor.memory.get_all(
        **visitor.looking.scope,
        kinds=[chosen] if chosen else None,
        filters=STATES[asked["state"]],
        limit=PAGE,
        cursor=cursor or None,
    )
    further = address("/memories", cursor=listed.next_cursor, **asked)
    template = "found.html" if visitor.partial else "memories.html"
    return page(visitor, template, found=None, listed=listed, further=further, **shared)


def _search(visitor: Visitor, query: str, asked: dict[str, str]) -> object:
    return visitor.memory.search(
        query,
        **visitor.looking.scope,
        kinds=[asked["kind"]] if asked["kind"] else None,
        filters=STATES[asked["state"]],
        limit=PAGE,
        explain=True,
    )


LINKED_SHOWN: Final = 60
"""Maximum items shown because an edge joins them to this one."""


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one change: its name, and its values before and after."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class LinkedItem:
    """An item that an edge joins to this one. ``outgoing``: the edge starts at this one."""

    relation: str
    outgoing: bool
    item: Item
    weight: float | None


@router.get("/memories/{item_id}")
def show(visitor: Visiting, item_id: str, edit: bool = False, done: str = "") -> Response:
    """Show an item with all that bears on it."""
    item = visitor.memory.get(item_id)
    told = visitor.memory.explain(item_id)
    events = [(event, changes_of(event)) for event in reversed(told.history)]
    trait = trait_told(visitor, item, told.history) if isinstance(item, Trait) else None
    taken = visitor.memory.resources.get_source(item.id) if item.kind == L1 else None
    return page(
        visitor,
        "item.html",
        item=item,
        told=told,
        events=events,
        linked=linked_items(visitor, told),
        trait=trait,
        taken=taken,
        editing=edit,
        done=done,
    )


def changes_of(event: HistoryEvent) -> list[Change]:
    """Return the changes of an item's fields in one event."""
    return [Change(name, pair[0], pair[1]) for name, pair in event.fields.items()]


def linked_items(visitor: Visitor, told: Explanation) -> list[LinkedItem]:
    """Return the existing items that edges join to this one."""
    out = []
    for edge in told.edges[:LINKED_SHOWN]:
        outgoing = edge["from_id"] == told.item.id
        side = "to" if outgoing else "from"
        if edge[f"{side}_kind"] == "item":
            try:
                other = visitor.memory.get(edge[f"{side}_id"])
            except NotFound:  # erased meanwhile
                continue
            out.append(LinkedItem(edge["type"], outgoing, other, edge.get("weight")))
    return out
