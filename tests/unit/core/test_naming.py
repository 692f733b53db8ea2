"""Names are found in English and Chinese, what is no name is left alone, and no text takes long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from phronesis.core.relations import MAX_MENTIONS, MAX_SCANNED, MAX_SURFACE, find_mentions
from phronesis.core.values import plain_relative


def test_names_are_found() -> None:
    cases: list[tuple[str, list[tuple[str, str]]]] = [
        ("I met Melanie in Kyoto", [("name", "Melanie"), ("name", "Kyoto")]),
        ("Yesterday Alice went home", [("name", "Alice")]),
        ("we met Alice Monday", [("name", "Alice")]),
        ("at the University of Kyoto", [("name", "University of Kyoto")]),
        ("with Élodie Ångström and Łukasz", [("name", "Élodie Ångström")]),
        ("write to bob.o+x@corp.co.uk, please", [("email", "bob.o+x@corp.co.uk")]),
        ("open report.pdf or ../a-b/c.txt", [("file", "report.pdf"), ("file", "../a-b/c.txt")]),
        ("我的邮箱是bob@corp.com，请写信", [("email", "bob@corp.com")]),
        ("打开https://example.com看看", [("url", "https://example.com")]),
    ]
    for text, expected in cases:
        assert [(found.kind, found.surface) for found in find_mentions(text)] == expected, text


def test_what_names_nobody_is_left_alone() -> None:
    cases = [
        "",
        "Yes. No. Maybe tomorrow.",
        "Congrats! Wow!",
        "and/or, he/she, 24/7, 3.5kg, v1.x",
        "PlainCamelCase iPhone NASA x",
        "你好，今天天气很好。",
        "《》 《\n》",
        "“Great work,” she said",
        "\x00\ufffd 🎉",
    ]
    for text in cases:
        assert find_mentions(text) == [], text


@given(
    st.lists(
        st.sampled_from(["Alice", "Bob ", "hey ", "@x1 ", "a@b.co ", "《书》", "。", "https://a.b/c ", "x/y.py ", "去"])
    )
)
def test_every_name_stands_where_it_says_and_none_overlaps(parts: list[str]) -> None:
    text = "".join(parts)
    end = 0
    for found in find_mentions(text):
        assert text[found.start : found.end] == found.surface
        assert found.start >= end
        end = found.end


@given(st.text(st.characters(), max_size=200))
def test_any_text_gives_sound_names(text: str) -> None:
    for found in find_mentions(text):
        assert text[found.start : found.end] == found.surface
        assert 0 < len(found.surface) <= MAX_SURFACE


UNITS = ["a", "a@", "《", "A", ".."]


@pytest.mark.parametrize("unit", UNITS)
def test_no_text_takes_long(unit: str) -> None:
    assert_cut_off(find_mentions, repeated(unit), MAX_SCANNED)
    assert len(find_mentions(repeated(unit)(MAX_SCANNED))) <= MAX_MENTIONS


# Words for relatives.


def test_a_longer_word_is_the_plain_one() -> None:
    cases: list[tuple[str, str]] = [
        ("妹", "妹妹"),
        ("gf", "girlfriend"),
        ("sister in law", "sister-in-law"),
        ("sis in law", "sister-in-law"),
        ("Anna", "Anna"),
    ]
    for word, plain in cases:
        assert plain_relative(word) == plain, word
