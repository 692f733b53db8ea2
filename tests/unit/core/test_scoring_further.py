"""Other wordings of a question, a window of time, and what a plan is told of each place."""

import dataclasses
from datetime import date

import numpy as np
import pytest

from phronesis.recall.scoring.ranking import IN_WINDOW, WITHIN, rank, supported_places
from phronesis.recall.scoring.signals import COVERAGE, WORDS, DayRange, Question, Wording, further_scores, read_signals
from phronesis.recall.scoring.weights import A12
from unit.core.lanes import laid_out
from unit.core.test_scoring_ranking import lane, signals
from unit.core.test_scoring_words import index_of

ALL = np.ones(5, dtype=np.bool_)
DAY = 100  # of the first two places: tests/unit/core/test_scoring_ranking.py


def test_a_text_counts_as_the_wording_that_it_meets_best() -> None:
    index = index_of([[1, 2], [3], [1, 1, 4], [5, 6, 7], [2]])
    given_lane = (index, laid_out(index))
    [strong] = further_scores([given_lane], [Wording([1], 1.0)])
    [weak] = further_scores([given_lane], [Wording([3], 0.5)])
    [both] = further_scores([given_lane], [Wording([1], 1.0), Wording([3], 0.5)])
    assert strong is not None
    assert weak is not None
    assert both is not None
    assert both.scores == pytest.approx(np.maximum(strong.scores, weak.scores))
    assert both.covered.tolist() == [1.0, 0.5, 1.0, 0.0, 0.0]
    assert both.scores[3] == both.scores[4] == 0.0
    assert strong.scores == pytest.approx(WORDS * strong.z + COVERAGE * strong.covered)


def test_a_window_lifts_what_is_of_it_whatever_it_says() -> None:
    window = DayRange(DAY, DAY)
    one = signals(Question([], [window], window=window))
    assert one.within is not None
    assert one.within.tolist()[:2] == [1.0, 1.0]
    assert supported_places(one).tolist()[:2] == [True, True]
    [ranked] = rank([one], [ALL], A12)
    assert set(ranked.places.tolist()) == {0, 1}
    assert ranked.shares[WITHIN].tolist() == [IN_WINDOW] * 2
    named = DayRange(190, 191)  # the second place names these days
    assert signals(Question([], window=named)).within[1] == 1.0  # type: ignore[index]
    undated = dataclasses.replace(lane().properties, dated=np.zeros(0, np.int64))
    plain = read_signals([dataclasses.replace(lane(), properties=undated)], Question([], window=named))[0]
    assert plain.within is not None
    assert plain.within[1] == 0.0
    assert date.fromordinal(DAY).year == 1
