"""The key that a question asks for, and of whom."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from labelled_texts import LABELLED_TEXTS
from phronesis.core.values import KEYS
from phronesis.recall.asked_keys import MAX_CLAUSE, MAX_READ, find_asked_key, load_key_words

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
        found = find_asked_key(question)
        assert found is not None
        assert (found.keys[0], found.about) == (key, about)


def test_the_lists_name_keys_of_memory_types() -> None:
    words = load_key_words()
    named = {*words.keys, *words.together, *words.open_keys, *(key for keys in words.together.values() for key in keys)}
    assert named <= set(KEYS)


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
        assert find_asked_key(question) is None


@given(st.text(max_size=300))
def test_any_question_is_read(text: str) -> None:
    found = find_asked_key(text)
    assert found is None or set(found.keys) <= set(KEYS)


@pytest.mark.parametrize("piece", ["我现在都", "what is my ", "Anna ", "的"])
def test_no_question_takes_long(piece: str) -> None:
    assert_cut_off(find_asked_key, repeated(piece), MAX_READ)
    assert_cut_off(find_asked_key, repeated(piece * (MAX_CLAUSE // len(piece)) + ". "), MAX_READ)


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize(("lang", "recall"), [("en", 0.46), ("zh", 0.42)])
def test_labelled_questions(lang: str, split: str, recall: float) -> None:
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["lang"] == lang and row["split"] == split]
    found = {row["id"]: find_asked_key(row["text"]) for row in rows}
    right = [row["id"] for row in rows if row["keys"] and (one := found[row["id"]]) and row["keys"][0] in one.keys]
    assert len(right) / sum(one is not None for one in found.values()) >= 0.95
    assert len(right) / sum(bool(row["keys"]) for row in rows) >= recall
