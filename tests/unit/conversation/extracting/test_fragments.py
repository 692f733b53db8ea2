"""A word alone states nothing of its user, unless the assistant asked the user for just that."""

from datetime import UTC, datetime
from typing import Any

from phronesis.conversation.extracting.rules import Rules
from phronesis.core.entries import Entry

AT = datetime(2026, 6, 10, 9, tzinfo=UTC)


def read(*said: tuple[str, str]) -> tuple[dict[str, Any], set[str]]:
    messages = [{"role": role, "content": text} for role, text in said]
    entry = Entry(
        id="e",
        lane_id=1,
        seq=1,
        verb="add",
        handler_version=1,
        actor="agent",
        recorded_at=AT,
        payload={"messages": messages},
    )
    found, refused = Rules().propose(entry, {n: text for n, (_, text) in enumerate(said)})
    return {one.key: one.value for one in found if one.kind == "profile"}, {one.rule for one in refused}


def test_a_word_alone_is_no_fact() -> None:
    cases: list[tuple[str, str]] = [
        ("Quiz: who joins metal with heat?", "Welder."),
        ("What is a word for no meat and no fish?", "Vegetarian."),
        ("Where would you like to fly to?", "Berlin."),
        ("Which state is the opposite of married?", "single"),
        ("What does your sister do?", "Nurse."),
    ]
    for before, alone in cases:
        assert read(("user", alone))[0] == {}
        assert read(("assistant", before), ("user", alone))[0] == {}


def test_an_answer_to_the_assistant_is_one() -> None:
    cases: list[tuple[str, str, str, str]] = [
        ("What do you do for a living?", "Welder.", "job", "welder"),
        ("Are you vegetarian?", "No, vegan.", "diet", "vegan"),
        ("What is your diet?", "Vegetarian.", "diet", "vegetarian"),
    ]
    for before, alone, key, value in cases:
        found, _ = read(("assistant", before), ("user", alone))
        assert found[key].casefold() == value
