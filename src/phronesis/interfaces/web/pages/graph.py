"""A bounded part of a graph, as the pages draw it: nodes, the edges between them, and where it begins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.core.serialization import Record

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
