"""Rates of success lie in their interval, which narrows with trials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.evidence_fold import success_rate


@given(st.integers(1, 500).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials))))
def test_a_rate_lies_in_its_interval(counts: tuple[int, int]) -> None:
    told = success_rate(*counts)
    assert 0 <= told["low"] <= told["rate"] <= told["high"] <= 1
    more = success_rate(counts[0] * 10, counts[1] * 10)
    assert more["high"] - more["low"] < told["high"] - told["low"]


def test_the_interval_is_that_of_wilson() -> None:
    assert success_rate(8, 10) == {
        "rate": 0.8,
        "low": pytest.approx(0.4902, abs=1e-4),
        "high": pytest.approx(0.9433, abs=1e-4),
        "successes": 8,
        "trials": 10,
    }
