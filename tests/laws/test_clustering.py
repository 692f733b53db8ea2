"""Neighbours and groups of events: exact, the same for all at once as for a part, and within what people said."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws import clustering, neighbour_graph
from phronesis.experience.laws.clustering import (
    Grouper,
    MembershipThresholds,
    cohesion,
    distinct_groups,
    intersect_groups,
    shared_of,
    view_groups,
    view_of,
)
from phronesis.experience.laws.neighbour_graph import (
    KEPT,
    NOBODY,
    ImpliedPairs,
    Neighbours,
    PairConstraints,
    average_link,
    link_events,
    resolve_pairs,
    separate_parts,
)
from phronesis.experience.laws.similarity import AtLeast, Floats, Rows

SQUARE = [[1, 0.9, 0.5, 0.1], [0.9, 1, 0.5, 0.2], [0.5, 0.5, 1, 0.3], [0.1, 0.2, 0.3, 1]]


def floats(held: Any) -> Floats:
    return np.array(held, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Given:
    """Likeness as it stands there."""

    alike: Floats

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.alike)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Give a part of it."""
        return self.alike[rows] if others is None else self.alike[np.ix_(rows, others)]

    def first(self, size: int) -> "Given":
        """Give the likeness of the first events alone."""
        return Given(self.alike[:size, :size])


def rows(*numbers: int) -> Rows:
    """Give row numbers."""
    return np.array(numbers, dtype=np.int64)


def drawn(size: int, seed: int, levels: int = 7) -> Given:
    """Give a symmetric metric with many ties."""
    chance = np.random.default_rng(seed)
    half = np.triu(chance.integers(-2, levels, (size, size)), 1).astype(np.float32)
    return Given(half + half.T)


def crowds(sizes: tuple[int, ...], inside: float = 8.0, seed: int = 0) -> Given:
    """Give a metric under which some crowds are alike, and nobody else."""
    chance = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    same: npt.NDArray[np.bool_] = owner[:, None] == owner[None, :]
    noise = np.triu(chance.normal(0, 0.2, same.shape), 1)
    return Given((np.where(same, inside, 0.0) + noise + noise.T).astype(np.float32))


BELONGING = MembershipThresholds(shared=2.0, threshold=4.0, alone=6.0)


def grouper(metric: Given) -> Grouper:
    return Grouper(Neighbours(metric, np.zeros(metric.size, np.int64)), BELONGING)


def test_a_component_too_large_is_taken_apart_or_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "MAX_COMPARED", 6)
    chained = crowds((5, 5))
    chained.alike[0, 5] = chained.alike[5, 0] = 5.0
    assert grouper(chained).groups(np.arange(10)) == [[*range(5)], [*range(5, 10)]]
    same = crowds((9,), inside=50.0)
    assert grouper(same).groups(np.arange(9)) == [[*range(9)]]


# Average link: what it promises of the averages, whatever it is given.


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


# Merges and splits as pairs of events: few, free of contradictions, and what was said last holds.


IDS = [f"e{n}" for n in range(8)]
SOME = st.lists(st.sampled_from(IDS), min_size=2, unique=True)
SAID = st.lists(st.tuples(st.booleans(), SOME, st.integers(1, 7)), max_size=5)


def parts_of(ids: list[str], cut: int) -> list[list[str]]:
    place = min(cut, len(ids) - 1)
    return [ids[:place], ids[place:]]


def said(history: list[tuple[bool, list[str], int]]) -> ImpliedPairs:
    drawn = ImpliedPairs()
    for together, ids, cut in history:
        drawn = link_events(ids, drawn) if together else separate_parts(parts_of(ids, cut), drawn)
    return drawn


def agrees(drawn: ImpliedPairs) -> bool:
    part_of = drawn.part_of()
    return all(part_of[one] != part_of[other] for one, other in drawn.apart)


@given(history=SAID, ids=SOME)
def test_what_was_merged_last_is_together(history: list[tuple[bool, list[str], int]], ids: list[str]) -> None:
    before = said(history)
    after = link_events(ids, before)
    assert len({after.part_of()[one] for one in ids}) == 1
    assert len(after.together - before.together) < len(ids)
    assert agrees(after)


