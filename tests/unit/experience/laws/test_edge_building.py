"""Edges by a threshold, to the nearest, from a list, and from clusters."""

import numpy as np

from phronesis.experience.laws.similarity import AT_ONCE, AtLeast, Clusters, EdgeBuilder, ListedPairs, Nearest
from unit.experience.laws.metrics import Given, drawn, rows

METRIC = Given(np.array([[9, 5, 1, 5], [5, 9, 4, 0], [1, 4, 9, 2], [5, 0, 2, 9]], np.float32))


def test_edges_are_drawn_once_and_in_order() -> None:
    cases: list[tuple[EdgeBuilder, list[tuple[int, int, int]]]] = [
        (AtLeast(4), [(0, 1, 5), (0, 3, 5), (1, 2, 4)]),
        (Nearest(1), [(0, 1, 5), (0, 3, 5), (1, 2, 4)]),  # of two that are as near the first
        (Nearest(1, 5), [(0, 1, 5), (0, 3, 5)]),
        (Nearest(2, 2), [(0, 1, 5), (0, 3, 5), (1, 2, 4), (2, 3, 2)]),
        (ListedPairs([(3, 2), (1, 0), (1, 3), (0, 1)], 2), [(0, 1, 5), (2, 3, 2)]),
        (Clusters([[0, 1, 2], [3]]), [(0, 1, 5), (1, 2, 4)]),
    ]
    for builder, expected in cases:
        assert builder.build(METRIC, rows(0, 1, 2, 3)) == expected, builder


def test_many_pairs_are_compared_a_part_at_a_time() -> None:
    metric = drawn(40, 3)
    pairs = [(one, other) for one in range(40) for other in range(one)]
    assert len(pairs) > 2 * AT_ONCE
    every = rows(*range(40))
    assert ListedPairs(pairs, 2).build(metric, every) == AtLeast(2).build(metric, every)


def test_a_cluster_of_which_one_member_is_asked_for_has_no_edge() -> None:
    assert Clusters([[0, 1], [2, 3]]).build(METRIC, rows(0, 2, 3)) == [(2, 3, 2)]
