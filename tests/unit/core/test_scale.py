"""Scores are brought to the side of the threshold on which the search stands."""

import pytest

from found_evidence import memory
from phronesis.recall.scoring.weights import THRESHOLD, WORDS, at_least, on_scale


def scores(*given: float, **more: float | bool) -> list[float]:
    found = [memory(n, score, text="x") for n, score in enumerate(given)]
    return [one.score for one in on_scale(found, abstained=bool(more.pop("abstained", False)), **more)]


def test_a_sum_becomes_a_score_between_0_and_1() -> None:
    assert 0.0 < WORDS.score(-2_000.0) < WORDS.score(0.0) < WORDS.score(20.0) <= 1.0


def test_scores_on_the_right_side_stay() -> None:
    assert scores(0.5, 0.2) == [0.5, 0.2]
    assert scores(0.05, 0.01, abstained=True) == [0.05, 0.01]
    assert scores() == []


def test_scores_on_the_wrong_side_are_moved_together() -> None:
    assert scores(0.05, 0.01) == [THRESHOLD, pytest.approx(0.02)]
    assert scores(0.05, 0.01, support=0.9) == [0.9, pytest.approx(0.18)]
    assert scores(0.0, 0.0) == [THRESHOLD, THRESHOLD]
    low = scores(0.5, 0.25, abstained=True)
    assert low[0] < THRESHOLD
    assert low[1] == pytest.approx(low[0] / 2, abs=1e-5)


def test_a_least_score_leaves_out_what_scores_less() -> None:
    found = [memory(1, 0.5, text="x"), memory(2, 0.2, text="y")]
    assert len(at_least(found, None)) == 2
    assert [one.score for one in at_least(found, 0.3)] == [0.5]
