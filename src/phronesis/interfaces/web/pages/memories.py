"""Pages of memories: the list and search, and one item with its provenance and history."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Response

from phronesis.core.items import KINDS, Item
from phronesis.core.relations import CONTEXT_OUTCOME
from phronesis.core.results import Explanation, HistoryEvent
from phronesis.core.timestamps import parse_moment
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


@dataclass(frozen=True, slots=True)
class ListFilter:
    """What a list shows: what words find, of one kind, in one state, as it was known on a day."""

    q: str = ""
    kind: str = ""
    state: str = ""
    known: str = ""

    @property
    def query(self) -> dict[str, str]:
        """Return the query of an address with this filter."""
        return {"q": self.q, "kind": self.kind, "state": self.state, "known": self.known}

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a listing or a search."""
        kinds = [self.kind] if self.kind else None
        return {"kinds": kinds, "filters": STATES[self.state], "as_of": self.known or None}


def _list_filter(q: str = "", kind: str = "", state: str = "", known: str = "") -> ListFilter:
    """Return the filter of a query, without values that mean nothing."""
    if known:
        parse_moment(known, field="known")
    return ListFilter(q.strip(), kind if kind in KINDS else "", state if state in STATES else "", known)


Listed = Annotated[ListFilter, Depends(_list_filter)]


def list_files(visitor: Visitor, kind: str, **query: str) -> dict[str, str]:
    """Return the addresses of a list as a file, by its format."""
    asked = {"kind": kind, **query, **visitor.looking.named}
    return {name: address("/memories/export", format=name, **asked) for name in ("jsonl", "csv")}


@router.get("/memories")
def memories(visitor: Visiting, wanted: Listed, cursor: str = "") -> Response:
    """List memories, or search them where words are given; those of now, or as they were known on a day."""
    asked = {**wanted.query, **visitor.looking.named}
    shared: dict[str, Any] = {
        "query": wanted.q,
        "asked": asked,
        "kinds": KINDS,
        "states": tuple(STATES),
        "exports": list_files(visitor, **wanted.query),
    }
    template = "found.html" if visitor.partial else "memories.html"
    scope = visitor.looking.scope
    if wanted.q:
        found = visitor.memory.search(wanted.q, **scope, **wanted.arguments, limit=PAGE, explain=True)
        return page(visitor, template, found=found, listed=None, **shared)
    listed = visitor.memory.get_all(**scope, **wanted.arguments, limit=PAGE, cursor=cursor or None)
    further = address("/memories", cursor=listed.next_cursor, **asked)
    return page(visitor, template, found=None, listed=listed, further=further, **shared)


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
            relation = edge["grade"] if edge["type"] == CONTEXT_OUTCOME else edge["type"]
            out.append(LinkedItem(relation, outgoing, other, edge.get("weight")))
    return out
