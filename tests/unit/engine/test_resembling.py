"""Edges between patterns: drawn among those looked at, and never over what a person said."""

from collections.abc import Iterable
from typing import Any, cast

from phronesis.core.entries import Entry
from phronesis.core.relations import Edge
from phronesis.experience.pattern_similarity import drawn_anew
from phronesis.store.lane_view import LaneView


class _Lane:
    def __init__(self, *edges: Edge) -> None:
        self.edges = edges

    def edges_from(self, ids: Iterable[str], *_: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.from_id in set(ids)]

    def edges_to(self, ids: Iterable[str], *_: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.to_id in set(ids)]


class _Entry:
    id = "now"


def edge(one: str, other: str, **fields: Any) -> Edge:
    return Edge(
        type="similar",
        from_kind="item",
        from_id=one,
        to_kind="item",
        to_id=other,
        entry_id="before",
        **({"weight": 0.5} | fields),
    )


def drawn(
    known: Iterable[Edge], touched: list[str], wished: dict[tuple[str, str], float]
) -> tuple[list[tuple[str, str, float]], list[tuple[str, str]]]:
    new, gone = drawn_anew(cast("LaneView", _Lane(*known)), cast("Entry", _Entry()), touched, wished)
    return [(one.from_id, one.to_id, one.weight) for one in new], [(one.from_id, one.to_id) for one in gone]


def test_what_stays_is_not_drawn_again_and_what_is_no_longer_so_goes() -> None:
    known = [edge("a", "b"), edge("b", "c"), edge("a", "c", weight=0.4)]
    assert drawn(known, ["a", "b", "c"], {("a", "b"): 0.5, ("a", "c"): 0.6}) == ([("a", "c", 0.6)], [("b", "c")])


def test_edges_to_patterns_that_were_not_looked_at_stay() -> None:
    assert drawn([edge("a", "z"), edge("y", "a")], ["a", "b"], {("a", "b"): 0.7}) == ([("a", "b", 0.7)], [])


def test_what_a_person_said_of_two_is_not_written_over() -> None:
    known = [edge("b", "a", grade="cannot_link", origin="human")]
    assert drawn(known, ["a", "b"], {("a", "b"): 0.9}) == ([], [])
