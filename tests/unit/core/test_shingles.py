"""What repeats a text is told from what only looks like it: measured on pairs that were labelled first."""

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from labelled_texts import LABELLED_TEXTS
from phronesis.core.shingles import ComparedTexts, Echo, echoes, words_of

LABELLED = LABELLED_TEXTS / "echoes.jsonl"
FACT = "My sister Anna is allergic to peanuts."
NAMED = ["anna", "bob", "lives", "paris", "works", "acme", "7", "早", "上", "喝", "茶"]
WORDS = st.lists(st.sampled_from(NAMED), min_size=4, max_size=9)


def test_labelled_pairs_are_told_apart() -> None:
    counted: Counter[tuple[bool, bool]] = Counter()
    for line in LABELLED.read_text("utf-8").splitlines():
        row = json.loads(line)
        shown = ComparedTexts.of({str(n): text for n, text in enumerate(row["shown"])})
        counted[row["echo"], bool(echoes(row["said"], shown))] += 1
    assert counted[True, True] / (counted[True, True] + counted[True, False]) >= 0.95
    assert counted[True, True] / (counted[True, True] + counted[False, True]) >= 0.95
    assert min(counted[True, True], counted[False, False]) >= 18


def test_words_are_compared_without_person_and_endings() -> None:
    assert words_of("I'm living") == words_of("You are living") == ["…", "be", "living"]
    assert words_of("Anna's class isn't 3.5 km") == ["anna", "class", "be", "not", "3.5", "km"]
    assert words_of("The user_name likes ＴＥＡ") == ["…", "name", "like", "tea"]
    assert words_of("用户十一点喝茶了。") == ["…", "十一", "点", "喝", "茶"]


def test_the_sentence_that_repeats_is_named_and_the_new_one_is_not() -> None:
    said = "As you said, your sister Anna is allergic to peanuts. She lives in Lyon.\nBye!"
    found = echoes(said, ComparedTexts.of({"a": FACT, "b": "Something else entirely was shown."}))
    assert found == [Echo(0, 53, ["a"])]
    assert said[:53].endswith("peanuts.")


def test_words_that_something_is_proposed_from_are_looked_at_by_themselves() -> None:
    said = "Your sister Anna is allergic to peanuts and lives in Lyon."
    shown = ComparedTexts.of({"a": FACT})
    assert echoes(said, shown) == []
    assert echoes(said, shown, parts=[(0, 39), (44, 57), (0, 39)]) == [Echo(0, 39, ["a"])]
    assert echoes(FACT, shown, parts=[(3, 14)]) == [Echo(0, len(FACT), ["a"])]


def test_too_little_is_no_repetition() -> None:
    assert echoes("Anna. Yes. You know that I told you so.", ComparedTexts.of({"a": FACT})) == []
    assert echoes("", ComparedTexts.of({})) == []


@given(WORDS)
def test_a_text_repeats_itself(words: list[str]) -> None:
    text = " ".join(words)
    assert [echo.of for echo in echoes(text, ComparedTexts.of({"a": text}))] == [["a"]]


@given(WORDS, WORDS)
def test_a_new_word_is_no_repetition(words: list[str], others: list[str]) -> None:
    shown = ComparedTexts.of({"a": " ".join(words), "b": " ".join(others)})
    assert echoes(" ".join([*words, "quickly"]), shown) == []
    assert echoes(" ".join(["not", *words]), shown) == []
