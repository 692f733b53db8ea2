"""Joining by what was learned: what is looked at again is what a fresh look would find, and bonds hold."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.experience.grouping import Belonging, Bonds, Grouper
from phronesis.core.experience.joining import LEAST, MANY, MOST, SAID, Joining, Merging, learned_link
from phronesis.core.experience.linking import Matrix, average_link
from phronesis.core.experience.neighbours import Neighbours
from phronesis.core.experience.similarity import Floats
from unit.core.experience.metrics import crowds, drawn, rows

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]), max_size=4)


def by_likeness(said: Matrix) -> Matrix:
    odds: Matrix = said[:, 0] - 1.0
    return odds


def a_network(seed: int, hidden: int = 6) -> Joining:
    rng = np.random.default_rng(seed)
    return Joining(
        np.array([1.0, 0.3, 0.6, 0.9, 0.7, 4.0]), np.array([0.4, 0.5, 0.5, 0.3, 0.3, 1.0]),
        rng.standard_normal((SAID + 1, hidden)), rng.standard_normal(hidden + 1),
    )  # fmt: skip


def said_of(alike: Floats, groups: list[list[int]], one: list[int], other: list[int], events: int) -> list[float]:
    """Give what is to be said of two groups, by a look at all."""

    def across(first: list[int], second: list[int]) -> float:
        return float(alike[np.ix_(first, second)].astype(np.float64).mean())

    besides = [max([LEAST, *(across(first, third) for third in groups if third not in (one, other))])
               for first in (one, other)]  # fmt: skip
    sizes = sorted(np.log(np.minimum([len(one), len(other)], MANY)).tolist())
    return [across(one, other), *sizes, max(besides), min(besides), float(np.log(min(events, MOST)))]


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from([0.2, 0.35]))
def test_what_is_said_of_groups_is_what_a_fresh_look_at_them_finds(seed: int, network: int, unit: float) -> None:
    alike = drawn(10, seed).alike * np.float32(unit)
    merging = Merging(alike, a_network(network), events=30)
    while (found := merging.likeliest()) is not None:
        groups = merging.groups.found()
        firsts = np.array([group[0] for group in groups])
        for (a, one), (b, other) in combinations(enumerate(groups), 2):
            odds = merging.odds[firsts[a], firsts[b]]
            assert merging.odds[firsts[b], firsts[a]] == odds
            expected = said_of(alike, groups, one, other, 30)
            if expected[0] < LEAST - 1e-9:
                assert odds == -np.inf
            elif expected[0] > LEAST + 1e-9:
                assert odds == pytest.approx(float(a_network(network)(np.array([expected]))[0]))
        merging.join(*found[:2])
    assert not np.isfinite(merging.odds).any()


@given(st.integers(0, 200))
def test_judged_by_likeness_it_is_average_link(seed: int) -> None:
    alike = drawn(10, seed).alike * np.float32(0.3)
    assert learned_link(alike, by_likeness, events=10) == average_link(alike, threshold=1.0)


@given(st.integers(0, 200), st.integers(0, 20), PAIRS, PAIRS)
def test_bonds_hold_and_to_be_apart_outweighs_to_be_together(
    seed: int, network: int, together: list[tuple[int, int]], apart: list[tuple[int, int]]
) -> None:
    alike = drawn(10, seed).alike * np.float32(0.3)
    groups = learned_link(alike, a_network(network), events=10, together=together, apart=apart)
    assert sorted(row for group in groups for row in group) == list(range(10))
    assert groups == sorted(map(sorted, groups))
    place = {row: n for n, group in enumerate(groups) for row in group}
    assert all(place[one] != place[other] for one, other in apart)
    if not apart:
        assert all(place[one] == place[other] for one, other in together)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_few_rows(size: int) -> None:
    alike = np.full((size, size), 2.0, np.float32)
    assert learned_link(alike, by_likeness, events=size) == ([list(range(size))] if size else [])


def test_a_lane_larger_than_what_was_learned_from_is_no_other() -> None:
    alike = drawn(6, 3).alike
    odds = [Merging(alike, a_network(1), events=events).odds for events in (10, MOST, 50 * MOST)]
    assert not np.array_equal(odds[0], odds[1])
    assert np.array_equal(odds[1], odds[2])


def test_what_was_learned_asks_as_much_as_one_wants() -> None:
    network = a_network(5)
    said = np.random.default_rng(1).random((4, SAID))
    share = 1 / (1 + np.exp(-network(said)))
    assert (network.asking(0.7)(said) >= 0).tolist() == (share >= 0.7).tolist()
    assert network.asking(0.5)(said) == pytest.approx(network(said))


def test_groups_of_a_lane_are_joined_as_was_learned() -> None:
    held = crowds((3, 4, 1))
    neighbours = Neighbours(held, np.zeros(8, np.int64))
    belonging = Belonging(shared=0.0, threshold=4.0, alone=4.0)
    plain = Grouper(neighbours, belonging)
    assert plain.groups(rows(*range(8))) == [[0, 1, 2], [3, 4, 5, 6]]

    def pairs_alone(said: Matrix) -> Matrix:
        odds: Matrix = np.where(said[:, 2] > 0, -1.0, said[:, 0])
        return odds

    learned = Grouper(neighbours, belonging, joining=pairs_alone)
    found = learned.groups(rows(*range(8)))
    assert [len(group) for group in found] == [2, 2, 2]
    bound = Grouper(neighbours, belonging, Bonds(together=[(0, 7)], apart=[(3, 4)]), joining=pairs_alone)
    found = bound.groups(rows(*range(8)))
    assert [0, 7] in found
    assert not any({3, 4} <= set(group) for group in found)
