"""The likeness of words: of rare ones above all, the same for some rows as for all, and for rows that come later."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws import lexical_similarity
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine, Terms

TEXTS = st.lists(st.lists(st.integers(0, 12), max_size=8), min_size=1, max_size=12)
SOME = pytest.mark.parametrize(("counted", "scaled"), [(True, 1.0), (False, 0.5), (True, 0.5)])


def bag(terms: list[int]) -> tuple[Terms, np.ndarray[tuple[int], np.dtype[np.float32]]]:
    known = sorted(set(terms))
    return np.array(known, np.int32), np.array([terms.count(one) for one in known], np.float32)


def bags(texts: list[list[int]]) -> TermBags:
    return TermBags.of([bag(terms) for terms in texts])


@SOME
@given(texts=TEXTS, background=TEXTS)
def test_likeness_is_symmetric_bounded_and_the_same_for_some(
    counted: bool, scaled: float, texts: list[list[int]], background: list[list[int]]
) -> None:
    metric = TermCosine(bags(texts), bags(background), counted=counted, scaled=scaled)
    everybody = np.arange(len(texts))
    whole = metric.matrix(everybody)
    assert np.allclose(whole, whole.T, atol=1e-5)
    assert (whole >= 0).all()
    assert (whole <= 1).all()
    assert np.allclose(metric.matrix(everybody[::-1], everybody), whole[::-1], atol=1e-4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical_similarity, "MANY", -1)  # by the postings, as among many
        assert np.allclose(metric.matrix(everybody[::-1], everybody), whole[::-1], atol=1e-6)
    assert metric.matrix(everybody, everybody[:0]).shape == (len(texts), 0)


@SOME
@given(texts=TEXTS, later=TEXTS)
def test_those_that_come_later_are_compared_as_if_they_had_been_there(
    counted: bool, scaled: float, texts: list[list[int]], later: list[list[int]]
) -> None:
    metric = TermCosine(bags(texts), counted=counted, scaled=scaled)
    before = metric.matrix(np.arange(len(texts)))
    for terms in later:
        metric.add(bags([terms]))
    at_once = TermCosine(bags(texts), counted=counted, scaled=scaled)
    at_once.add(bags(later))
    everybody = np.arange(metric.size)
    whole = metric.matrix(everybody)
    assert metric.size == len(texts) + len(later)
    assert np.allclose(whole[: len(texts), : len(texts)], before, atol=1e-6)
    assert np.allclose(whole, at_once.matrix(everybody), atol=1e-6)
    assert np.allclose(whole, metric.matrix(everybody, everybody), atol=1e-4)


def test_an_event_that_comes_later_is_compared_by_the_rarity_there_was() -> None:
    metric = TermCosine(bags([[1, 2], [1, 3]]), counted=False, scaled=1.0)
    metric.add(bags([[2, 3], [9]]))
    everybody = np.arange(4)
    whole = metric.matrix(everybody)
    assert np.allclose(np.diag(whole), 1.0, atol=1e-6)
    assert whole[0, 2] == pytest.approx(whole[1, 2])
    assert whole[0, 2] > whole[0, 1] > whole[0, 3] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical_similarity, "MANY", -1)  # by the postings, as among many
        assert np.allclose(metric.matrix(everybody, everybody[2:]), whole[:, 2:], atol=1e-6)


def test_a_rare_word_makes_more_alike_than_a_common_one() -> None:
    metric = TermCosine(bags([[1, 2], [1, 3], [2, 4], [2, 5], [2, 6]]))
    assert metric.idf(1) > metric.idf(2)
    assert metric.idf(99) > metric.idf(1)
    alike = metric.matrix(np.array([0]))[0]
    assert alike[1] > alike[2] > 0
    assert alike[0] == pytest.approx(1.0)
