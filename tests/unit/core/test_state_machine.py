"""Borders, caps, and the claim's fold over runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.state_machine import (
    JUDGEMENTS,
    STAGES,
    ClaimStatus,
    Judgement,
    Stage,
    Verdict,
    claim_state,
    claim_status,
    stage,
    stage_of,
    stage_rank,
)
from phronesis.errors import InputError

CONFIDENCES = st.floats(0.0, 1.0)
VERDICTS = st.lists(st.builds(Verdict, st.sampled_from("abcdef"), st.sampled_from(JUDGEMENTS)), max_size=12)


def verdicts(text: str) -> list[Verdict]:
    """Read "+a -b .c" as support by a, contra by b, irrelevant c."""
    signs: dict[str, Judgement] = {"+": "support", "-": "contra", ".": "irrelevant"}
    return [Verdict(word[1:], signs[word[0]]) for word in text.split()]


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        (0.0, "dissolved"), (0.0999, "dissolved"), (0.1, "candidate"), (0.2999, "candidate"), (0.3, "emerging"),
        (0.5999, "emerging"), (0.6, "established"), (0.85, "established"), (0.8501, "core"), (1.0, "core"),
    ],
)  # fmt: skip
def test_borders(confidence: float, expected: Stage) -> None:
    assert stage_of(confidence) == expected


@given(low=CONFIDENCES, high=CONFIDENCES, cap=st.sampled_from(STAGES))
def test_stages_rise_with_confidence_and_never_pass_the_cap(low: float, high: float, cap: Stage) -> None:
    low, high = sorted((low, high))
    assert stage_rank(stage_of(low)) <= stage_rank(stage_of(high))
    assert stage_rank(stage(high, cap)) == min(stage_rank(stage_of(high)), stage_rank(cap))
    assert stage(low) == stage_of(low)


def test_a_new_behaviour_stays_a_candidate_under_its_cap() -> None:
    assert (stage(0.4, "candidate"), stage(0.4), stage(0.05, "candidate")) == ("candidate", "emerging", "dissolved")


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
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
    ],
)
def test_a_claims_way(runs: str, expected: ClaimStatus) -> None:
    assert claim_status(verdicts(runs)) == expected


def test_starts_other_than_a_hypothesis() -> None:
    assert claim_status(verdicts("-a -b"), start="conclusion") == "hypothesis"
    assert claim_status(verdicts("-a -b"), start="fact") == "fact"


def test_a_run_counts_by_its_first_verdict_that_says_anything() -> None:
    state = claim_state(verdicts(".a +a -a -b"))
    assert (state.support, state.contra) == (("a",), ("b",))


@given(given_verdicts=VERDICTS)
def test_learning_the_same_again_changes_nothing(given_verdicts: list[Verdict]) -> None:
    once = claim_state(given_verdicts)
    assert claim_state([*given_verdicts, *given_verdicts]) == once
    assert not set(once.support) & set(once.contra)
    if once.status == "conclusion":
        assert len(once.support) >= 2
        assert len(once.contra) < 2


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
        claim_state([Verdict("a", "maybe")])  # type: ignore[arg-type]
    assert caught.value.field == "judgement"
