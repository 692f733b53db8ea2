"""Edges between those of some pairs that are alike enough."""

import numpy as np
import pytest

from phronesis.core.experience.edge_building import EdgeBuilder, Link, Listed
from unit.core.experience.metrics import Given, drawn, rows

METRIC = Given(np.array([[9, 5, 1, 5], [5, 9, 4, 0], [1, 4, 9, 2], [5, 0, 2, 9]], np.float32))


@pytest.mark.parametrize(
    ("builder", "expected"),
    [
        (Listed([(3, 2), (1, 0), (1, 3), (0, 1)], 2), [(0, 1, 5), (2, 3, 2)]),
        (Listed([], 2), []),
    ],
)
def test_edges_are_drawn_once_and_in_order(builder: EdgeBuilder, expected: list[Link]) -> None:
    assert builder.build(METRIC, rows(0, 1, 2, 3)) == expected


def test_edges_stay_among_the_rows() -> None:
    metric, some = drawn(8, 3), rows(6, 4, 1)
    links = Listed([(1, 4), (4, 6), (0, 2)], 0).build(metric, some)
    assert links == sorted(links)
    for link in links:
        assert {link.first, link.second} <= {1, 4, 6}
        assert link.first < link.second
        assert link.weight == metric.alike[link.first, link.second]
