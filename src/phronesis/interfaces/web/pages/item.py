"""One memory: what it says, what it rests on, how it came to be so, and what a person can do about it."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Form, Response

from phronesis.core.experience.records import L1
from phronesis.core.items import Item
from phronesis.core.keys import Role
from phronesis.core.results import Explanation, HistoryEvent
from phronesis.core.traits.records import Trait
from phronesis.errors import InputError, NotFound
from phronesis.interfaces.web.pages.traits import trait_told
from phronesis.interfaces.web.rendering import item_address, page
from phronesis.interfaces.web.routing import back, make_router
from phronesis.interfaces.web.visiting import Visiting, Visitor

LINKED_SHOWN: Final = 60
"""Items that a page names because an edge joins them to this one."""

ACTIONS: Final = frozenset({"archive", "unarchive", "pin", "unpin", "retract"})
"""What a button does to an item: verbs of those names."""

ERASE_TYPED: Final = 8
"""Characters of an id that a person types before it is erased: what is erased does not come back."""

router = make_router()


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one change: its name, and what it was before and is after."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Linked:
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
    taken = visitor.memory.get_source(item.id) if item.kind == L1 else None
    return page(
        visitor, "item.html", item=item, told=told, events=events, linked=linked_items(visitor, told), trait=trait,
        taken=taken, editing=edit, done=done,
    )  # fmt: skip


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
    """Give an item new words; refused when somebody else changed it meanwhile."""
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
    getattr(visitor.memory, action)(item_id, actor=visitor.actor)
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
    """Give what one change did to the fields of an item."""
    return [Change(name, pair[0], pair[1]) for name, pair in event.fields.items()]


def linked_items(visitor: Visitor, told: Explanation) -> list[Linked]:
    """Give the items that edges join to this one, those that are still there."""
    out = []
    for edge in told.edges[:LINKED_SHOWN]:
        outgoing = edge["from_id"] == told.item.id
        side = "to" if outgoing else "from"
        if edge[f"{side}_kind"] == "item":
            try:
                other = visitor.memory.get(edge[f"{side}_id"])
            except NotFound:  # erased meanwhile
                continue
            out.append(Linked(edge["type"], outgoing, other, edge.get("weight")))
    return out
