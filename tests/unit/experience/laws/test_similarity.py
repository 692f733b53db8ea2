"""Metrics compare rows, can be added up, and give the same for some as for all."""

import numpy as np
import pytest

from phronesis.experience.laws.similarity import (
    Cosine,
    EditDistance,
    Sets,
    SideBySide,
    SimilarityMetric,
    Term,
    WeightedSum,
)

VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [0, 0]], np.float32)
BESIDE = np.concatenate([VECTORS, VECTORS.any(axis=1, keepdims=True), VECTORS], axis=1).astype(np.float32)
METRICS = (
    Cosine(VECTORS),
    Sets([{"a", "b"}, {"b"}, set(), {"a", "b"}]),
    EditDistance(["simp", "simpa", "", "omega"]),
    WeightedSum([Term(Cosine(VECTORS), 2.0), Term(Sets([{"a"}, {"a"}, set(), {"b"}]), 3.0, 0.5)]),
    SideBySide(BESIDE, np.array([1, 1, -0.5, 2, 2], np.float32)),
    WeightedSum([Term(Cosine(VECTORS), 1.0, 0.25)]),
)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: type(metric).__name__)
def test_some_rows_are_compared_as_all_are(metric: SimilarityMetric) -> None:
    everybody = np.arange(metric.size)
    whole = metric.matrix(everybody)
    assert metric.size == 4 == len(whole)
    assert whole.dtype == np.float32
    assert np.allclose(whole, whole.T)
    some = np.array([3, 0])
    for others in (np.array([1, 2]), np.array([2, 1]), np.array([1]), np.array([], np.int64)):
        assert np.allclose(metric.matrix(some, others), whole[np.ix_(some, others)])
    assert np.allclose(metric.matrix(some), whole[some])


def test_a_few_among_many_are_compared_as_all_are() -> None:
    vectors = np.random.default_rng(3).standard_normal((400, 5)).astype(np.float32)
    metric = SideBySide(vectors, np.array([1, 2, 3, -1, 0.5], np.float32))
    asked = np.arange(300)
    for others in (np.array([7, 399]), np.arange(0, 400, 2), np.arange(3, 399), np.array([5])):
        assert np.allclose(metric.matrix(asked, others), metric.matrix(asked)[:, others], atol=1e-4)