@given(history=SAID, ids=SOME, cut=st.integers(1, 7))
def test_what_was_split_last_is_apart_and_each_part_together(
    history: list[tuple[bool, list[str], int]], ids: list[str], cut: int
) -> None:
    before, parts = said(history), parts_of(ids, cut)
    after = separate_parts(parts, before)
    part_of = after.part_of()
    where = [{part_of[one] for one in part} for part in parts]
    assert [len(found) for found in where] == [1, 1]
    assert where[0] != where[1]
    assert any({part_of[one], part_of[other]} == where[0] | where[1] for one, other in after.apart)
    assert len(after.together - before.together) + len(after.apart - before.apart) <= len(ids)
    assert agrees(after)


def test_what_was_split_is_apart_only_where_both_are_in_one_group() -> None:
    drawn = separate_parts([["a", "b"], ["c", "d"]], link_events(["a", "b", "c", "d"], ImpliedPairs()))
    rows = {"a": 0, "b": 1, "c": 2}
    assert resolve_pairs(drawn, rows, {0: 7, 1: 7, 2: 7}) == PairConstraints(together=((0, 1),), apart=((0, 2),))
    assert resolve_pairs(drawn, rows, {0: 7, 1: 7, 2: 8}) == PairConstraints(together=((0, 1),), apart=())
    assert resolve_pairs(drawn, {"d": 4}, {4: 7}) == PairConstraints(together=(), apart=())


# Lists of neighbours are exact however events come, and tell what two events share.


def groups_of(size: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, 2, size)


def expected(alike: np.ndarray[tuple[int, int], np.dtype[np.float32]], groups: list[int], row: int) -> list[int]:
    """Give the neighbours of a row, slowly: of equals the one that came first."""
    others = [n for n in range(len(groups)) if n != row and groups[n] == groups[row] != NOBODY]
    return sorted(others, key=lambda n: (-alike[row, n], n))[:KEPT]


@given(st.integers(1, 40), st.integers(0, 99), st.data())
def test_lists_that_grew_are_those_made_from_scratch(size: int, seed: int, data: st.DataObject) -> None:
    metric, groups = drawn(size, seed), groups_of(size, seed)
    begin = data.draw(st.integers(1, size))
    lists = Neighbours(metric.first(begin), groups[:begin].copy())
    asked = np.array(sorted(data.draw(st.sets(st.integers(0, begin - 1)))), dtype=np.int64)
    lists.lists(asked)
    while begin < size:
        begin = data.draw(st.integers(begin + 1, size))
        lists.grow(metric.first(begin), groups[:begin].copy())
    nearest, scores = lists.lists(np.arange(size))
    for row in range(size):
        told = [n for n in nearest[row].tolist() if n != NOBODY]
        assert told == expected(metric.alike, groups.tolist(), row)
        assert scores[row, : len(told)].tolist() == metric.alike[row, told].tolist()


@given(st.integers(9, 60), st.integers(0, 99), st.integers(2, 20))
def test_lists_that_are_made_in_one_go_are_those_made_one_by_one(size: int, seed: int, block: int) -> None:
    metric, groups = drawn(size, seed), groups_of(size, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour_graph, "BLOCK", block)
        lists = Neighbours(metric, groups.copy())
        everybody = np.arange(size)
        nearest, scores = lists.lists(everybody)
        across = lists.across(everybody)
    alone = Neighbours(metric, groups.copy())
    for n, row in enumerate(everybody.tolist()):
        own, alike = alone.lists(rows(row))
        assert nearest[n].tolist() == own[0].tolist()
        assert [one for one in own[0].tolist() if one != NOBODY] == expected(metric.alike, groups.tolist(), row)
        assert scores[n].tolist() == alike[0].tolist()
        assert across[n].tolist() == alone.across(rows(row))[0].tolist()


def test_the_nearest_of_the_other_group_stand_beside_and_grow_too() -> None:
    alike = np.array([[0, 7, 5, 9], [7, 0, 2, 4], [5, 2, 0, 6], [9, 4, 6, 0]], dtype=np.float32)
    groups = np.array([0, 1, 1, 1])
    lists = Neighbours(Given(alike[:3, :3]), groups[:3])
    assert lists.across(rows(0, 1))[:, :3].tolist() == [[1, 2, NOBODY], [0, NOBODY, NOBODY]]
    lists.grow(Given(alike), groups)
    assert lists.across(rows(0, 1, 3))[:, :3].tolist() == [[3, 1, 2], [0, NOBODY, NOBODY], [0, NOBODY, NOBODY]]
    assert lists.lists(rows(0, 3))[0][:, :3].tolist() == [[NOBODY, NOBODY, NOBODY], [2, 1, NOBODY]]
    assert lists.naming(rows(3)).tolist() == [1]
    assert lists.against(rows(1), 7).tolist() == [0]
    assert lists.against(rows(1), 8).tolist() == lists.against(rows(), 0).tolist() == []
    assert lists.against(rows(0), 5).tolist() == [1, 3]  # the list of 2 was not asked for


