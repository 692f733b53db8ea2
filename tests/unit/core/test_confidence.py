"""Laws of reinforcement and weakening."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.confidence import (
    GRADES,
    Evidence,
    Grade,
    checked_confidence,
    reinforce,
    weaken,
    weigh,
)
from phronesis.errors import InputError

CONFIDENCES = st.floats(0.0, 1.0)
EVIDENCE = st.builds(
    Evidence,
    source_key=st.sampled_from("abcdef"),
    polarity=st.sampled_from(["support", "contra"]),
    grade=st.sampled_from(GRADES),
    strong=st.booleans(),
)


@given(low=CONFIDENCES, high=CONFIDENCES, grade=st.sampled_from(GRADES), strong=st.booleans())
def test_both_stay_in_bounds_move_one_way_and_keep_order(low: float, high: float, grade: Grade, strong: bool) -> None:
    low, high = sorted((low, high))
    assert low <= reinforce(low, grade) <= 1.0
    assert 0.0 <= weaken(low, strong=strong) <= low
    assert reinforce(low, grade) <= reinforce(high, grade) + 1e-15
    assert weaken(low, strong=strong) <= weaken(high, strong=strong)


@given(start=CONFIDENCES, evidence=st.lists(EVIDENCE, max_size=12))
def test_unknown_evidence_changes_nothing(start: float, evidence: list[Evidence]) -> None:
    weighed = weigh(start, evidence, known=())
    assert (weighed.confidence, weighed.counted, weighed.passed_over) == (start, (), tuple(evidence))


@given(start=CONFIDENCES, evidence=st.lists(EVIDENCE, max_size=12))
def test_counting_twice_changes_nothing(start: float, evidence: list[Evidence]) -> None:
    once = weigh(start, evidence, known="abcdef")
    twice = weigh(start, [*evidence, *evidence], known="abcdef")
    again = weigh(once.confidence, evidence, known="abcdef", counted={piece.identity for piece in once.counted})
    assert twice.confidence == again.confidence == once.confidence
    assert again.counted == ()
    assert 0.0 <= once.confidence <= 1.0


def test_evidence_is_folded_in_its_order_and_once_each_way() -> None:
    support = Evidence(source_key="a", polarity="support", grade="A")
    contra = Evidence(source_key="a", polarity="contra", strong=True)
    weighed = weigh(0.4, [support, contra, support], known={"a"})
    assert weighed.confidence == pytest.approx(0.55 * 0.6)
    assert (weighed.counted, weighed.passed_over) == ((support, contra), (support,))


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), float("-inf")])
def test_values_out_of_range_are_refused_by_name(value: float) -> None:
    calls: list[Any] = [lambda: reinforce(value, "A"), lambda: weaken(value), lambda: weigh(value, [], known=())]
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
