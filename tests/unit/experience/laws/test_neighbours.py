"""Lists of neighbours are exact however events come, and tell what two events share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws import neighbour_graph
from phronesis.experience.laws.neighbour_graph import KEPT, NOBODY, Neighbours
from unit.experience.laws.metrics import Given, drawn, rows


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
    gone = data.draw(st.sets(st.integers(0, size - 1)))
    lists.forget(gone)
    groups[sorted(gone)] = NOBODY
    nearest, scores = lists.lists(np.arange(size))
    for row in range(size):
        told = [n for n in nearest[row].tolist() if n != NOBODY]
        assert told == ([] if row in gone else expected(metric.alike, groups.tolist(), row))
        assert scores[row, : len(told)].tolist() == metric.alike[row, told].tolist()


@given(st.integers(9, 60), st.integers(0, 99), st.integers(2, 20), st.data())
def test_lists_that_are_made_in_one_go_are_those_made_one_by_one(
    size: int, seed: int, block: int, data: st.DataObject
) -> None:
    metric, groups = drawn(size, seed), groups_of(size, seed)
    groups[sorted(data.draw(st.sets(st.integers(0, size - 1))))] = NOBODY
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbour_graph, "BLOCK", block)
        lists = Neighbours(metric, groups.copy())
        everybody = np.flatnonzero(groups != NOBODY)
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
    assert lists.against(rows(1), 7).tolist() == [0]
    assert lists.against(rows(1), 8).tolist() == lists.against(rows(), 0).tolist() == []
    assert lists.against(rows(0), 5).tolist() == [1, 3]  # the list of 2 was not asked for
    lists.forget([3])
    assert lists.across(rows(0, 3))[:, :3].tolist() == [[1, 2, NOBODY], [NOBODY, NOBODY, NOBODY]]
