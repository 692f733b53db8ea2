"""Similarity, neighbours and clusters: exact figures on arrays small enough to reckon by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.experience.laws.clustering import (
    Grouper,
    MembershipThresholds,
    cohesion,
    distinct_groups,
    finer,
    intersect_groups,
    view_groups,
    view_of,
)
from phronesis.experience.laws.lexical_similarity import GrowableArray, TermBags, TermCosine
from phronesis.experience.laws.neighbour_graph import (
    NOBODY,
    Neighbours,
    PairConstraints,
    average_link,
    candidate_pairs,
    weights_of,
)
from phronesis.experience.laws.similarity import (
    AtLeast,
    Clusters,
    Cosine,
    DisjointSets,
    EditDistance,
    Link,
    ListedPairs,
    Nearest,
    Sets,
    SideBySide,
    Term,
    WeightedSum,
    centre_of,
    in_a_row,
)

BOUNDED = settings(max_examples=20, deadline=None)
BAGS = st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 4), max_size=6), min_size=2, max_size=12)


def floats(rows: Any) -> Any:
    return np.array(rows, dtype=np.float32)


def rows(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


class Given:
    """A metric that is a matrix."""

    name = "given"

    def __init__(self, matrix: Any) -> None:
        self.held = floats(matrix)

    @property
    def size(self) -> int:
        return len(self.held)

    def matrix(self, asked: Any, others: Any = None) -> Any:
        found = self.held[asked]
        return found.copy() if others is None else found[:, others].copy()


# Metrics.


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 1.0),
        ("abc", "abc", 1.0),
        ("abc", "abd", 2 / 3),
        ("abc", "", 0.0),
        ("kitten", "sitting", 4 / 7),
        ("ab", "ba", 0.0),
    ],
)
def test_edit_distance_is_levenshteins(one: str, other: str, expected: float) -> None:
    assert EditDistance([one, other]).matrix(rows(0), rows(1)).tolist() == [[pytest.approx(expected)]]
    assert EditDistance([one, other]).matrix(rows(1))[0, 0] == pytest.approx(expected)


def test_edit_distance_reads_the_first_400_characters() -> None:
    text = "x" * 400
    assert EditDistance([text + "a", text + "b"]).matrix(rows(0), rows(1))[0, 0] == 1.0
    shorter = "x" * 399
    assert EditDistance([shorter + "a", shorter + "b"]).matrix(rows(0), rows(1))[0, 0] == pytest.approx(399 / 400)


def test_sets_and_marks_are_compared_as_sets() -> None:
    assert Sets([{"a", "b"}, {"b", "c"}, set()]).matrix(rows(0, 1)).tolist() == [
        [1.0, pytest.approx(1 / 3), 0.0],
        [pytest.approx(1 / 3), 1.0, 0.0],
    ]
    unlike = DisjointSets([{"a"}, {"b"}, {"a", "b"}, set(), {"a"}])
    assert unlike.matrix(rows(0, 3)).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert unlike.matrix(rows(1), rows(0, 4)).tolist() == [[1, 1]]
    assert (unlike.size, Sets([set()]).size, EditDistance(["a"]).size) == (5, 1, 1)


@BOUNDED
@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 12))
def test_vectors_side_by_side_add_their_weighted_products(count: int, width: int, asked: int) -> None:
    vectors = np.random.default_rng(count).normal(size=(count, width)).astype(np.float32)
    weights = np.linspace(-1, 1, width, dtype=np.float32)
    metric = SideBySide(vectors, weights)
    wanted = (vectors * weights) @ vectors.T
    some = np.arange(0, count, 3)
    few = np.arange(min(asked, count))
    np.testing.assert_allclose(metric.matrix(few), wanted[few], atol=1e-4)
    np.testing.assert_allclose(metric.matrix(few, some), wanted[np.ix_(few, some)], atol=1e-4)
    np.testing.assert_allclose(metric.matrix(few, some[::-1]), wanted[np.ix_(few, some[::-1])], atol=1e-4)
    np.testing.assert_allclose(Cosine(vectors).matrix(few, some), (vectors @ vectors.T)[np.ix_(few, some)], atol=1e-4)
    assert metric.size == Cosine(vectors).size == count


def test_a_few_among_many_are_compared_as_all_are() -> None:
    vectors = np.random.default_rng(3).standard_normal((400, 5)).astype(np.float32)
    metric = SideBySide(vectors, np.array([1, 2, 3, -1, 0.5], np.float32))
    asked = np.arange(300)
    for others in (rows(7, 399), np.arange(0, 400, 2), np.arange(3, 399), rows(5)):
        np.testing.assert_allclose(metric.matrix(asked, others), metric.matrix(asked)[:, others], atol=1e-4)


def test_a_weighted_sum_counts_each_metric_from_its_offset() -> None:
    one, two = Given([[1, 0.5], [0.5, 1]]), Given([[0.2, 0.4], [0.6, 0.8]])
    total = WeightedSum([Term(one, 2.0, 0.5), Term(two, 10.0, 0.1)])
    np.testing.assert_allclose(total.matrix(rows(0, 1)), [[2, 3], [5, 8]], rtol=1e-6)
    np.testing.assert_allclose(WeightedSum([Term(one, 1.0)]).matrix(rows(0)), [[1, 0.5]])
    assert total.size == 2


def test_consecutive_rows_are_a_slice() -> None:
    assert in_a_row(rows(3, 4, 5)) == slice(3, 6)
    assert in_a_row(rows(7)) == slice(7, 8)
    assert np.array_equal(in_a_row(rows(3, 5)), [3, 5])  # type: ignore[arg-type]
    assert len(in_a_row(rows())) == 0  # type: ignore[arg-type]


# Edges.

SQUARE = [[1, 0.9, 0.5, 0.1], [0.9, 1, 0.5, 0.2], [0.5, 0.5, 1, 0.3], [0.1, 0.2, 0.3, 1]]


def linked(builder: Any, *among: int) -> list[tuple[int, int]]:
    return [(one.first, one.second) for one in builder.build(Given(SQUARE), rows(*(among or range(4))))]


def test_edges_join_what_reaches_the_threshold() -> None:
    assert linked(AtLeast(0.5)) == [(0, 1), (0, 2), (1, 2)]
    assert linked(AtLeast(0.51)) == [(0, 1)]
    assert linked(AtLeast(0.5), 2, 1) == [(1, 2)]
    assert linked(Nearest(1)) == [(0, 1), (0, 2), (2, 3)]
    assert linked(Nearest(1, 0.5)) == [(0, 1), (0, 2)]
    assert linked(Nearest(2, 0.2)) == [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    assert linked(ListedPairs([(2, 0), (0, 2), (3, 0), (1, 3)], 0.2)) == [(0, 2), (1, 3)]
    assert linked(ListedPairs([(2, 0), (1, 3)], 0.0), 0, 2, 3) == [(0, 2)]
    assert linked(Clusters([[0, 1, 2], [3]])) == [(0, 1), (0, 2)]
    assert linked(Clusters([[3, 2, 1]]), 1, 2, 3) == [(1, 2), (2, 3)]
    assert linked(Clusters([[0, 1]]), 0, 2) == []
    assert centre_of(floats([[9, 0.1, 0.2], [0.1, 9, 0.3], [0.2, 0.3, 9]])) == 2
    assert AtLeast(0.9).build(Given(SQUARE), rows(0, 1)) == [Link(0, 1, float(np.float32(0.9)))]


# Words.


def bags(documents: list[dict[int, int]]) -> TermBags:
    return TermBags.of([(np.array(list(one), np.int32), floats(list(one.values()))) for one in documents])


def reckoned(documents: list[dict[int, int]], *, scaled: float, counted: bool, background: int = 0) -> Any:
    total = len(documents) + background
    idf = {}
    for term in range(10):
        df = sum(term in one for one in documents)
        idf[term] = math.log(1 + (total - df + 0.5) / (df + 0.5))
    weights = np.array(
        [
            [idf[t] * (1 + math.log(one[t]) if counted else 1) if t in one else 0.0 for t in range(10)]
            for one in documents
        ]
    )
    lengths = np.maximum(np.linalg.norm(weights, axis=1), 1e-9)
    weights = weights / (lengths**scaled * lengths.mean() ** (1 - scaled))[:, None]
    return np.sqrt(np.clip(weights @ weights.T, 0, 1))


@BOUNDED
@given(BAGS, st.booleans(), st.sampled_from([1.0, 0.5]))
def test_the_cosine_of_terms_is_that_of_its_formula(
    documents: list[dict[int, int]], counted: bool, scaled: float
) -> None:
    metric = TermCosine(bags(documents), counted=counted, scaled=scaled)
    wanted = reckoned(documents, scaled=scaled, counted=counted)
    every = np.arange(len(documents))
    np.testing.assert_allclose(metric.matrix(every), wanted, atol=1e-3)
    np.testing.assert_allclose(metric.matrix(every[1:], every[:1]), wanted[1:, :1], atol=1e-3)


@BOUNDED
@given(BAGS, BAGS)
def test_added_events_are_compared_like_the_first_ones(
    first: list[dict[int, int]], later: list[dict[int, int]]
) -> None:
    metric = TermCosine(bags(first))
    metric.add(bags(later))
    every = np.arange(metric.size)
    found = metric.matrix(every)
    assert metric.size == len(first) + len(later)
    np.testing.assert_allclose(found, found.T, atol=1e-3)
    np.testing.assert_allclose(found[:, 1:3], metric.matrix(every, every[1:3]), atol=1e-3)
    for row, one in enumerate([*first, *later]):
        assert found[row, row] == pytest.approx(1.0 if one else 0.0, abs=1e-3)


def test_a_term_that_was_added_later_weighs_like_a_new_one_and_a_background_counts() -> None:
    metric = TermCosine(bags([{0: 1}, {1: 1}]), bags([{0: 1}, {0: 1}]))
    assert metric.idf(0) == pytest.approx(math.log(1 + 1.5 / 3.5))
    assert metric.idf(1) == pytest.approx(math.log(1 + 3.5 / 1.5))
    assert metric.idf(9) == pytest.approx(math.log(1 + 4.5 / 1.5))
    assert TermCosine(bags([])).matrix(rows()).shape == (0, 0)


def test_terms_of_more_than_a_fifth_are_ignored_in_large_lanes_only() -> None:
    def lane(size: int, share: float) -> TermCosine:
        return TermCosine(bags([{n + 1: 1, **({0: 1} if n < share * size else {})} for n in range(size)]))

    assert lane(500, 0.3).idf(0) > 0
    assert lane(501, 0.3).idf(0) == 0
    assert lane(505, 0.2).idf(0) > 0


def test_many_events_are_compared_through_postings_with_the_same_result() -> None:
    generator = np.random.default_rng(7)
    documents = [{int(term): 1 for term in generator.integers(0, 60, 8)} for _ in range(420)]
    metric = TermCosine(bags(documents[:400]))
    metric.add(bags(documents[400:]))
    few = rows(0, 5, 399, 410)
    whole = metric.matrix(few)
    for first, size in ((0, 400), (40, 380), (5, 415)):
        others = np.arange(first, first + size)
        np.testing.assert_allclose(metric.matrix(few, others), whole[:, others], atol=1e-3)
        np.testing.assert_allclose(metric.matrix(few, others[::-1]), whole[:, others[::-1]], atol=1e-3)
    np.testing.assert_allclose(metric.matrix(few, rows(1, 402)), whole[:, [1, 402]], atol=1e-3)


def test_rows_are_added_with_little_copying() -> None:
    held = GrowableArray(np.float32)
    held.add(floats([[1, 2]] * 16))
    assert held._held.shape == (17, 2)
    before = held._held
    held.add(floats([[3, 4]]))
    assert held._held is before
    held.add(floats([[5, 6]]))
    assert (len(held), held.rows[-2:].tolist(), held.rows[0].tolist()) == (18, [[3, 4], [5, 6]], [1, 2])
    assert held._held is not before


# Neighbours.


def lists_of(matrix: Any, groups: list[int], row: int) -> list[int]:
    found, _ = Neighbours(Given(matrix), np.array(groups)).lists(rows(row))
    return [int(one) for one in found[0] if one != NOBODY]


def test_neighbours_are_the_most_similar_of_the_same_group() -> None:
    assert lists_of(SQUARE, [0, 0, 0, 0], 0) == [1, 2, 3]
    assert lists_of(SQUARE, [0, 1, 0, 0], 0) == [2, 3]
    many = np.linspace(1, 0, 20)[None, :].repeat(20, axis=0)
    assert lists_of(many, [0] * 20, 19) == list(range(15))
    across = Neighbours(Given(SQUARE), np.array([0, 1, 0, 1])).across(rows(0))
    assert across[0, :3].tolist() == [1, 3, NOBODY]
    against = Neighbours(Given(SQUARE), np.array([0, 1, 0, 1]))
    against.lists(np.arange(4))
    assert against.against(rows(1), 0.5).tolist() == [0, 2]
    assert against.against(rows(1), 0.51).tolist() == [0]
    assert against.naming(rows(0)).tolist() == [2]


def test_weights_of_neighbours_add_up_and_pairs_are_named_once() -> None:
    nearest = np.array([[1, 2, NOBODY], [0, 2, NOBODY]])
    scores = floats([[0.6, 0.2, -np.inf], [0.5, -0.5, -np.inf]])
    np.testing.assert_allclose(weights_of(nearest, scores, 3), floats([[0.75, 0.25, 0], [1, 0, 0]]))
    np.testing.assert_allclose(weights_of(nearest, scores, 1), [[1], [1]])
    assert candidate_pairs(rows(0, 1), nearest).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert candidate_pairs(rows(), np.zeros((0, 3), np.int64)).tolist() == []


def test_two_events_share_what_their_lists_share() -> None:
    neighbours = Neighbours(Given(SQUARE), np.zeros(4, np.int64))
    shared = neighbours.shared(np.arange(4), (1,))
    # The first two are each other's nearest: lists (0.2, 1) and (1, 0.2).
    assert shared[0, 1] == pytest.approx(0.4 / 1.04)
    assert shared[0, 2] == pytest.approx(0.2 / 1.04)
    np.testing.assert_allclose(np.diag(neighbours.shared(np.arange(4))), 1.0, rtol=1e-6)


# Clusters.


def test_average_linkage_joins_up_to_the_threshold() -> None:
    near = floats([[1, 0.8, 0.5], [0.8, 1, 0.7], [0.5, 0.7, 1]])
    assert average_link(near, threshold=0.8) == [[0, 1], [2]]
    assert average_link(near, threshold=0.81) == [[0], [1], [2]]
    assert average_link(near, threshold=0.599) == [[0, 1, 2]]
    assert average_link(near, threshold=0.61) == [[0, 1], [2]]
    assert average_link(near, threshold=0.5, apart=[(0, 2)]) == [[0, 1], [2]]
    assert average_link(near, threshold=9, together=[(2, 0)]) == [[0, 2], [1]]
    assert average_link(near, threshold=9, together=[(2, 0), (0, 2)], apart=[(2, 0)]) == [[0], [1], [2]]
    assert average_link(near, threshold=9, together=[(0, 1), (1, 2)], apart=[(0, 2)]) == [[0, 1], [2]]
    assert average_link(near[:0, :0], threshold=1) == []


def test_how_similar_two_events_must_be() -> None:
    plain = MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8)
    assert (plain.by_itself(10), plain.likeness_unit) == (0.8, 0.5)
    assert MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8, unit=0.6).likeness_unit == 0.6
    early = MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8, early=0.6, rising=0.1)
    assert [round(early.by_itself(size), 6) for size in (2, 30, 60, 120, 9999)] == [0.6, 0.6, 0.7, 0.8, 0.8]
    assert MembershipThresholds(shared=0.2, threshold=0.5, alone=0.8, early=0.6).by_itself(9999) == 0.6
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
    assert finer([[4, 3, 2, 1]], [[1, 2, 3, 4, 5]]) == []
    assert finer([[3, 2, 1], [1, 2, 3]], [[1, 2, 3, 4, 5]]) == [[1, 2, 3]]
    assert distinct_groups([[3, 2, 1], [7, 8, 9]], [[1, 2, 3, 4, 5]]) == [[7, 8, 9]]
    matrix = np.full((7, 7), 0.1)
    matrix[:3, :3] = matrix[3:5, 3:5] = 0.9
    assert view_groups(Given(matrix), AtLeast(0.5), threshold=0.5) == [[0, 1, 2]]


def test_groups_follow_similarity_and_what_people_said() -> None:
    matrix = np.full((6, 6), 0.1)
    matrix[:3, :3] = matrix[3:, 3:] = 0.9
    belonging = MembershipThresholds(shared=0.0, threshold=0.5, alone=0.5)

    def groups(bonds: PairConstraints = PairConstraints(), *among: int) -> list[list[int]]:  # noqa: B008
        grouper = Grouper(Neighbours(Given(matrix), np.zeros(6, np.int64)), belonging, bonds)
        return grouper.groups(rows(*(among or range(6))))

    assert groups() == [[0, 1, 2], [3, 4, 5]]
    assert groups(PairConstraints(), 5, 4, 0) == [[4, 5]]
    assert groups(PairConstraints(apart=((0, 1), (0, 2)))) == [[1, 2], [3, 4, 5]]
    assert groups(PairConstraints(together=((0, 3),)), 0, 3) == [[0, 3]]
    assert groups(PairConstraints(together=((0, 3),)), 0, 4) == []
    assert PairConstraints(((0, 3),), ((3, 5), (0, 1))).among(rows(3, 5, 0)) == PairConstraints(((2, 0),), ((0, 1),))
