"""A message by token."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.extracting.tagging.network import PLACES, SHAPES, Vocabulary, token_spans

KNOWN = Vocabulary({"我": 2, "住": 3, "java": 4}, {"杭州": 1, "java": 2, "西湖区": 3, "住": 4}, 4)


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in token_spans(text)]


def test_words_and_numbers_stay_whole_and_letters_stand_alone() -> None:
    assert said("住杭州3年，用Java，I'm") == ["住", "杭", "州", "3", "年", "，", "用", "Java", "，", "I", "'m"]


@given(st.text(max_size=60))
def test_every_sign_of_a_text_but_blanks_is_in_one_token(text: str) -> None:
    seen = KNOWN.encode(text)
    assert "".join(said(text)).replace(" ", "") == text.replace(" ", "")
    assert all(0 <= one < SHAPES for one in seen.shapes)
    assert all(0 <= one < PLACES for one in seen.places)
