"""Bounded breadth-first traversal of the experience graph from the items that a query found (EMB-13)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Protocol

DEPTH: Final = 3
"""Steps: from an event to its pattern, on to the principle, and down again to another pattern."""

WIDTH: Final = 24
"""Nodes that the first step expands, the strongest; the second half as many, the third a third (docs/decisions/17)."""

SPARE: Final = 2
"""Nodes read per expanded node: some may not be visible, and those of another layer count less."""

CROSS: Final = 0.8
"""Factor of the strength for a step to another layer: a pattern is about what its members are about."""

SAME: Final = 0.6
"""Factor of the strength for a step within a layer: a similar event is about something a little different."""

THROUGH: Final = 0.5
"""Factor of the strength for a step to or from an artifact: two events that name one file share a place, not a
lesson."""

LEAST: Final = 0.05
"""Strength below which a path is not followed: that of three steps over edges of half weight."""

ARTIFACT: Final = 0
"""The layer of artifacts; events are layer 1, patterns 2, principles 3."""


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as seen from one of its ends; ``weight`` in [0, 1]."""

    near: str
    far: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class Node:
    """What a traversal needs of a node: its layer, creation time (microseconds), and usefulness in [0, 1]."""

    id: str
    layer: int
    at: int = 0
    usefulness: float = 0.5


class Graph(Protocol):
    """The port through which a traversal reads the graph."""

    def links(self, ids: Sequence[str]) -> Sequence[Link]:
        """Return the edges at any of some nodes, in both directions, in a fixed order."""
        ...

    def nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """Return those of some nodes that are visible."""
        ...


@dataclass(frozen=True, slots=True)
class ReachedNode:
    """A node that was reached: its strength, the number of steps, the previous node and the edge's type."""

    node: Node
    strength: float
    hops: int
    via: str | None = None
    by: str | None = None


def walk(graph: Graph, seeds: Mapping[str, float], *, depth: int = DEPTH, width: int = WIDTH) -> dict[str, ReachedNode]:
    """Return what is reached from ``seeds`` (strengths in [0, 1] by id), visible seeds included, by id.

    Of two paths to a node the shorter counts; of equally long ones the stronger. The n-th step expands the strongest
    ``width`` / n nodes; ties go to the more useful node, then to the newer.
    """
    found = {one: ReachedNode(node, seeds[one], 0) for one, node in graph.nodes(list(seeds)).items()}
    front = _best(list(found.values()), width)
    for hop in range(1, depth + 1):
        if not front:
            break
        near = {one.node.id: one for one in front}
        wide = max(1, width // hop)
        told = [(link, near[link.near]) for link in graph.links(list(near)) if link.far not in found]
        nodes = graph.nodes(_likely(told, SPARE * wide))
        level: dict[str, ReachedNode] = {}
        for link, start in told:
            node = nodes.get(link.far)
            if node is None:
                continue
            strength = start.strength * link.weight * _edge_share(start.node.layer, node.layer)
            if strength >= LEAST and (node.id not in level or strength > level[node.id].strength):
                level[node.id] = ReachedNode(node, strength, hop, start.node.id, link.type)
        front = _best(list(level.values()), wide)
        found |= {one.node.id: one for one in front}
    return found


def _likely(told: Sequence[tuple[Link, ReachedNode]], count: int) -> list[str]:
    """Return the nodes that the strongest edges lead to, of which a hub has hundreds; ties go to the later id."""
    strongest: dict[str, float] = {}
    for link, start in told:
        strongest[link.far] = max(strongest.get(link.far, 0.0), start.strength * link.weight)
    newest_first = sorted(strongest, reverse=True)
    return sorted(newest_first, key=lambda one: -strongest[one])[:count]


def _edge_share(near: int, far: int) -> float:
    if ARTIFACT in (near, far):
        return THROUGH
    return SAME if near == far else CROSS


def _best(reached: Sequence[ReachedNode], width: int) -> list[ReachedNode]:
    order = attrgetter("strength", "node.usefulness", "node.at")
    return sorted(sorted(reached, key=lambda one: one.node.id), key=order, reverse=True)[:width]
