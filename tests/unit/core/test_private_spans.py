"""Private spans: what of a text is left for a store or a search."""

import pytest

from phronesis.core.data_delimiters import (
    OFF_RECORD,
    is_off_record,
    kept_messages,
    without_private,
    without_private_values,
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no span </private> here", "no span </private> here"),
        ("a <private>b</private> c <PRIVATE>d</PRIVATE> e", "a [private] c [private] e"),
        ("a <private>b<private>c</private>d</private> e", "a [private] e"),
        ("a <private>b", "a [private]"),
        ("a <private>b<private>c</private> d", "a [private]"),
        ("a < private\n>b< / Private > c", "a [private] c"),
        ("一＜private＞二＜／private＞三", "一[private]三"),
    ],
)
def test_a_span_is_hidden_to_its_own_end(text: str, left: str) -> None:
    assert without_private(text) == left


def test_the_texts_of_json_data_lose_their_spans() -> None:
    given = {"a<private>b": [1, None, {"c": "d <private>e</private>"}]}
    assert without_private_values(given) == {"a[private]": [1, None, {"c": "d [private]"}]}


@pytest.mark.parametrize("phrase", sorted(OFF_RECORD))
def test_a_prompt_with_a_command_as_a_clause_is_off_the_record(phrase: str) -> None:
    for text in (f"My PIN is 1. {phrase.capitalize()}!", f"{phrase}: 1", f"please {phrase}", f"1，请{phrase}。"):
        assert is_off_record(text), text
    assert not is_off_record(f"why did he say {phrase} to me")
    assert not is_off_record(f"grep -n '{phrase}' README.md")


def test_of_a_turn_off_the_record_nothing_is_kept() -> None:
    assert kept_messages([("user", "Off the record: 4711"), ("assistant", "I see: 4711.")]) == []
    assert kept_messages([("user", "a <private>b</private>"), ("assistant", " "), ("assistant", "off the record")]) == [
        {"role": "user", "content": "a [private]"},
        {"role": "assistant", "content": "off the record"},
    ]
