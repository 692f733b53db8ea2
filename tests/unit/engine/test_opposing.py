"""What speaks against patterns: events of the other outcome, by how alike they are to the most typical members."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest

from phronesis.core.relations import Edge
from phronesis.experience.counterexamples import MAX_COUNTER, counterexamples, members_of, spoken_against
from phronesis.experience.event_embeddings import Meaning
from phronesis.experience.event_matrix import SUCCESS, EventTable
from phronesis.experience.laws.neighbour_graph import NOBODY, Neighbours
from phronesis.store.lane_view import LaneView
from unit.experience.laws.metrics import Given

FAILURE = SUCCESS + 1


def table_of(groups: list[int], *pairs: tuple[int, int, float]) -> EventTable:
    """Give events e0, e1, ... of so many groups, of which some pairs are alike."""
    out = np.zeros((len(groups), len(groups)), np.float32)
    for one, other, value in pairs:
        out[one, other] = out[other, one] = value
    table = EventTable(1, 0, Meaning())
    table.ids = [f"e{n}" for n in range(len(groups))]
    table.row_of = {one: n for n, one in enumerate(table.ids)}
    table.alive = set(range(len(groups)))
    table.neighbours = Neighbours(Given(out), np.array(groups))
    return table


def test_counterexamples_are_of_the_other_outcome_and_alike_on_average() -> None:
    table = table_of(
        [FAILURE, FAILURE, SUCCESS, SUCCESS, FAILURE, NOBODY, SUCCESS],
        (0, 2, 9),
        (1, 2, 7),
        (0, 3, 9),
        (1, 3, 5),
        (0, 4, 30),
        (0, 5, 30),
        (6, 4, 15),
    )
    unit = table.belonging.likeness_unit
    found = counterexamples(table, [[0, 1], [2, 3], [6]])
    assert [[(one, round(value * unit, 3)) for one, value in group] for group in found] == [
        [("e2", 8)],  # e3 has 7, less than half of the unit
        [("e0", 9)],
        [("e4", 15)],
    ]


def test_the_most_typical_members_tell_and_the_most_alike_are_named() -> None:
    size = 2 + MAX_COUNTER + 3
    table = table_of(
        [FAILURE] * 4 + [SUCCESS] * (size - 4),
        *((0, n, 30 + n % 3) for n in range(4, size)),
        *((3, n, 99) for n in range(4, size)),
    )
    [found] = counterexamples(table, [[0, 1, 2, 3]])  # the fourth is not asked
    assert [one for one, _ in found] == ["e5", "e8", "e4", "e7", "e6"][:MAX_COUNTER]
    assert found[0][1] == pytest.approx(32 / 3 / table.belonging.likeness_unit)
    assert counterexamples(table_of([FAILURE, FAILURE]), [[0, 1]]) == [[]]


@dataclass
class _Lane:
    edges: list[Edge]

    def edges_from(self, ids: Collection[str], kind: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.type == kind and edge.from_id in ids]

    def edges_to(self, ids: Collection[str], kind: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.type == kind and edge.to_id in ids]


def edge(event: int, pattern: str, weight: float, kind: str = "member_of") -> Edge:
    return Edge(
        type=kind, from_kind="item", from_id=f"e{event}", to_kind="item", to_id=pattern, entry_id="e", weight=weight
    )


def lane(*edges: Edge) -> LaneView:
    return cast("LaneView", _Lane(list(edges)))


def test_a_new_event_speaks_against_patterns_whose_most_typical_members_it_is_like() -> None:
    groups = [FAILURE] * 9 + [SUCCESS]
    table = table_of(groups, (0, 9, 9), (1, 9, 8), (2, 9, 7), (4, 9, 9), (5, 9, 3), (6, 9, 9))
    unit = table.belonging.likeness_unit
    assert unit == 15  # so that 7.5 is asked
    view = lane(
        *(edge(event, "p", weight) for event, weight in ((3, 0.1), (2, 0.7), (0, 0.9), (1, 0.8))),  # 8 on average
        *(edge(event, "q", 0.5) for event in (4, 5)),  # 6
        *(edge(event, "r", weight) for event, weight in ((6, 0.1), (5, 0.9), (7, 0.9), (8, 0.9))),  # e6 is not asked
        edge(9, "s", 0.6, "contradicts"),
        edge(0, "t", 0.6, "contradicts"),
    )
    assert members_of(view, ["p"]) == {"p": ["e0", "e1", "e2", "e3"]}
    assert spoken_against(view, table, ["e9"]) == ["p", "s"]
    assert spoken_against(view, table, ["e9", "e0"]) == ["p", "s", "t"]
    assert spoken_against(view, table, ["e3", "gone"]) == []
    table.alive.clear()
    assert spoken_against(view, table, ["e9"]) == ["s"]