def test_two_events_share_what_their_lists_share() -> None:
    neighbours = Neighbours(Given(floats(SQUARE)), np.zeros(4, np.int64))
    everybody = np.arange(4)
    shared = shared_of((rows(0, 0), rows(1, 2)), everybody, neighbours.lists(everybody), (1,))
    # The first two are each other's nearest: lists (0.2, 1) and (1, 0.2).
    assert shared.tolist() == [pytest.approx(0.4 / 1.04), pytest.approx(0.2 / 1.04)]
    assert shared_of((rows(3), rows(3)), everybody, neighbours.lists(everybody))[0] == pytest.approx(1.0)


def test_how_similar_two_events_must_be() -> None:
    plain = MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8)
    assert (plain.lone_pair_threshold(10), plain.likeness_unit) == (0.8, 0.5)
    assert MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8, unit=0.6).likeness_unit == 0.6
    early = MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8, early=0.6, rising=0.1)
    assert [round(early.lone_pair_threshold(size), 6) for size in (2, 30, 60, 120, 9999)] == [0.6, 0.6, 0.7, 0.8, 0.8]
    assert MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8, early=0.6).lone_pair_threshold(9999) == 0.6
    alike, shared = floats([0.4, 0.8]), floats([0.5, 0.0])
    np.testing.assert_allclose(plain.units(alike, shared, 100), [1.0, 1.6])
    np.testing.assert_allclose(plain.units(alike, shared, 900), [1.0, 1.6])
    np.testing.assert_allclose(plain.units(alike, shared, 50), [0.9, 1.6])


def test_groups_of_views_are_crossed_and_those_alike_left_out() -> None:
    assert cohesion(floats([[9, 1, 2], [1, 9, 3], [2, 3, 9]])) == 2.0
    assert cohesion(floats([[1]])) is None
    assert view_of({"situation": 1.5, "attempt": 1.6, "goal": 1.49}) == "situation+attempt"
    assert view_of({"goal": 0.2, "result": 0.3}) == "result"
    assert view_of({"result": 0.9, "situation": 0.9}) == "situation"
    assert view_of({"goal": 0.0}) == view_of({}) == "attempt+result"
    assert intersect_groups([[0, 1, 2, 3, 4, 5]], [[0, 1, 2], [3, 4, 5, 9, 8, 7]]) == [[3, 4, 5]]
    assert intersect_groups([[0, 1, 8, 9]], [[0, 1, 5, 6]]) == []
    assert distinct_groups([[4, 3, 2, 1]], [[1, 2, 3, 4, 5]]) == []
    assert distinct_groups([[3, 2, 1], [1, 2, 3]], [[1, 2, 3, 4, 5]]) == [[1, 2, 3]]
    assert distinct_groups([[3, 2, 1], [7, 8, 9]], [[1, 2, 3, 4, 5]], subsets=False) == [[7, 8, 9]]
    matrix = np.full((7, 7), 0.1)
    matrix[:3, :3] = matrix[3:5, 3:5] = 0.9
    assert view_groups(Given(floats(matrix)), AtLeast(0.5), threshold=0.5) == [[0, 1, 2]]


def test_groups_follow_similarity_and_what_people_said() -> None:
    matrix = np.full((6, 6), 0.1)
    matrix[:3, :3] = matrix[3:, 3:] = 0.9
    belonging = MembershipThresholds(shared=0.0, threshold=0.5, alone=0.5)

    def groups(bonds: PairConstraints = PairConstraints(), *among: int) -> list[list[int]]:  # noqa: B008
        grouper = Grouper(Neighbours(Given(floats(matrix)), np.zeros(6, np.int64)), belonging, bonds)
        return grouper.groups(rows(*(among or range(6))))

    assert groups() == [[0, 1, 2], [3, 4, 5]]
    assert groups(PairConstraints(), 5, 4, 0) == [[4, 5]]
    assert groups(PairConstraints(apart=((0, 1), (0, 2)))) == [[1, 2], [3, 4, 5]]
    assert groups(PairConstraints(together=((0, 3),)), 0, 3) == [[0, 3]]
    assert groups(PairConstraints(together=((0, 3),)), 0, 4) == []
    assert PairConstraints(((0, 3),), ((3, 5), (0, 1))).among(rows(3, 5, 0)) == PairConstraints(((2, 0),), ((0, 1),))
