"""What is searched of a claim and of an item of claims."""

from phronesis.reasoning.laws.block_format import (
    claim_text,
    core_sentence,
    told,
)
from phronesis.reasoning.laws.records import Claim, ReasoningBlock


def claim(inference: str = "A. B.", **fields: object) -> Claim:
    return Claim(claim_id="c1", status="fact", facts={"formate": 0.61}, inference=inference, **fields)  # type: ignore[arg-type]


CORE_SENTENCE: list[tuple[str, str]] = [
    ("Mg helps. It was dry.", "Mg helps."),
    (" 镁提高产率。其余未变。", "镁提高产率。"),
    ("first line\nsecond", "first line"),
    ("", ""),
    ("Yield is approx. 0.6 vs. 0.4. More.", "Yield is approx. 0.6 vs. 0.4."),
]


def test_the_core_sentence() -> None:
    for text, expected in CORE_SENTENCE:
        assert core_sentence(text) == expected, text


def test_the_conditions_are_searched_with_it_and_the_rest_is_not() -> None:
    said = claim(conditions=("dry", "cold"), limitations=("never",), constraint="avoid[x]")
    assert claim_text(said) == "A.\ndry; cold"
    assert claim_text(claim()) == "A."
    assert claim_text(claim(" ", constraint="avoid[Pb]")) == "avoid[Pb]"


def test_a_reader_is_told_where_each_claim_stands() -> None:
    full = claim(constraint="avoid[x]", conditions=("dry", "cold"), limitations=("two runs",))
    assert told(ReasoningBlock(topic="Cu", claims=(full, claim()))) == (
        "Cu\nc1 (fact, 0 for and 0 against): A. B. avoid[x] (conditions: dry; cold) (limitations: two runs)\n"
        "c1 (fact, 0 for and 0 against): A. B."
    )
    assert told(ReasoningBlock()) == ""
