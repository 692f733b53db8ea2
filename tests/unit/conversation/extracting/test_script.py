"""The traditional script and Cantonese: the same length, in place, and as it was said."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.models.text_features import as_said, simplify_script


def test_a_text_is_brought_to_the_script_of_the_tables() -> None:
    cases: list[tuple[str, str]] = [
        ("我現在住臺北", "我现在住台北"),
        ("我聽日返工，唔食嘢", "我明天上班，不吃西"),
        ("佢係醫生", "他是医生"),
        ("plain", "plain"),
    ]
    for text, simple in cases:
        assert simplify_script(text) == simple


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x9FFF)))
def test_each_character_keeps_its_place(text: str) -> None:
    assert len(simplify_script(text)) == len(text)


@given(st.text(alphabet="我現在係喺臺灣唔食嘢人"))
def test_what_was_read_is_given_as_it_was_said(text: str) -> None:
    read = simplify_script(text)
    assert as_said(read, read, text, 0, {}) == text
    assert as_said(read + "x", read, text, 0, {}) == read + "x"
