"""What is searched of a claim and of an item of claims."""

from phronesis.reasoning.laws.block_format import claim_text, core_sentence
from phronesis.reasoning.laws.records import Claim


def claim(inference: str = "A. B.", **fields: object) -> Claim:
    return Claim(claim_id="c1", status="fact", facts={"formate": 0.61}, inference=inference, **fields)  # type: ignore[arg-type]


def test_the_core_sentence() -> None:
    cases: list[tuple[str, str]] = [
        ("Mg helps. It was dry.", "Mg helps."),
        (" 镁提高产率。其余未变。", "镁提高产率。"),
        ("first line\nsecond", "first line"),
        ("", ""),
        ("Yield is approx. 0.6 vs. 0.4. More.", "Yield is approx. 0.6 vs. 0.4."),
    ]
    for text, expected in cases:
        assert core_sentence(text) == expected, text


def test_the_conditions_are_searched_with_it_and_the_rest_is_not() -> None:
    said = claim(conditions=("dry", "cold"), limitations=("never",), constraint="avoid[x]")
    assert claim_text(said) == "A.\ndry; cold"
    assert claim_text(claim()) == "A."
    assert claim_text(claim(" ", constraint="avoid[Pb]")) == "avoid[Pb]"
