"""The traditional script and Cantonese: the same length, in place, and as it was said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import PhronesisError
from phronesis.models.text_features import as_said, common_end, parse_script, simplified


def test_a_text_is_brought_to_the_script_of_the_tables() -> None:
    cases: list[tuple[str, str]] = [
        ("我現在住臺北", "我现在住台北"),
        ("我聽日返工，唔食嘢", "我明天上班，不吃西"),
        ("佢係醫生", "他是医生"),
        ("plain", "plain"),
    ]
    for text, simple in cases:
        assert simplified(text) == simple


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x9FFF)))
def test_each_character_keeps_its_place(text: str) -> None:
    assert len(simplified(text)) == len(text)


@given(st.text(alphabet="我現在係喺臺灣唔食嘢人"))
def test_what_was_read_is_given_as_it_was_said(text: str) -> None:
    read = simplified(text)
    assert as_said(read, read, text, 0, {}) == text
    assert as_said(read + "x", read, text, 0, {}) == read + "x"


def test_what_was_written_out_is_given_contracted_as_it_was_said() -> None:
    short = {"do not": ("don't", "dont"), "I am": ("I'm",)}
    assert as_said("I do not eat fish", "", "well I dont eat fish", 0, short) == "I dont eat fish"
    assert as_said("so I am vegan", "", "so I'm vegan", 0, short) == "so I'm vegan"
    assert as_said("I do not eat meat", "", "well I dont eat fish", 0, short) == "I do not eat meat"


def test_a_common_end_is_counted() -> None:
    assert [common_end(*pair) for pair in (("abc", "xbc"), ("abc", "abc"), ("", "a"))] == [2, 3, 0]


def test_what_stands_for_another_is_as_long_as_it() -> None:
    cases: list[str] = [
        'traditional = "ab"\nsimplified = "a"\nmarks = "a"\nwords = "a=b"',
        'traditional = "a"\nsimplified = "a"\nmarks = "a"\nwords = "ab=c"',
    ]
    for source in cases:
        with pytest.raises(PhronesisError, match="as long as"):
            parse_script(source)
