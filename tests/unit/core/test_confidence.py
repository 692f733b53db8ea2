"""Laws of reinforcement and weakening."""

from math import exp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core.confidence import (
    CLAIM_STATUSES,
    GRADES,
    JUDGEMENTS,
    STAGES,
    SUBTYPES,
    ClaimState,
    ClaimStatus,
    Grade,
    Judgement,
    RunVerdict,
    Stage,
    Subtype,
    checked_confidence,
    claim_state,
    decay,
    reinforce,
    stage,
    stage_of,
    stage_rank,
    weaken,
)
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


# Borders, caps, and the claim's fold over runs.


def verdicts(text: str) -> list[RunVerdict]:
    """Read "+a -b .c" as support by a, contra by b, irrelevant c."""
    signs: dict[str, Judgement] = {"+": "support", "-": "contra", ".": "irrelevant"}
    return [RunVerdict(word[1:], signs[word[0]]) for word in text.split()]


def test_borders() -> None:
    cases: list[tuple[float, Stage]] = [
        (0.0, "dissolved"),
        (0.0999, "dissolved"),
        (0.1, "candidate"),
        (0.2999, "candidate"),
        (0.3, "emerging"),
        (0.5999, "emerging"),
        (0.6, "established"),
        (0.85, "established"),
        (0.8501, "core"),
        (1.0, "core"),
    ]
    for confidence, expected in cases:
        assert stage_of(confidence) == expected, confidence


@given(low=CONFIDENCES, high=CONFIDENCES, cap=st.sampled_from(STAGES))
def test_stages_rise_with_confidence_and_never_pass_the_cap(low: float, high: float, cap: Stage) -> None:
    low, high = sorted((low, high))
    assert stage_rank(stage_of(low)) <= stage_rank(stage_of(high))
    assert stage_rank(stage(high, cap)) == min(stage_rank(stage_of(high)), stage_rank(cap))
    assert stage(low) == stage_of(low)


def test_a_claims_way() -> None:
    cases: list[tuple[str, ClaimStatus]] = [
        ("", "hypothesis"),
        ("+a", "hypothesis"),
        ("+a +a", "hypothesis"),
        ("+a +b", "conclusion"),
        ("+a .b +c", "conclusion"),
        ("+a -b +c", "hypothesis"),
        ("+a +b -c", "conclusion"),
        ("+a +b -c -c", "conclusion"),
        ("+a +b -c -d", "hypothesis"),
        ("+a +b -c -d +e +f", "hypothesis"),
    ]
    for runs, expected in cases:
        assert claim_state(verdicts(runs)).status == expected, runs


def test_what_was_written_counts_and_its_runs_count_once() -> None:
    start = ClaimState(status="conclusion", support=("a", "b"), contra=("c",), unnamed_support=1)
    assert (start.support_count, start.contra_count) == (3, 1)
    assert claim_state(verdicts("+c -a .d"), start=start) == start
    fallen = claim_state(verdicts("-d +e"), start=start)
    assert fallen == ClaimState(status="hypothesis", support=("a", "b", "e"), contra=("c", "d"), unnamed_support=1)
    assert claim_state(verdicts("+d"), start=ClaimState(status="hypothesis", unnamed_support=1)).status == "conclusion"
    assert (
        claim_state(verdicts("+d"), start=ClaimState(status="hypothesis", unnamed_contra=1, support=("a",))).status
        == "hypothesis"
    )
    assert claim_state(verdicts("-d"), start=ClaimState(status="conclusion", unnamed_contra=1)).status == "hypothesis"
    assert claim_state(verdicts("-d -e -f"), start=ClaimState(status="fact", contra=("x", "y"))).status == "fact"


STARTS = st.builds(
    ClaimState,
    status=st.sampled_from(CLAIM_STATUSES),
    support=st.lists(st.sampled_from("ab"), unique=True).map(tuple),
    contra=st.lists(st.sampled_from("cd"), unique=True).map(tuple),
    unnamed_support=st.integers(0, 2),
    unnamed_contra=st.integers(0, 2),
)
LEARNED = st.lists(
    st.builds(RunVerdict, st.sampled_from("abcdefghij"), st.sampled_from(JUDGEMENTS)),
    unique_by=lambda verdict: verdict.run_id,
    max_size=10,
)


@settings(max_examples=60)
@given(start=STARTS, learned=LEARNED, data=st.data())
def test_the_laws_of_the_fold(start: ClaimState, learned: list[RunVerdict], data: st.DataObject) -> None:
    end = claim_state(learned, start=start)
    other = claim_state(data.draw(st.permutations(learned)), start=start)
    # Counts do not depend on the order of runs; neither does a fact's status.
    assert (set(end.support), set(end.contra)) == (set(other.support), set(other.contra))
    assert (end.support_count, end.contra_count) == (other.support_count, other.contra_count)
    before = start
    for n in range(1, len(learned) + 1):
        after = claim_state(learned[:n], start=start)
        counted = after.support_count + after.contra_count - before.support_count - before.contra_count
        assert counted in (0, 1)
        if before.status == "fact" or not counted:
            assert after.status == before.status
        if counted and before.status == "conclusion":
            assert (after.status == "hypothesis") == (after.contra_count >= 2)
        if counted and before.status == "hypothesis":
            assert (after.status == "conclusion") == (after.support_count >= 2 and after.contra_count == 0)
        # One run at a time is what the whole gives, so no run both promotes and demotes; again it changes nothing.
        assert claim_state(learned[n - 1 : n], start=before) == after
        assert claim_state(learned[n - 1 : n], start=after) == after
        before = after
    assert before == end


def test_bad_input_is_refused_by_name() -> None:
    with pytest.raises(InputError) as caught:
        stage_of(float("nan"))
    assert caught.value.field == "confidence"
    with pytest.raises(InputError, match="dissolved, candidate") as caught:
        stage(0.5, "trend")  # type: ignore[arg-type]
    assert caught.value.field == "stage"
    with pytest.raises(InputError) as caught:
        claim_state([], start="rumour")  # type: ignore[arg-type]
    assert caught.value.field == "status"
    with pytest.raises(InputError) as caught:
        claim_state([RunVerdict("a", "maybe")])  # type: ignore[arg-type]
    assert caught.value.field == "judgement"
