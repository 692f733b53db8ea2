"""Average link: what it promises of the averages, whatever it is given."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.neighbour_graph import average_link
from unit.experience.laws.metrics import drawn

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=4)


@given(st.integers(0, 200), PAIRS, PAIRS)
def test_bonds_hold_and_to_be_apart_outweighs_to_be_together(
    seed: int, together: list[tuple[int, int]], apart: list[tuple[int, int]]
) -> None:
    groups = average_link(drawn(10, seed).alike, threshold=3, together=together, apart=apart)
    place = {row: n for n, group in enumerate(groups) for row in group}
    assert all(place[one] != place[other] for one, other in apart)
    if not apart:
        assert all(place[one] == place[other] for one, other in together)


def by_definition(alike: np.ndarray[tuple[int, int], np.dtype[np.float64]], threshold: float) -> list[list[int]]:
    """Give the groups by a look at every pair for every join."""
    groups = {row: [row] for row in range(len(alike))}
    while len(groups) > 1:
        one, other = max(combinations(sorted(groups), 2), key=lambda pair: alike[pair])
        if alike[one, other] < threshold:
            break
        here, there = len(groups[one]), len(groups[other])
        alike[one] = alike[:, one] = (here * alike[one] + there * alike[other]) / (here + there)
        groups[one] += groups.pop(other)
    return sorted(map(sorted, groups.values()))


@given(st.data(), st.integers(1, 9), st.integers(-1, 4))
def test_they_are_those_of_a_look_at_every_pair_where_many_are_alike(
    data: st.DataObject, size: int, threshold: int
) -> None:
    alike = np.zeros((size, size), np.float32)
    for one, other in combinations(range(size), 2):
        alike[one, other] = alike[other, one] = data.draw(st.integers(-2, 5))
    assert average_link(alike, threshold=threshold) == by_definition(alike.astype(np.float64), threshold)
