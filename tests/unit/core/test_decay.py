"""Decay depends on elapsed time only, when the reference time moves with the value."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.confidence import SUBTYPES, Subtype, decay
from phronesis.errors import InputError

CONFIDENCES = st.floats(0.0, 1.0)
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
