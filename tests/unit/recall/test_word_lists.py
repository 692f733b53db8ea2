"""Lists of words: where a text contains them, and which key a question asks for by them, and of whom."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, assert_linear, repeated
from labelled_texts import LABELLED_TEXTS
from phronesis.core.values import KEYS
from phronesis.errors import PhronesisError
from phronesis.recall.intent import Sentence
from phronesis.recall.word_lists import MAX_CLAUSE, MAX_READ, UnitText, key_asked, load_words, parse_table, parse_words


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


def test_the_lists_name_keys_of_memory_types() -> None:
    assert load_words().relatives["wife"] == "partner"
    given = {"keys": {"magic": "magic"}, "with": {}, "open": {"keys": "prefers"}, "relatives": {}, "words": {}}
    with pytest.raises(PhronesisError, match="'magic' is no key"):
        parse_table(given)


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


LABELLED = LABELLED_TEXTS / "asked_keys.jsonl"


def test_a_key_is_asked_for_of_somebody() -> None:
    cases: list[tuple[str, str, str | None]] = [
        ("Where do I live?", "home_city", "user"),
        ("What does my sister do?", "job", "sister"),
        ("How old is my sister Ines?", "age", "sister"),
        ("What is my wife called?", "partner", "user"),
        ("what did we decide about the pump?", "decision", None),
        ("我住在哪里？", "home_city", "user"),
        ("小林的生日是几月几号？", "birthday", "小林"),
        ("用户对什么过敏？", "allergy", "user"),
    ]
    for question, key, about in cases:
        found = key_asked(question)
        assert found is not None
        assert (found.keys[0], found.about) == (key, about)


def test_a_question_for_something_else_asks_for_no_key() -> None:
    cases: list[str] = [
        "",
        "How old is the building?",
        "What did Anna say about the job market?",
        "Where did I live before that?",
        "I live in Oslo.",
        "When is Anna's daughter's birthday?",
        "服务器的地址是什么",
        "x" * (MAX_CLAUSE + 1),
    ]
    for question in cases:
        assert key_asked(question) is None


@given(st.text(max_size=300))
def test_any_question_is_read(text: str) -> None:
    found = key_asked(text)
    assert found is None or set(found.keys) <= set(KEYS)


@pytest.mark.parametrize("piece", ["我现在都", "what is my ", "Anna ", "的"])
def test_no_question_takes_long(piece: str) -> None:
    assert_cut_off(key_asked, repeated(piece), MAX_READ)
    assert_cut_off(key_asked, repeated(piece * (MAX_CLAUSE // len(piece)) + ". "), MAX_READ)


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize(("lang", "recall"), [("en", 0.46), ("zh", 0.42)])
def test_labelled_questions(lang: str, split: str, recall: float) -> None:
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["lang"] == lang and row["split"] == split]
    found = {row["id"]: key_asked(row["text"]) for row in rows}
    right = [row["id"] for row in rows if row["keys"] and (one := found[row["id"]]) and row["keys"][0] in one.keys]
    assert len(right) / sum(one is not None for one in found.values()) >= 0.95
    assert len(right) / sum(bool(row["keys"]) for row in rows) >= recall
