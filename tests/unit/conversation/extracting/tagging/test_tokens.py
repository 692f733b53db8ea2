"""A message by token."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.extracting.tagging.network import (
    PLACES,
    SHAPES,
    UNKNOWN,
    Vocabulary,
    shape_of,
    token_spans,
    word_of,
)

KNOWN = Vocabulary({"我": 2, "住": 3, "java": 4}, {"杭州": 1, "java": 2, "西湖区": 3, "住": 4}, 4)


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in token_spans(text)]


def test_words_and_numbers_stay_whole_and_letters_stand_alone() -> None:
    assert said("住杭州3年，用Java，I'm") == ["住", "杭", "州", "3", "年", "，", "用", "Java", "，", "I", "'m"]


def test_a_blank_between_words_is_none_and_one_between_letters_is() -> None:
    assert said("Mia's kid isn't in St Albans") == ["Mia", "'s", "kid", "isn", "'t", "in", "St", "Albans"]
    assert said("住杭州 用 Java") == ["住", "杭", "州", " ", "用", " ", "Java"]
    assert said("a  b\nc ") == ["a", "b", "\n", "c", " "]


def test_a_number_counts_by_its_figures_and_a_word_in_small_letters() -> None:
    assert [word_of(one) for one in ("7", "2026", "13800000000", "Java", "住")] == ["0", "0000", "0000", "java", "住"]


def test_the_longest_piece_is_taken_and_its_letters_know_their_place() -> None:
    seen = KNOWN.encode("我住杭州西湖区Java")
    assert seen.words.tolist() == [2, 3, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, 4]
    assert seen.pieces.tolist() == [0, 4, 1, 1, 3, 3, 3, 2]
    assert seen.places.tolist() == [0, 0, 1, 3, 1, 2, 3, 0]


def test_a_stretch_has_the_tokens_that_it_touches() -> None:
    seen = KNOWN.encode("我用Java写")
    assert list(seen.span(3, 5)) == [2]
    assert list(seen.span(0, 7)) == [0, 1, 2, 3]
    assert not seen.span(7, 9)


def test_what_looks_alike_has_one_shape() -> None:
    assert len({shape_of(one) for one in ("7", "77", "ab", "AB", "Ab", "杭", " ", "，", "“", "：", "é", "+")}) == 12
    assert shape_of("，") == shape_of("!")


@given(st.text(max_size=60))
def test_every_sign_of_a_text_but_blanks_is_in_one_token(text: str) -> None:
    seen = KNOWN.encode(text)
    assert "".join(said(text)).replace(" ", "") == text.replace(" ", "")
    assert all(0 <= one < SHAPES for one in seen.shapes)
    assert all(0 <= one < PLACES for one in seen.places)
