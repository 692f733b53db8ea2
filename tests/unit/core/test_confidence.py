"""Laws of reinforcement and weakening."""

from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.confidence import GRADES, SUBTYPES, Grade, Subtype, checked_confidence, decay, reinforce, weaken
from phronesis.errors import InputError

CONFIDENCES = st.floats(0.0, 1.0)


@given(low=CONFIDENCES, high=CONFIDENCES, grade=st.sampled_from(GRADES), strong=st.booleans())
def test_both_stay_in_bounds_move_one_way_and_keep_order(low: float, high: float, grade: Grade, strong: bool) -> None:
    low, high = sorted((low, high))
    assert low <= reinforce(low, grade) <= 1.0
    assert 0.0 <= weaken(low, strong=strong) <= low
    assert reinforce(low, grade) <= reinforce(high, grade) + 1e-15
    assert weaken(low, strong=strong) <= weaken(high, strong=strong)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), float("-inf")])
def test_values_out_of_range_are_refused_by_name(value: float) -> None:
    calls: list[Any] = [lambda: reinforce(value, "A"), lambda: weaken(value)]
    for call in calls:
        with pytest.raises(InputError, match="from 0 to 1") as caught:
            call()
        assert caught.value.field == "confidence"
    with pytest.raises(InputError) as caught:
        checked_confidence(value, field="threshold")
    assert caught.value.field == "threshold"


def test_an_unknown_grade_is_refused() -> None:
    with pytest.raises(InputError, match="A, B, C, D") as caught:
        reinforce(0.5, "E")  # type: ignore[arg-type]
    assert caught.value.field == "grade"


# Decay depends on elapsed time only, when the reference time moves with the value.


DAYS = st.floats(0.0, 4000.0)
COUNTS = st.integers(0, 50)
KINDS = st.sampled_from(SUBTYPES)


def test_the_formula() -> None:
    assert decay(0.8, days=30, reinforcements=5, subtype="preference") == pytest.approx(0.8 * exp(-0.04))
    assert decay(1.0, days=30, reinforcements=0, subtype="behavior") == pytest.approx(0.8607, abs=1e-4)


@given(low=CONFIDENCES, high=CONFIDENCES, days=DAYS, more=DAYS, n=COUNTS, subtype=KINDS)
def test_it_stays_in_bounds_and_is_monotone(
    *, low: float, high: float, days: float, more: float, n: int, subtype: Subtype
) -> None:
    low, high = sorted((low, high))
    now = decay(low, days=days, reinforcements=n, subtype=subtype)
    assert 0.0 <= now <= low
    assert now <= decay(high, days=days, reinforcements=n, subtype=subtype)
    assert decay(low, days=days + more, reinforcements=n, subtype=subtype) <= now
    assert now <= decay(low, days=days, reinforcements=n + 1, subtype=subtype)


@given(confidence=CONFIDENCES, n=COUNTS, subtype=KINDS, runs=st.integers(1, 60))
def test_daily_runs_that_move_the_reference_equal_one_run(
    confidence: float, n: int, subtype: Subtype, runs: int
) -> None:
    value = confidence
    for _ in range(runs):
        value = decay(value, days=1, reinforcements=n, subtype=subtype)
    assert value == pytest.approx(decay(confidence, days=runs, reinforcements=n, subtype=subtype))


@pytest.mark.parametrize("days", [-0.1, float("nan"), float("inf")])
def test_days_must_be_finite_and_not_negative(days: float) -> None:
    with pytest.raises(InputError) as caught:
        decay(0.5, days=days, reinforcements=0, subtype="core")
    assert caught.value.field == "days"


def test_other_fields_are_checked_by_name() -> None:
    with pytest.raises(InputError) as caught:
        decay(1.5, days=1, reinforcements=0, subtype="core")
    assert caught.value.field == "confidence"
    with pytest.raises(InputError) as caught:
        decay(0.5, days=1, reinforcements=-1, subtype="core")
    assert caught.value.field == "reinforcements"
    with pytest.raises(InputError, match="behavior, preference, core") as caught:
        decay(0.5, days=1, reinforcements=0, subtype="mood")  # type: ignore[arg-type]
    assert caught.value.field == "subtype"
