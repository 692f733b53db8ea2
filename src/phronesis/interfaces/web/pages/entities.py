"""Pages of entities: the list, and one entity with what is known of it, its names, and how it is merged and split."""

from typing import Annotated, Final

from fastapi import Form, Response

from phronesis.core.relations import normal_name
from phronesis.core.reports import ENTITY_KINDS, EntityRecord
from phronesis.interfaces.web.pages.experience import MAX_NODES, Graph, Link, Node, shorten
from phronesis.interfaces.web.pages.people import FACT_KINDS, USER
from phronesis.interfaces.web.rendering import address, back, back_with_notice, key_text, make_router, page
from phronesis.interfaces.web.session import FormText, Notice, Visiting, Visitor, Writing

SHOWN: Final = 200
"""Maximum entities listed, and offered for a merge; others are found by name."""

STATED: Final = 2_000
"""Items that are read for the graph of entities, the newest."""

CHOSEN: Final = 1_000
"""Maximum items of one form."""

VIEW: Final = "/entities/view"

router = make_router()


@router.get("/entities")
def entities(visitor: Visiting, q: str = "", kind: str = "") -> Response:
    """List the entities of a user, or of a namespace."""
    chosen = kind if kind in ENTITY_KINDS else ""
    found = visitor.memory.entities.list(q.strip() or None, **visitor.looking.owner, kind=chosen or None, limit=SHOWN)
    return page(visitor, "entities.html", found=found, wanted=q.strip(), chosen=chosen, kinds=ENTITY_KINDS)


@router.get("/entities/graph")
def graph(visitor: Visiting, kind: str = "") -> Response:
    """Draw a user, the entities that the user speaks of, and what is stated to join them."""
    chosen = kind if kind in ENTITY_KINDS else ""
    seen = entity_graph(visitor).only(lambda node: not chosen or node.kind in {USER, chosen})
    return page(
        visitor,
        "entity_graph.html",
        seen=seen if len(seen.nodes) > len(seen.starts) else None,
        chosen=chosen,
        kinds=ENTITY_KINDS,
    )


def entity_graph(visitor: Visitor) -> Graph:
    """Return the most mentioned entities of a scope, and the user, joined by statements about one that name another."""
    owner = visitor.looking.owner
    found = visitor.memory.entities.list(**owner, limit=MAX_NODES)
    ids = {normal_name(name): one.id for one in reversed(found) for name in (one.name, *one.aliases)}
    seen = Graph([], {one.id: _node(one) for one in found})
    if visitor.looking.user_id:
        name = visitor.looking.user_id
        seen.starts = [USER]
        seen.nodes[USER] = Node(USER, USER, shorten(name), address=address("/people/view", id=name))
        ids[USER] = USER
    for item in visitor.memory.get_all(**owner, kinds=FACT_KINDS, limit=STATED):
        named = (ids.get(normal_name(str(one))) for one in (item.data.get("person"), item.subject or USER) if one)
        source, target = next(filter(None, named), None), ids.get(normal_name(str(item.value or "")))
        if source and target and source != target:
            seen.links.add(Link(source, target, item.key or "", key_text(item, visitor.words)))
    return seen


def _node(entity: EntityRecord) -> Node:
    last = entity.last_mentioned
    at = "" if last is None else last.date().isoformat()
    return Node(entity.id, entity.kind, shorten(entity.name), address=address(VIEW, id=entity.id), at=at)


@router.get("/entities/named")
def named(visitor: Visiting, name: str) -> Response:
    """Show the entity of a name, or the list of those whose names hold it."""
    found = visitor.memory.entities.list(name, **visitor.looking.owner, limit=SHOWN)
    exact = [one for one in found if normal_name(name) in map(normal_name, (one.name, *one.aliases))]
    return back(VIEW, id=exact[0].id) if exact else back("/entities", q=name, **visitor.looking.named)


@router.get(VIEW)
def entity(visitor: Visiting, id: str) -> Response:
    """Show what is known of an entity, when and by whom it was said."""
    found = visitor.memory.entities.get(id)
    others = visitor.memory.entities.list(user_id=found.user_id, namespace=found.namespace, limit=SHOWN)
    others = [one for one in others if (one.user_id, one.id != found.id) == (found.user_id, True)]
    return page(visitor, "entity.html", entity=found, others=others)


@router.post("/entities/merge")
def merge(visitor: Writing, id: FormText, other: FormText = "", reason: FormText = "") -> Response:
    """Make two entities one."""
    result = visitor.memory.entities.merge([id, other], reason=reason.strip() or None, actor=visitor.actor)
    return back_with_notice(visitor, address(VIEW, id=id), Notice("merged", (result.entry_id,)))


@router.post("/entities/split")
def split(
    visitor: Writing,
    *,
    id: FormText,
    alias: FormText = "",
    item: Annotated[list[str] | None, Form(max_length=CHOSEN)] = None,
    name: FormText = "",
    reason: FormText = "",
) -> Response:
    """Make an entity two: by one of its names, or by the items that were chosen."""
    result = visitor.memory.entities.split(
        id,
        alias=alias.strip() or None,
        items=item,
        name=name.strip() or None,
        reason=reason.strip() or None,
        actor=visitor.actor,
    )
    return back_with_notice(visitor, address(VIEW, id=id), Notice("split", (result.entry_id,)))
