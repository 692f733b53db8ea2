"""The traditional script and Cantonese: simplified characters of the same length, in place."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.models.text_features import simplify_script


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
