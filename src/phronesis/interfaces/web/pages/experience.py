"""Pages of experience: lists, answers to a question, and bounded graphs: of an item's surroundings, or of others.

``supports`` edges join principles to patterns, ``member_of`` events to patterns, ``about`` events to artifacts;
``contradicts`` and ``refines`` join items of one layer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse

from phronesis.core.items import Item
from phronesis.core.reports import Page
from phronesis.core.serialization import Record, as_json
from phronesis.core.timestamps import parse_moment
from phronesis.errors import NotFound
from phronesis.experience.laws.answers import Answer
from phronesis.experience.laws.records import ABOUT, CONTRADICTS, L1, MEMBER_OF, PATTERN, PRINCIPLE, REFINES, SUPPORTS
from phronesis.interfaces.web.pages.memories import list_files
from phronesis.interfaces.web.rendering import address, item_address, make_router, page
from phronesis.interfaces.web.session import Visiting, Visitor
from phronesis.memory import Memory

MAX_NODES: Final = 60
"""Maximum nodes of one answer."""

MAX_LABEL: Final = 90


@dataclass(frozen=True, slots=True)
class Node(Record):
    """A node. ``tone`` is its outcome, ``at`` its day, ``faded``: it has ended; without an address it has no page."""

    id: str
    kind: str
    label: str
    tone: str = ""
    faded: bool = False
    address: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Link(Record):
    """An edge between two nodes; ``label`` says what it means, where that is not plain from its relation."""

    source: str
    target: str
    relation: str
    label: str = ""


@dataclass(slots=True)
class Graph(Record):
    """The part of a graph reached from ``starts``. ``left_out``: the number of hidden edges by node id."""

    starts: Sequence[str]
    nodes: dict[str, Node] = field(default_factory=dict)
    links: set[Link] = field(default_factory=set)
    left_out: dict[str, int] = field(default_factory=dict)

    def only(self, wanted: Callable[[Node], bool]) -> "Graph":
        """Return the part of the graph whose nodes are wanted."""
        nodes = {name: node for name, node in self.nodes.items() if wanted(node)}
        links = {link for link in self.links if link.source in nodes and link.target in nodes}
        left_out = {name: count for name, count in self.left_out.items() if name in nodes}
        return Graph([one for one in self.starts if one in nodes], nodes, links, left_out)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        links = sorted(self.links, key=lambda one: (one.source, one.target, one.relation, one.label))
        return {
            "starts": list(self.starts),
            "nodes": [node.to_dict() for node in self.nodes.values()],
            "links": [link.to_dict() for link in links],
            "left_out": self.left_out,
        }


def shorten(text: str) -> str:
    """Return a label on one line."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_LABEL else line[: MAX_LABEL - 1] + "…"


LAYERS: Final = (PRINCIPLE, PATTERN, L1)
"""Kinds of experience, the most general first."""

RELATIONS: Final = (CONTRADICTS, SUPPORTS, REFINES, MEMBER_OF)
"""Traversed types of edges, in order of priority if there are too many."""

MAX_NEIGHBOURS: Final = 24
"""Maximum edges of one node; the others are counted."""

MAX_STARTS: Final = 5

OUTCOMES: Final = ("success", "failure", "unknown")


@dataclass(frozen=True, slots=True)
class WalkFilter:
    """What a walk shows: kinds, the outcome of attempts and patterns, the day since which, and words to begin from."""

    kinds: Sequence[str] = ()
    outcome: str = ""
    since: str = ""
    q: str = ""

    @property
    def query(self) -> dict[str, Any]:
        """Return the query of an address with these filters."""
        return {"kind": list(self.kinds), "outcome": self.outcome, "since": self.since, "q": self.q}

    @property
    def filters(self) -> dict[str, Any] | None:
        """Return the filters of a listing."""
        since = {"recorded_at": {"gte": f"{self.since}T00:00:00Z"}} if self.since else {}
        return {**since, **({"label": self.outcome} if self.outcome else {})} or None

    def shows(self, node: Node) -> bool:
        """Return whether a node is shown; one without an outcome, such as a principle, has any."""
        return (
            (not self.kinds or node.kind in self.kinds or node.kind not in LAYERS)
            and (not self.outcome or node.tone in {"", self.outcome})
            and (not self.since or not node.at or node.at >= self.since)
        )


def _walk_filter(
    kind: Annotated[list[str] | None, Query(max_length=len(LAYERS))] = None,
    outcome: str = "",
    since: str = "",
    q: str = "",
) -> WalkFilter:
    """Return the filters of a query, without values that mean nothing."""
    if since:
        parse_moment(since, field="since")
    kinds = tuple(one for one in LAYERS if one in (kind or ()))
    return WalkFilter(kinds, outcome if outcome in OUTCOMES else "", since[:10], q.strip())


