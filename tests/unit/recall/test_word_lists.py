"""Lists of words, and where a text contains them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.core.values import KEYS
from phronesis.recall.intent import MAX_READ, Sentence
from phronesis.recall.word_lists import UnitText, load_relatives, parse_words


def test_words_are_found_by_their_stem_and_phrases_side_by_side() -> None:
    words = parse_words("birthday, zip code, can't eat, 手机号")
    cases: list[tuple[str, list[str]]] = [
        ("Birthdays and zip codes", ["Birthdays", "zip codes"]),
        ("Anna’s birthday", ["birthday"]),
        ("the zip of this code", []),
        ("what can’t I eat", []),
        ("I CAN'T EAT that", ["CAN'T EAT"]),
        ("我的手机号是多少", ["手机号"]),
        ("手机没有号", []),
    ]
    for text, expected in cases:
        read = UnitText(text)
        found = [read.text[read.spans[start][0] : read.spans[end - 1][1]] for start, end in read.places(words)]
        assert found == expected, text
        assert read.has(words) is bool(expected)


@given(st.text(max_size=60))
def test_units_lie_in_the_text_in_order(text: str) -> None:
    read = UnitText(text)
    assert len(read.units) == len(read.spans)
    ends = [0, *(n for span in read.spans for n in span)]
    assert ends == sorted(ends)
    assert all(read.surface(n) for n in range(len(read.units)))


def test_relatives_have_keys_of_memory_types() -> None:
    relatives = load_relatives()
    assert relatives.keys["wife"] == "partner"
    assert set(relatives.keys.values()) - {"other"} <= set(KEYS)


def test_of_documents_those_count_that_are_consulted() -> None:
    cases: list[tuple[str, bool]] = [
        ("What does it say in the manual?", True),
        ("说明书里写的是多少？", True),
        ("Where did I put the manual?", False),
        ("我送给老丁的那本手册，他喜欢吗？", False),
    ]
    for text, expected in cases:
        assert Sentence(text).consults is expected, text


@pytest.mark.parametrize("piece", ["the ", "手", "a'", "in the manual "])
def test_time_goes_with_the_length(piece: str) -> None:
    assert_linear(lambda text: UnitText(text).places(parse_words("manual, 手册")), repeated(piece), MAX_READ)
