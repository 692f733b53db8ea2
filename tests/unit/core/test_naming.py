"""Names are found in English and Chinese, what is no name is left alone, and no text takes long."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from phronesis.core.entries import Entry, Outcome
from phronesis.core.name_detection import MAX_MENTIONS, MAX_SCANNED, MAX_SURFACE, find_mentions
from phronesis.core.proposals import ECHOES, GATED, JUDGED, PROPOSALS, Proposal, Refusal, echo_predicate, refusals_in
from phronesis.core.values import canonical_relative


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
        assert canonical_relative(word) == plain, word


# What outcomes say of an entry: proposals, judgements, echoes, and what was refused.


ENTRY = Entry(
    id="e",
    lane_id=1,
    seq=1,
    verb="add",
    handler_version=1,
    actor="agent",
    recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    payload={"messages": [{"role": "user", "content": "I like tea"}, {"role": "tool", "content": "I like tea"}]},
)


def proposed(n: int) -> Proposal:
    return Proposal(
        n=n,
        quote="I like tea",
        start=0,
        end=10,
        kind="preference",
        subject="user",
        key="likes",
        content="I like tea",
        value="tea",
    )


def outcomes(**rows: object) -> dict[str, list[Outcome]]:
    roles = {"proposals": PROPOSALS, "refusals": GATED, "judgements": JUDGED, "echoes": ECHOES}
    return {roles[name]: [Outcome(role=roles[name], made_by="t", body={name: found})] for name, found in rows.items()}


def test_an_echo_is_never_the_users() -> None:
    rows: list[dict[str, object]] = [{"n": n, "of": [], "start": 0, "end": 10} for n in (0, 1, 7)]
    echoes = echo_predicate(ENTRY, outcomes(echoes=rows))
    assert [n for n in (0, 1, 2) if echoes(proposed(n))] == [1]


def test_what_was_refused_and_what_echoes_is_told() -> None:
    gate = Refusal(n=0, text="Do I like tea?", rule="question", reason="it asks")
    found = outcomes(
        refusals=[gate.to_dict()],
        echoes=[{"n": 1, "of": [], "start": 3, "end": 30}],
        proposals=[proposed(0).to_dict(), proposed(1).to_dict()],
    )
    first, second = refusals_in(ENTRY, found)
    assert first == gate
    assert (second.n, second.rule, second.text) == (1, "echo", "I like tea")
    assert refusals_in(ENTRY, outcomes(proposals=[proposed(1).to_dict()])) == []
