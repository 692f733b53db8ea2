"""Metrics compare rows, can be added up, and give the same for some as for all."""

import numpy as np
import pytest

from phronesis.core.experience.similarity import Cosine, SimilarityMetric, Term, Unlike, WeightedSum

VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [0, 0]], np.float32)
MARKED = Unlike([{"a", "b"}, {"b"}, set(), {"c"}])
METRICS = (Cosine(VECTORS), MARKED, WeightedSum([Term(Cosine(VECTORS), 2.0), Term(MARKED, -3.0, 0.5)]))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_some_rows_are_compared_as_all_are(metric: SimilarityMetric) -> None:
    everybody = np.arange(metric.size)
    whole = metric.matrix(everybody)
    assert metric.size == 4 == len(whole)
    assert whole.dtype == np.float32
    assert np.allclose(whole, whole.T)
    some, others = np.array([3, 0]), np.array([1, 2])
    assert np.allclose(metric.matrix(some, others), whole[np.ix_(some, others)])
    assert np.allclose(metric.matrix(some), whole[some])


def test_the_cosine_of_what_has_no_vector_is_none() -> None:
    assert Cosine(VECTORS).matrix(np.array([3, 2]))[:, 1].tolist() == pytest.approx([0.0, 0.8])


def test_marks_tell_apart_where_both_have_some_and_share_none() -> None:
    assert MARKED.matrix(np.array([0]))[0].tolist() == [0.0, 0.0, 0.0, 1.0]


def test_a_sum_weighs_what_is_above_the_offset() -> None:
    assert METRICS[2].matrix(np.array([0]), np.array([1, 3]))[0].tolist() == pytest.approx([1.5, -1.5])
