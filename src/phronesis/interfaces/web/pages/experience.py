"""Pages of experience: lists, answers to a question, and a bounded view of the graph around an item.

``supports`` edges join principles to patterns, ``member_of`` events to patterns, ``about`` events to artifacts;
``contradicts`` and ``refines`` join items of one layer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Response
from fastapi.responses import JSONResponse

from phronesis.core.items import Item
from phronesis.core.serialization import Record, as_json
from phronesis.errors import NotFound
from phronesis.experience.laws.answers import Answer
from phronesis.experience.laws.records import ABOUT, CONTRADICTS, L1, MEMBER_OF, PATTERN, PRINCIPLE, REFINES, SUPPORTS
from phronesis.interfaces.web.rendering import address, item_address, page
from phronesis.interfaces.web.routing import make_router
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.memory import Memory

LAYERS: Final = (PRINCIPLE, PATTERN, L1)
"""Kinds of experience, the most general first."""

RELATIONS: Final = (CONTRADICTS, SUPPORTS, REFINES, MEMBER_OF)
"""Traversed types of edges, in order of priority if there are too many."""

MAX_NEIGHBOURS: Final = 24
"""Maximum edges of one node; the others are counted."""

MAX_NODES: Final = 60
MAX_STARTS: Final = 5
MAX_LABEL: Final = 90


@dataclass(frozen=True, slots=True)
class Node(Record):
    """A node: an item, or an artifact, which has no page. ``tone`` is its result; ``faded``: it has ended."""

    id: str
    kind: str
    label: str
    tone: str = ""
    faded: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class Link(Record):
    """An edge between two nodes."""

    source: str
    target: str
    relation: str


@dataclass(slots=True)
class Walk(Record):
    """The part of the graph reached from ``starts``. ``left_out``: the number of hidden edges by node id."""

    starts: Sequence[str]
    nodes: dict[str, Node] = field(default_factory=dict)
    links: set[Link] = field(default_factory=set)
    left_out: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        links = sorted(self.links, key=lambda one: (one.source, one.target, one.relation))
        return {
            "starts": list(self.starts),
            "nodes": [node.to_dict() for node in self.nodes.values()],
            "links": [link.to_dict() for link in links],
            "left_out": self.left_out,
        }


def newest(memory: Memory, scope: Mapping[str, Any]) -> list[str]:
    """Return the newest items of the most general layer that a scope has; empty if there is no experience."""
    for kind in LAYERS:
        found = memory.get_all(**scope, kinds=[kind], limit=MAX_STARTS)
        if found:
            return [item.id for item in found]
    return []


def walk(memory: Memory, starts: Sequence[str], *, steps: int = 1, artifacts: bool = False) -> Walk:
    """Return items of experience and those within some steps; NotFound when an id does not exist."""
    items = [memory.get(one) for one in starts]
    for item in items:
        if item.kind not in LAYERS:
            raise NotFound(f"item {item.id} is a {item.kind}, which is no experience; its page shows it", field="id")
    seen = Walk([item.id for item in items], {item.id: _node(item) for item in items})
    reached = list(seen.starts)
    for _ in range(steps):
        reached = [new for one in reached for new in _expand(memory, seen, one, artifacts)]
    return seen


def _expand(memory: Memory, seen: Walk, item_id: str, artifacts: bool) -> list[str]:
    """Add a node's neighbours; return the new items."""
    types = (*RELATIONS, ABOUT) if artifacts else RELATIONS
    edges = [edge for edge in memory.explain(item_id).edges if edge["type"] in types]
    edges.sort(key=lambda edge: (types.index(edge["type"]), -(edge.get("weight") or 0.0), edge["from_id"]))
    if len(edges) > MAX_NEIGHBOURS:
        seen.left_out[item_id] = len(edges) - MAX_NEIGHBOURS
    new: list[str] = []
    for edge in edges[:MAX_NEIGHBOURS]:
        side = "to" if edge["from_id"] == item_id else "from"
        other, kind = edge[f"{side}_id"], edge[f"{side}_kind"]
        if other not in seen.nodes:
            node = _find_node(memory, other, kind) if len(seen.nodes) < MAX_NODES else None
            if node is None:
                continue
            seen.nodes[other] = node
            new += [other] if node.address else []
        seen.links.add(Link(edge["from_id"], edge["to_id"], edge["type"]))
    return new


def _find_node(memory: Memory, one: str, kind: str) -> Node | None:
    if kind == "artifact":
        return Node(one, "artifact", one[:MAX_LABEL])
    if kind != "item":
        return None
    try:
        item = memory.get(one)
    except NotFound:  # erased meanwhile
        return None
    return _node(item) if item.kind in LAYERS else None


def _node(item: Item) -> Node:
    label = _shorten(_label_of(item))
    return Node(item.id, item.kind, label, item.label or "", not item.live, item_address(item.id))


def _label_of(item: Item) -> str:
    """Return an item's label: what was tried, or what to do."""
    given: Iterable[Any] = (item.data.get(name) for name in ("action", "attempt", "summary"))
    return next((str(words) for words in given if words), item.content or item.id)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LABEL else line[: MAX_LABEL - 1] + "…"


# Pages: lists, answers to a question, and the graph.

PAGE: Final = 20
ANSWERS: Final = 8

router = make_router()


@router.get("/experience")
def experience(
    visitor: Visiting,
    *,
    layer: str = "",
    situation: str = "",
    goal: str = "",
    constraint: str = "",
    cursor: str = "",
) -> Response:
    """List what was learned of attempts, and answer what worked where somebody asks."""
    chosen = layer if layer in LAYERS else LAYERS[0]
    asked = {"situation": situation.strip(), "goal": goal.strip(), "constraint": constraint.strip()}
    listed = visitor.memory.get_all(**visitor.looking.scope, kinds=[chosen], limit=PAGE, cursor=cursor or None)
    further = address("/experience", layer=chosen, cursor=listed.next_cursor, **visitor.looking.named)
    return page(
        visitor,
        "experience.html",
        layers=LAYERS,
        layer=chosen,
        listed=listed,
        further=further,
        asked=asked,
        answer=_answer(visitor, asked),
    )


@router.get("/experience/walk")
def walked(visitor: Visiting, id: str = "", artifacts: bool = False) -> Response:  # noqa: A002 - the query's name
    """Show the graph around an item, by default around the newest."""
    starts = [id] if id else newest(visitor.memory, visitor.looking.scope)
    seen = walk(visitor.memory, starts, steps=2, artifacts=artifacts) if starts else None
    return page(visitor, "walk.html", seen=seen, layers=LAYERS, start=id, artifacts=artifacts)


@router.get("/experience/graph")
def graph(visitor: Visiting, id: str, artifacts: bool = False) -> Response:  # noqa: A002 - the query's name
    """Return what is joined to an item, as JSON: a bounded part of the graph."""
    return JSONResponse(as_json(walk(visitor.memory, [id], artifacts=artifacts)))


def _answer(visitor: Visitor, asked: dict[str, str]) -> Answer | None:
    if not asked["situation"] and not asked["goal"]:
        return None
    constraints = [asked["constraint"]] if asked["constraint"] else []
    return visitor.memory.query(
        situation=asked["situation"],
        goal=asked["goal"],
        constraints=constraints,
        limit=ANSWERS,
        **visitor.looking.owner,
    )
