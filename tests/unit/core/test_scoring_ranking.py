"""Features, formulas and the choice of candidates, on a talk small enough to reckon by hand."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.recall.scoring.lane_arrays import (
    ASKS,
    BONUSES,
    IMPORTANCE,
    NAMES_TIME,
    RECENCY,
    SAID,
    SHARES_PHOTO,
    TRAIT_BOOSTS,
    best_of,
    bonus_shares,
)
from phronesis.recall.scoring.ranking import rank
from phronesis.recall.scoring.signals import LaneInput, Properties, Question, Signals, read_signals
from phronesis.recall.scoring.weights import A12
from unit.core.lanes import floats, laid_out
from unit.core.test_scoring_words import index_of

TALK = [[1, 2], [3], [1, 1, 4], [5, 6, 7], [2]]
FLAGS = [SAID | ASKS, SAID | NAMES_TIME, SAID | SHARES_PHOTO, SAID, 0]


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


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(1, 14))
def test_the_best_are_those_a_stable_sort_puts_first(values: list[int], count: int) -> None:
    wanted = sorted(sorted(range(len(values)), key=lambda n: -values[n])[:count])
    assert best_of(floats(*values), count).tolist() == wanted


def everywhere(one: Signals) -> list[np.ndarray[Any, np.dtype[np.bool_]]]:
    return [np.ones(len(one.words), dtype=np.bool_)]


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


# What lifts a result: bounds, and that a bonus never lowers a score nor turns equals round.


BASES = st.floats(-60, 60, width=32)
EACH = {"recency": RECENCY, "importance": IMPORTANCE, "trait_boost": max(TRAIT_BOOSTS.values())}


def final(base: float, **bonuses: float) -> float:
    shares = bonus_shares(floats(base), {name: floats(bonuses.get(name, 0.0)) for name in BONUSES})
    return base + sum(float(share[0]) for share in shares.values())


@pytest.mark.parametrize("base", [0.5, 4.0])
def test_above_nought_it_is_the_formula_of_the_requirement(base: float) -> None:
    given_bonuses = {"recency": 0.1, "importance": 0.05, "trait_boost": 0.25}
    assert final(base, **given_bonuses) == pytest.approx(base * (1 + 0.1 + 0.05 + 0.25))


@given(BASES, st.sampled_from(BONUSES), st.data())
def test_more_of_a_bonus_never_lowers_a_score(base: float, name: str, data: st.DataObject) -> None:
    others = {other: data.draw(st.floats(0, most)) for other, most in EACH.items() if other != name}
    less, more = sorted(data.draw(st.tuples(st.floats(0, EACH[name]), st.floats(0, EACH[name]))))
    slack = 1e-5 * abs(base)
    assert base <= final(base, **others, **{name: less}) + slack
    assert final(base, **others, **{name: less}) <= final(base, **others, **{name: more}) + slack
