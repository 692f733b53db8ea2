"""Features, formulas and the choice of candidates, on a talk small enough to reckon by hand."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.recall.scoring import features
from phronesis.recall.scoring.features import FEATURES
from phronesis.recall.scoring.lane_arrays import best_of, spread_of
from phronesis.recall.scoring.packed_features import (
    ASKS,
    BONUSES,
    IMPORTANCE,
    NAMES_TIME,
    RECENCY,
    SAID,
    SHARES_PHOTO,
    TRAIT_BOOSTS,
)
from phronesis.recall.scoring.ranking import rank, supported_places
from phronesis.recall.scoring.signals import GUESSED, LaneInput, Properties, Question, Signals, read_signals
from phronesis.recall.scoring.weights import A12, B12, SECTIONS, Formula
from unit.core.lanes import floats, laid_out
from unit.core.test_scoring_words import index_of

TALK = [[1, 2], [3], [1, 1, 4], [5, 6, 7], [2]]
ALL = np.arange(5)
FLAGS = [SAID | ASKS, SAID | NAMES_TIME, SAID | SHARES_PHOTO, SAID, 0]
SCORES = st.lists(st.floats(-50, 50, width=32), max_size=12)


def lane(documents: Sequence[Sequence[int]] = TALK, **more: Any) -> LaneInput:
    """Give one session of documents; the last of ``TALK`` is a fact."""
    index = index_of([list(one) for one in documents])
    size = len(documents)
    properties = Properties(
        flags=np.array(FLAGS[:size]),
        days=np.array([100, 100, 200, 300, 300][:size]),
        importance=np.array([0, 0, 0, 0, 5][:size]),
        stages=np.zeros(size, np.int64),
        dated=np.array([1, 1]),
        begins=np.array([190, 500]),
        ends=np.array([191, 501]),
    )
    return LaneInput(index=index, layout=laid_out(index, [0] * size), properties=properties, **more)


def signals(asked: Question | None = None, **more: Any) -> Signals:
    return read_signals([lane(**more)], asked or Question([1, 2, 99]))[0]


@given(SCORES, SCORES)
def test_z_scores_have_mean_nought_and_spread_one_over_all_lanes(one: list[float], other: list[float]) -> None:
    arrays = [floats(*one), floats(*other)]
    spread = spread_of(arrays)
    together = np.concatenate([spread.z(array) for array in arrays])
    if spread.deviation > 1e-2:
        assert together.mean() == pytest.approx(0, abs=1e-3)
        assert together.std() == pytest.approx(1, abs=1e-2)


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(1, 14))
def test_the_best_are_those_a_stable_sort_puts_first(values: list[int], count: int) -> None:
    wanted = sorted(sorted(range(len(values)), key=lambda n: -values[n])[:count])
    assert best_of(floats(*values), count).tolist() == wanted


def test_the_best_of_many_are_found_wherever_they_stand() -> None:
    values = np.sin(np.arange(20_000, dtype=np.float32))
    values[[7, 12_000, 19_999]] = 2.0
    assert best_of(values, 3).tolist() == [7, 12_000, 19_999]
    assert best_of(values, 2).tolist() == [7, 12_000]
    assert best_of(np.zeros(20_000, np.float32), 2).tolist() == [0, 1]


def everywhere(one: Signals) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
    return [np.ones(len(one.words), dtype=np.bool_)]


def test_what_nothing_speaks_for_is_no_candidate() -> None:
    nothing = signals(Question([99]))
    assert not supported_places(nothing).any()
    [ranked] = rank([nothing], everywhere(nothing), A12)
    assert ranked.places.tolist() == []
    by_role = signals(Question([99]), speaker=floats(1, 0, 0, 0, 0))
    assert not supported_places(by_role).any()
    by_name = signals(Question([99]), speaker=floats(1, 0, 0, 0, 0), by_name=True)
    assert supported_places(by_name).tolist() == [True, False, False, False, False]
    seen = signals(Question([99]), dense=floats(0, 1, 0, 0, 0), embedded=np.array([False, True, False, False, False]))
    assert supported_places(seen).tolist() == [False, True, False, False, False]
    named = signals(Question([99]), mention=floats(0, 0, 1, 0, 0))
    assert supported_places(named).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("formula", [A12, B12, SECTIONS])
def test_shares_add_up_to_the_score(formula: Formula) -> None:
    one = signals(dense=floats(0.9, 0.1, 0.7, 0.1, 0.1), embedded=np.ones(5, np.bool_))
    [ranked] = rank([one], everywhere(one), formula)
    assert set(ranked.shares) == {*formula.weights, *BONUSES}
    np.testing.assert_allclose(sum(ranked.shares.values()), ranked.scores, rtol=1e-5)
    feature = next(iter(formula.weights))
    wanted = formula.weights[feature] * FEATURES[feature](one, ALL)
    np.testing.assert_allclose(ranked.shares[feature], wanted, rtol=1e-5)


def test_bonuses_come_on_top_of_the_formula() -> None:
    known = dataclasses.replace(
        lane().properties, importance=np.array([10, 1, 0, 5, 10]), stages=np.array([0, 0, 3, 0, 3])
    )
    [one] = read_signals([dataclasses.replace(lane(), properties=known)], Question([1, 2], asked_on=300))
    [ranked] = rank([one], everywhere(one), A12)
    added = {name: (ranked.shares[name] / np.abs(ranked.base)).tolist() for name in BONUSES}
    assert added["recency"] == pytest.approx([0, 0, 0, 0, RECENCY])  # only the fact; the others are messages
    assert added["importance"] == pytest.approx([IMPORTANCE, 0, 0, IMPORTANCE * 4 / 9, IMPORTANCE])
    assert added["trait_boost"] == pytest.approx([0, 0, TRAIT_BOOSTS["core"], 0, TRAIT_BOOSTS["core"]])
    features_alone = sum(ranked.shares[name] for name in A12.weights)
    np.testing.assert_allclose(features_alone, ranked.base, rtol=1e-5)
    assert (ranked.scores >= ranked.base).all()


def test_a_lane_without_vectors_beside_one_with_them_goes_by_its_words() -> None:
    bare, embedded = lane(), lane(dense=floats(0.9, 0.1, 0.7, 0.1, 0.1), embedded=np.ones(5, np.bool_))
    first, second = read_signals([bare, embedded], Question([1, 2]))
    assert features.dense(first, ALL).tolist() == pytest.approx(np.clip(first.words, 0, GUESSED).tolist())
    assert features.dense(second, ALL).sum() == pytest.approx(0, abs=1e-5)
    [none] = read_signals([lane(dense=floats(0, 0, 0, 0, 0), embedded=np.zeros(5, np.bool_))], Question([1]))
    assert none.dense is None
