"""What is searched of a claim and of an item of claims."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.laws.block_format import (
    MAX_CONDITIONS,
    MAX_SENTENCE,
    claim_text,
    core_sentence,
    prose_of,
    told,
)
from phronesis.reasoning.laws.records import Claim, ReasoningBlock


def claim(inference: str = "A. B.", **fields: object) -> Claim:
    return Claim(claim_id="c1", status="fact", facts={"formate": 0.61}, inference=inference, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mg helps. It was dry.", "Mg helps."), ("pH 7.4 is best! Yes", "pH 7.4 is best!"),
        (" 镁提高产率。其余未变。", "镁提高产率。"),
        ("no end", "no end"), ("first line\nsecond", "first line"), ("Really?", "Really?"), ("", ""),
        ("Metals, e.g. Cu, i.e. copper, help (Fig. 2). More.", "Metals, e.g. Cu, i.e. copper, help (Fig. 2)."),
        ("Yield is approx. 0.6 vs. 0.4. More.", "Yield is approx. 0.6 vs. 0.4."),
    ],
)  # fmt: skip
def test_the_core_sentence(text: str, expected: str) -> None:
    assert core_sentence(text) == expected


@given(st.text(max_size=3 * MAX_SENTENCE), st.lists(st.text(max_size=MAX_CONDITIONS), max_size=5))
def test_a_claims_text_is_short_whatever_it_says(inference: str, conditions: list[str]) -> None:
    text = claim_text(claim(inference, conditions=tuple(conditions)))
    assert len(text) <= MAX_SENTENCE + MAX_CONDITIONS + 1


def test_the_conditions_are_searched_with_it_and_the_rest_is_not() -> None:
    said = claim(conditions=("dry", "cold"), limitations=("never",), constraint="avoid[x]")
    assert claim_text(said) == "A.\ndry; cold"
    assert claim_text(claim()) == "A."
    assert claim_text(claim(" ", constraint="avoid[Pb]")) == "avoid[Pb]"


def test_the_whole_is_topic_inferences_and_constraints() -> None:
    block = ReasoningBlock(topic="Cu", claims=(claim(constraint="avoid[x]"), claim("", constraint="avoid[y]")))
    assert prose_of(block) == "Cu\nA. B.\navoid[x]\navoid[y]"
    assert prose_of(ReasoningBlock()) == ""


def test_a_reader_is_told_where_each_claim_stands() -> None:
    full = claim(constraint="avoid[x]", conditions=("dry", "cold"), limitations=("two runs",))
    assert told(ReasoningBlock(topic="Cu", claims=(full, claim()))) == (
        "Cu\nc1 (fact, 0 for and 0 against): A. B. avoid[x] (conditions: dry; cold) (limitations: two runs)\n"
        "c1 (fact, 0 for and 0 against): A. B."
    )
    assert told(ReasoningBlock()) == ""
