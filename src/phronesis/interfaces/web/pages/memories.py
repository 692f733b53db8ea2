"""Pages of memories: the list and search, the quarantine, and one item with its provenance, history and actions."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.api_keys import Role
from phronesis.core.items import KINDS, SUSPECT_WORDS, Item
from phronesis.core.results import Explanation, HistoryEvent
from phronesis.errors import Conflict, InputError, NotFound
from phronesis.experience.laws.records import L1
from phronesis.interfaces.web.pages.people import trait_told
from phronesis.interfaces.web.rendering import address, item_address, page
from phronesis.interfaces.web.routing import back, make_router
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
    shared: dict[str, Any] = {"query": q.strip(), "asked": asked, "kinds": KINDS, "states": tuple(STATES)}
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


# The quarantine: text that reads like an order to a model, shown as data until an admin releases or rejects it.

SHOWN: Final = 50
"""Texts per page; the next ones appear as these are decided."""

BULK: Final = 1_000
"""Maximum texts decided by one form."""


@router.get("/quarantine")
def quarantine(visitor: Visiting, done: str = "", count: int = 0) -> Response:
    """Show what is held, the newest first."""
    held = visitor.memory.quarantine.list(**visitor.looking.scope, limit=SHOWN + 1)
    return page(
        visitor,
        "quarantine.html",
        held=held[:SHOWN],
        more=len(held) > SHOWN,
        suspected=SUSPECT_WORDS,
        done=done,
        count=count,
    )


@router.post("/quarantine/release")
def release(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/quarantine",  # noqa: A002 - the form's name
) -> Response:
    """Let a text go: it is found and shown again, as data where its source is not trusted."""
    visitor.check(token, Role.ADMIN)
    visitor.memory.quarantine.release(id, actor=visitor.actor)
    return back(next.partition("?")[0], done="release", count=1)


@router.post("/quarantine/reject")
def reject(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[list[str], Form(max_length=BULK)],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/quarantine",  # noqa: A002 - the form's name
) -> Response:
    """End texts, one or all that were chosen."""
    visitor.check(token, Role.ADMIN)
    ended = 0
    for one in id:
        try:
            visitor.memory.quarantine.reject(one, actor=visitor.actor)
            ended += 1
        except Conflict:  # already decided
            if len(id) == 1:
                raise
    return back(next.partition("?")[0], done="reject", count=ended)


LINKED_SHOWN: Final = 60
"""Maximum items shown because an edge joins them to this one."""

ACTIONS: Final = frozenset({"archive", "unarchive", "pin", "unpin", "retract"})
"""Actions of the buttons: verbs of those names."""

ERASE_TYPED: Final = 8
"""Characters of an id that must be typed before an erasure, since it is final."""


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


@router.post("/memories/{item_id}/edit")
def edit(
    visitor: Visiting,
    item_id: str,
    *,
    token: Annotated[str, Form()],
    version: Annotated[int, Form()],
    content: Annotated[str, Form()],
    reason: Annotated[str, Form()] = "",
) -> Response:
    """Return an item new words; refused when somebody else changed it meanwhile."""
    visitor.check(token)
    visitor.memory.update(
        item_id, content=content, expected_version=version, reason=reason.strip() or None, actor=visitor.actor
    )
    return back(item_address(item_id), done="edited")


@router.post("/memories/{item_id}/erase")
def erase(
    visitor: Visiting, item_id: str, token: Annotated[str, Form()], typed: Annotated[str, Form()] = ""
) -> Response:
    """Erase an item's words for good, once its first characters were typed."""
    visitor.check(token, Role.ADMIN)
    if typed.strip() != item_id[:ERASE_TYPED]:
        raise InputError(f"typed: type {item_id[:ERASE_TYPED]}, with which the id begins, to erase it", field="typed")
    certificate = visitor.memory.erase(id=item_id, actor=visitor.actor)
    return page(visitor, "erased.html", certificate=certificate)


@router.post("/memories/{item_id}/{action}")
def act(
    visitor: Visiting,
    item_id: str,
    action: str,
    token: Annotated[str, Form()],
    next: Annotated[str, Form()] = "",  # noqa: A002 - the form's name
) -> Response:
    """Archive an item, pin it, take it back, or the other way round."""
    visitor.check(token)
    if action not in ACTIONS:
        raise NotFound(f"action: there is no {action}", field="action")
    getattr(visitor.memory.items, action)(item_id, actor=visitor.actor)
    return back(next.partition("?")[0] or item_address(item_id), done=action)


@router.post("/rollback")
def rollback(
    visitor: Visiting,
    token: Annotated[str, Form()],
    id: Annotated[str, Form()],  # noqa: A002 - the verb's name
    next: Annotated[str, Form()] = "/",  # noqa: A002 - the form's name
    cascade: Annotated[bool, Form()] = False,
) -> Response:
    """Take a change back, or all of an entry."""
    visitor.check(token)
    visitor.memory.rollback(id, cascade=cascade, actor=visitor.actor)
    return back(next.partition("?")[0], done="rollback")


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
