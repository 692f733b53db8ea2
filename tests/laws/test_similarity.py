"""Similarity of events: exact figures on arrays small enough to reckon by hand."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core.vectors import jaccard
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine
from phronesis.experience.laws.ranking import Centre
from phronesis.experience.laws.similarity import (
    AtLeast,
    Clusters,
    Cosine,
    DisjointSets,
    Link,
    ListedPairs,
    Nearest,
    Pairwise,
    SideBySide,
    Term,
    WeightedSum,
    edit_similarity,
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
        ("a", "", 0.0),
        ("kitten", "sitting", 4 / 7),
        ("x" * 400 + "a", "x" * 400 + "b", 1.0),
    ],
)
def test_edit_distance_is_levenshteins(one: str, other: str, expected: float) -> None:
    metric = Pairwise([one, other], edit_similarity)
    assert (
        metric.matrix(rows(0), rows(1)).tolist()
        == metric.matrix(rows(1))[:, :1].tolist()
        == [[pytest.approx(expected)]]
    )


def test_sets_and_marks_are_compared_as_sets() -> None:
    assert Pairwise([{"a", "b"}, {"b", "c"}, set()], jaccard).matrix(rows(0, 1)).tolist() == [
        [1.0, pytest.approx(1 / 3), 0.0],
        [pytest.approx(1 / 3), 1.0, 0.0],
    ]
    unlike = DisjointSets([{"a"}, {"b"}, {"a", "b"}, set(), {"a"}])
    assert unlike.matrix(rows(0, 3)).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert unlike.matrix(rows(1), rows(0, 4)).tolist() == [[1, 1]]
    assert (unlike.size, Pairwise(["a"], edit_similarity).size) == (5, 1)


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


def test_a_weighted_sum_counts_each_metric_from_its_offset() -> None:
    one, two = Given([[1, 0.5], [0.5, 1]]), Given([[0.2, 0.4], [0.6, 0.8]])
    total = WeightedSum([Term(one, 2.0, 0.5), Term(two, 10.0, 0.1)])
    np.testing.assert_allclose(total.matrix(rows(0, 1)), [[2, 3], [5, 8]], rtol=1e-6)
    np.testing.assert_allclose(WeightedSum([Term(one, 1.0)]).matrix(rows(0)), [[1, 0.5]])
    assert total.size == 2


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


# Centred vectors.

CHANCE = np.random.default_rng(5)
COMMON = np.array([5.0, 0, 0, 0, 0, 0], np.float32)
LANGUAGES = (0,) * 6 + (1,) * 6
SPOKEN = np.array([[0, 3.0 * one, 0, 0, 0, 0] for one in LANGUAGES], np.float32)


def said(size: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return (CHANCE.normal(size=(size, 6)) * [0, 0, 1, 1, 1, 1]).astype(np.float32) + COMMON


UNRELATED = said(12) + SPOKEN
EVEN = np.tile(said(6), (2, 1)) + SPOKEN
"""The same six texts in two languages."""


def test_vectors_are_of_length_one_and_those_of_nothing_stay_so() -> None:
    events = said(30)
    events[4] = 0
    centred = Centre.of(events, UNRELATED, LANGUAGES).centred(events)
    lengths = np.linalg.norm(centred, axis=1)
    assert lengths[4] == 0
    assert np.delete(lengths, 4) == pytest.approx(1.0)
    assert centred.dtype == np.float32


def test_one_lesson_in_two_languages_is_the_same() -> None:
    english = said(8)
    chinese = english + np.array([0, 3.0, 0, 0, 0, 0], np.float32)
    both = np.concatenate((english, chinese))
    likeness = []
    for languages in ((), LANGUAGES):
        centred = Centre.of(both, EVEN, languages).centred(both)
        likeness.append((centred[:8] * centred[8:]).sum(axis=1))
    assert likeness[0].max() < 0.8
    assert likeness[1].min() > 0.99
