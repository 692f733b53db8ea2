"""Names are found in English and Chinese, what is no name is left alone, and no text takes long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from phronesis.core.name_detection import MAX_MENTIONS, MAX_SCANNED, MAX_SURFACE, find_mentions

FOUND: list[tuple[str, list[tuple[str, str]]]] = [
    ("I met Melanie in Kyoto", [("name", "Melanie"), ("name", "Kyoto")]),
    ("Hey Caroline! Thanks Melanie.", [("name", "Caroline"), ("name", "Melanie")]),
    ("Yesterday Alice went home", [("name", "Alice")]),
    ("we met Alice Monday", [("name", "Alice")]),
    ("My friend is Ludwig van der Rohe", [("name", "Ludwig van der Rohe")]),
    ("at the University of Kyoto", [("name", "University of Kyoto")]),
    ("with Élodie Ångström and Łukasz", [("name", "Élodie Ångström")]),
    ("see https://example.com/a_(b)?q=1.", [("url", "https://example.com/a_(b")]),
    ("write to bob.o+x@corp.co.uk, please", [("email", "bob.o+x@corp.co.uk")]),
    ("in src/main.py and ~/notes/x.tar.gz", [("file", "src/main.py"), ("file", "~/notes/x.tar.gz")]),
    ("open report.pdf or ../a-b/c.txt", [("file", "report.pdf"), ("file", "../a-b/c.txt")]),
    ("我的邮箱是bob@corp.com，请写信", [("email", "bob@corp.com")]),
    ("文件在src/main.py里", [("file", "src/main.py")]),
    ("打开https://example.com看看", [("url", "https://example.com")]),
]


def test_names_are_found() -> None:
    for text, expected in FOUND:
        assert [(found.kind, found.surface) for found in find_mentions(text)] == expected, text


NOTHING = [
    "",
    "The weather is fine.",
    "Yes. No. Maybe tomorrow.",
    "See you on Monday in March at 5 p.m.",
    "Congrats! Wow!",
    "It is fun.They laughed, e.g. in the U.S. or i.e. there",
    "and/or, he/she, 24/7, 3.5kg, v1.x",
    "1@2 a@b user@",
    "PlainCamelCase iPhone NASA x",
    "你好，今天天气很好。",
    "@ # http:// https://a",
    "《》 《\n》",
    "He said: Running is good.",
    "“Great work,” she said",
    "12:30 — 14:00",
    "\x00\ufffd 🎉",
]


def test_what_names_nobody_is_left_alone() -> None:
    for text in NOTHING:
        assert find_mentions(text) == [], text


def test_a_word_at_the_start_counts_when_it_comes_again() -> None:
    assert find_mentions("Painting is fun.") == []
    assert {found.surface for found in find_mentions("Sam is here. I like Sam.")} == {"Sam"}
    assert find_mentions("Sam is here. The Same again.") != find_mentions("Sam is here. I like Sam.")


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


UNITS = [
    "a",
    "a@",
    "《",
    "A",
    "..",
]


@pytest.mark.parametrize("unit", UNITS)
def test_no_text_takes_long(unit: str) -> None:
    assert_cut_off(find_mentions, repeated(unit), MAX_SCANNED)
    assert len(find_mentions(repeated(unit)(MAX_SCANNED))) <= MAX_MENTIONS


def test_a_book_is_scanned_at_its_beginning_only() -> None:
    assert find_mentions("x " * MAX_SCANNED + "then Alice came") == []
