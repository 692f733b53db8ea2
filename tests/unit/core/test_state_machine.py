"""Borders, caps, and the claim's fold over runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.core.confidence import (
    CLAIM_STATUSES,
    JUDGEMENTS,
    STAGES,
    ClaimState,
    ClaimStatus,
    Judgement,
    RunVerdict,
    Stage,
    claim_state,
    stage,
    stage_of,
    stage_rank,
)
from phronesis.errors import InputError

CONFIDENCES = st.floats(0.0, 1.0)


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