Filtered = Annotated[WalkFilter, Depends(_walk_filter)]


def starting_points(memory: Memory, scope: Mapping[str, Any], wanted: WalkFilter) -> list[str]:
    """Return what a search for the words finds, else the newest items of the most general layer that has any."""
    kinds = wanted.kinds or LAYERS
    if wanted.q:
        found = memory.search(wanted.q, **scope, kinds=kinds, filters=wanted.filters, limit=MAX_STARTS)
        return [one.item.id for one in found if one.score >= found.threshold]
    for kind in kinds:
        listed = memory.get_all(**scope, kinds=[kind], filters=wanted.filters, limit=MAX_STARTS)
        if listed:
            return [item.id for item in listed]
    return []


def walk(memory: Memory, starts: Sequence[str], *, steps: int = 1, artifacts: bool = False) -> Graph:
    """Return items of experience and those within some steps; NotFound when an id does not exist."""
    items = [memory.get(one) for one in starts]
    for item in items:
        if item.kind not in LAYERS:
            raise NotFound(f"item {item.id} is a {item.kind}, which is no experience; its page shows it", field="id")
    seen = Graph([item.id for item in items], {item.id: _node(item) for item in items})
    reached = list(seen.starts)
    for _ in range(steps):
        reached = [new for one in reached for new in _expand(memory, seen, one, artifacts)]
    return seen


def _expand(memory: Memory, seen: Graph, item_id: str, artifacts: bool) -> list[str]:
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
    at = (item.occurred_at or item.recorded_at).date().isoformat()
    label = shorten(_label_of(item))
    return Node(item.id, item.kind, label, item.label or "", not item.live, item_address(item.id), at)


def _label_of(item: Item) -> str:
    """Return an item's label: what was tried, or what to do."""
    given: Iterable[Any] = (item.data.get(name) for name in ("action", "attempt", "summary"))
    return next((str(words) for words in given if words), item.content or item.id)


# Pages: lists, answers to a question, and the graph.

PAGE: Final = 20
ANSWERS: Final = 8

router = make_router()


@router.get("/experience")
def experience(
    visitor: Visiting,
    wanted: Filtered,
    *,
    layer: str = "",
    situation: str = "",
    goal: str = "",
    constraint: str = "",
    cursor: str = "",
) -> Response:
    """List what was learned of attempts, and answer what worked where somebody asks.

    Without a layer it is the most general one that has anything.
    """
    asked = {"situation": situation.strip(), "goal": goal.strip(), "constraint": constraint.strip()}
    chosen, listed = _first_filled(visitor, (layer,) if layer in LAYERS else LAYERS, wanted, cursor)
    chosen_by = {"outcome": wanted.outcome, "since": wanted.since, **visitor.looking.named}
    further = address("/experience", layer=chosen, cursor=listed.next_cursor, **chosen_by)
    return page(
        visitor,
        "experience.html",
        layers=LAYERS,
        layer=chosen,
        outcomes=OUTCOMES,
        wanted=wanted,
        chosen_by=chosen_by,
        exports=None if wanted.filters else list_files(visitor, chosen),
        listed=listed,
        further=further,
        asked=asked,
        answer=_answer(visitor, asked),
    )


def _first_filled(visitor: Visitor, layers: Sequence[str], wanted: WalkFilter, cursor: str) -> tuple[str, Page[Item]]:
    """Return the first layer that has anything, else the last one, and a page of it."""
    for layer in layers:
        listed = visitor.memory.get_all(
            **visitor.looking.scope, kinds=[layer], filters=wanted.filters, limit=PAGE, cursor=cursor or None
        )
        if listed or layer == layers[-1]:
            break
    return layer, listed


@router.get("/experience/walk")
def walked(visitor: Visiting, wanted: Filtered, id: str = "", artifacts: bool = False) -> Response:
    """Show the graph around an item, by default around what is searched for, or the newest."""
    starts = [id] if id else starting_points(visitor.memory, visitor.looking.scope, wanted)
    seen = walk(visitor.memory, starts, steps=2, artifacts=artifacts).only(wanted.shows) if starts else None
    return page(
        visitor,
        "walk.html",
        seen=seen,
        layers=LAYERS,
        outcomes=OUTCOMES,
        wanted=wanted,
        start=id,
        artifacts=artifacts,
        more_at="/experience/graph?" + urlencode({**wanted.query, "artifacts": int(artifacts)}, doseq=True),
    )


@router.get("/experience/graph")
def graph_part(visitor: Visiting, wanted: Filtered, id: str, artifacts: bool = False) -> Response:
    """Return what is joined to an item, as JSON: a bounded part of the graph."""
    return JSONResponse(as_json(walk(visitor.memory, [id], artifacts=artifacts).only(wanted.shows)))


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
