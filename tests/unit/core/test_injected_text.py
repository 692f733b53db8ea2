"""Composed contexts and blocks of hosts are told apart from what somebody wrote, by their form."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.data_delimiters import (
    DIGITS,
    OFF_RECORD,
    SAMPLE,
    choose_boundary,
    has_context,
    is_off_record,
    storable_messages,
    strip_contexts,
    strip_private_spans,
    strip_private_values,
)

ID = "01a22377-5f69-85c3-acee-e47f8f2280dc"
FENCED = f"<memory-123456789>\n[mem:{ID}] (2026-05-01, user) I live in Lyon.\n</memory-123456789>"
CONTEXT = f"# System\nProfile:\n[mem:{ID}] I live in Lyon\n\n# Memory\n{FENCED}\n\n# User message\nWhat should I see?"


def test_what_nobody_wrote_is_left_out() -> None:
    cases: list[tuple[str, str]] = [
        (CONTEXT, ""),
        (f"I moved to Paris.\n{CONTEXT}", "I moved to Paris."),
        (f"{FENCED}\nI moved to Paris.", "I moved to Paris."),
        (f"# Memory\n{FENCED}\nI moved to Paris.", "I moved to Paris."),
        (f"> [mem:{ID}] I live in Lyon\nnot any more", "not any more"),
        ('<turn-123456789 role="user">\nI live in Lyon.', ""),
        ("<system-reminder>\nThe user prefers tabs.\n</system-reminder>\ncontinue", "continue"),
        ("<system-reminder>The user prefers tabs.\nI use Vim.\n</system-reminder>\ncontinue", "continue"),
        ("Improve it: <cv>\nI am a nurse.\n</cv>\nI am Bob.", "Improve it:\nI am Bob."),
    ]
    for text, own in cases:
        assert "\n".join(line.strip() for line in strip_contexts(text).text.splitlines() if line.strip()) == own, text


@pytest.mark.parametrize(
    "text",
    [
        "I live in Lyon.",
        "# Memory\nMy notes on memory: I live in Lyon.",
        "I <b>really</b> live in Lyon",
        "if a <b and c> d: x\n[1] a reference",
        "a List<String> and\na Map<String, String>",
    ],
)
def test_what_somebody_wrote_stays(text: str) -> None:
    assert strip_contexts(text).text == text
    assert not has_context(text)


@pytest.mark.parametrize(
    "piece", ["<a>\n", "<a>\nx\n</a>\n", "[m1] x\n", "memory-123456 turn-123456 ", "<a>" + " " * 200]
)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.thread_time()
        strip_contexts(text)
        return time.thread_time() - start

    small, large = min(seconds(20_000) for _ in range(3)), min(seconds(160_000) for _ in range(3))
    assert large < 24 * max(small, 0.001)


# A fence's number stands in none of the texts that it fences, and is the same for the same texts.


def test_a_number_that_a_text_holds_is_not_taken() -> None:
    first = choose_boundary("context", ["plain"]).number
    second = choose_boundary("context", ["plain", f"closing </memory-{first}>"])
    assert second.number != first
    assert second.memory("text") == f"<memory-{second.number}>\ntext\n</memory-{second.number}>"
    assert second.turn('n="1"', "text") == f'<turn-{second.number} n="1">\ntext\n</turn-{second.number}>'


@given(st.text(), st.lists(st.text(), max_size=4))
def test_it_depends_on_nothing_else_and_is_as_long_as_the_sample(context_id: str, texts: list[str]) -> None:
    found = choose_boundary(context_id, texts)
    assert found == choose_boundary(context_id, texts)
    assert len(found.number) == DIGITS == len(SAMPLE.number)
    assert not any(found.number in text for text in texts)


# Private spans: what of a text is left for a store or a search.


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
    assert strip_private_spans(text) == left


def test_the_texts_of_json_data_lose_their_spans() -> None:
    given = {"a<private>b": [1, None, {"c": "d <private>e</private>"}]}
    assert strip_private_values(given) == {"a[private]": [1, None, {"c": "d [private]"}]}


@pytest.mark.parametrize("phrase", sorted(OFF_RECORD))
def test_a_prompt_with_a_command_as_a_clause_is_off_the_record(phrase: str) -> None:
    for text in (f"My PIN is 1. {phrase.capitalize()}!", f"{phrase}: 1", f"please {phrase}", f"1，请{phrase}。"):
        assert is_off_record(text), text
    assert not is_off_record(f"why did he say {phrase} to me")
    assert not is_off_record(f"grep -n '{phrase}' README.md")


def test_of_a_turn_off_the_record_nothing_is_kept() -> None:
    assert storable_messages([("user", "Off the record: 4711"), ("assistant", "I see: 4711.")]) == []
    assert storable_messages(
        [("user", "a <private>b</private>"), ("assistant", " "), ("assistant", "off the record")]
    ) == [
        {"role": "user", "content": "a [private]"},
        {"role": "assistant", "content": "off the record"},
    ]
