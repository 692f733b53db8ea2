"""What is due is shown and listed when it is, and neither before nor after (NM-15)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.context import Block
from phronesis.errors import InputError
from set_clock import Clock

START = datetime(2026, 4, 2, 9, tzinfo=UTC)
"""A Thursday."""


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        yield opened


def state(memory: Memory, text: str, due: Any = None, **fields: Any) -> str:
    return memory.add(text, **{"user_id": "lin", "kind": "intention", "due": due, **fields}).items[0].id


def listed(memory: Memory, **fields: Any) -> list[str]:
    return [item.content for item in memory.items.due("lin", **fields)]


def blocks(memory: Memory, **fields: Any) -> list[Block]:
    package = memory.compose_context("s", "Hello", user_id="lin", **fields)
    return [block for block in package.system_blocks if block.label == "Due"]


def shown(memory: Memory, **fields: Any) -> list[str]:
    return [block.text for block in blocks(memory, **fields)]


def test_it_comes_up_the_day_before_and_goes_when_it_expires(memory: Memory, clock: Clock) -> None:
    state(memory, "Call the landlord", "2026-04-03T10:00:00Z", expires="2026-04-05T10:00:00+00:00")
    assert (shown(memory), listed(memory)) == ([], [])
    assert listed(memory, within=25) == listed(memory, within=timedelta(hours=25)) == ["Call the landlord"]
    clock.pass_hours(1)
    (block,) = blocks(memory)
    assert block.text == "Call the landlord"
    assert block.about == "due 2026-04-03 10:00 UTC; expires 2026-04-05 10:00 UTC"
    assert block.citations == (memory.items.due("lin")[0].citation,)
    clock.pass_hours(71.9)
    assert (shown(memory), listed(memory)) == (["Call the landlord"], ["Call the landlord"])
    clock.pass_hours(0.1)
    assert (shown(memory), listed(memory)) == ([], [])
    assert memory.search("landlord", user_id="lin")[0].item.content == "Call the landlord"


def test_what_is_shown_is_the_most_urgent_and_stands_in_the_text(memory: Memory) -> None:
    state(memory, "Water the plants", "2026-04-02")
    state(memory, "Pay the rent", START - timedelta(days=2), kind="task")
    state(memory, "Buy bread", datetime(2026, 4, 2, 9))  # noqa: DTZ001 - a naive time is UTC
    state(memory, "Likes tea", kind="preference", importance=10)
    state(memory, "Answer in French.", kind="preference", key="reply_language")
    assert shown(memory) == ["Pay the rent", "Water the plants", "Buy bread"]
    package = memory.compose_context("s", "Hello", user_id="lin")
    assert [block.label for block in package.system_blocks] == ["Standing instructions", *["Due"] * 3, "Preferences"]
    stable, _, changing = package.text.partition("# Due\n[m")
    assert "(was due 2026-03-31 09:00 UTC) Pay the rent" in changing
    assert "(due 2026-04-02) Water the plants" in changing
    assert "Likes tea" in stable


def test_no_more_than_a_few_are_shown_and_none_beyond_the_budget(memory: Memory) -> None:
    for n in range(30):
        state(memory, f"Errand number {n} of a long day in town", f"2026-04-02T10:{n:02}:00Z")
    assert shown(memory) == [f"Errand number {n} of a long day in town" for n in range(8)]
    assert len(listed(memory)) == 30
    assert len(listed(memory, limit=7)) == 7
    small = memory.compose_context("s", "Hello", user_id="lin", token_budget=200)
    assert small.token_count <= 200
    assert 0 < len(small.system_blocks) < 8


def test_what_is_over_in_any_way_is_not_due(memory: Memory) -> None:
    names = ["archived", "retracted", "ended", "somebody else's", "hers", "held"]
    made = {name: state(memory, f"It is {name}", START) for name in names if name not in {"somebody else's", "hers"}}
    state(memory, "It is somebody else's", START, subject="Bob")
    state(memory, "It is under her other name", START, subject="Linnea")
    memory.add("Another lane's", user_id="ada", kind="task", due=START)
    memory.items.archive(made["archived"])
    memory.items.retract(made["retracted"])
    memory.update(made["ended"], valid_to=START)
    assert listed(memory) == ["It is held"]
    memory.add("Is called Linnea.", user_id="lin", kind="profile", key="name", value="Linnea")
    both = ["It is held", "It is under her other name"]
    assert sorted(listed(memory)) == sorted(shown(memory)) == both
    memory.items.unarchive(made["archived"])
    assert sorted(listed(memory)) == ["It is archived", *both]


def test_as_of_a_time_is_what_was_due_then_as_it_was_known(memory: Memory, clock: Clock) -> None:
    first = state(memory, "Call Ana", "2026-04-02T12:00:00Z")
    then = clock.pass_hours(1)
    clock.pass_hours(1)
    memory.items.archive(first)
    state(memory, "Call Ben", "2026-04-02T12:00:00Z")
    late = clock.pass_hours(100 * 24)
    assert listed(memory, as_of=then) == shown(memory, as_of=then) == ["Call Ana"]
    assert blocks(memory, as_of=then)[0].about == "due 2026-04-02 12:00 UTC"
    assert listed(memory, as_of=late) == listed(memory) == ["Call Ben"]
    assert shown(memory, valid_at=START + timedelta(hours=3)) == ["Call Ben"]


def test_a_task_stated_again_is_due_when_it_was_last_said_to_be(memory: Memory, clock: Clock) -> None:
    first = state(memory, "Hand in the report", "2026-04-10", kind="task", key="task", value="hand in the report")
    clock.pass_hours(1)
    again = memory.add(
        "Hand in the report",
        user_id="lin",
        kind="task",
        key="task",
        value="hand in the report",
        due="2026-04-02",
        expires="2026-04-04",
    )
    assert [item.id for item in memory.items.due("lin")] == [first]
    assert memory.get(first).valid_to == datetime(2026, 4, 4, tzinfo=UTC)
    memory.rollback(again.entry_id)
    assert listed(memory) == []
    assert (memory.get(first).data["due"], memory.get(first).valid_to) == ("2026-04-10T00:00:00Z", None)
    memory.add(
        "Hand in the report",
        user_id="lin",
        kind="task",
        key="task",
        value="hand in the report",
        due="2026-04-01",
        occurred_at="2026-03-01",
    )
    assert memory.get(first).data["due"] == "2026-04-10T00:00:00Z"  # an older saying moves nothing
    assert memory.admin.rebuild(verify=True).equal


def test_a_reminder_said_in_a_conversation_comes_up_and_is_done(memory: Memory, clock: Clock) -> None:
    turn = {"messages": [{"role": "user", "content": "Remind me tomorrow to call Ana."}]}
    memory.commit_turn("monday", turn, user_id="lin")
    memory.commit_turn("monday", {"messages": [{"role": "user", "content": "后天提醒我交报告。"}]}, user_id="lin")
    (task,) = memory.items.due("lin")
    assert (task.kind, task.value, task.data["due"]) == ("task", "call Ana", "2026-04-03T00:00:00Z")
    clock.pass_hours(24)
    assert [block.about for block in blocks(memory)] == ["due 2026-04-03", "due 2026-04-04"]
    memory.items.retract(task.id)
    assert [item.value for item in memory.items.due("lin")] == ["交报告"]
    memory.commit_turn(
        "tuesday", {"messages": [{"role": "user", "content": "Remind me on Monday to call Ana."}]}, user_id="lin"
    )
    assert [item.data["due"] for item in memory.items.due("lin", within=100)] == [
        "2026-04-04T00:00:00Z",
        "2026-04-06T00:00:00Z",
    ]


def test_a_wrong_time_is_named_and_stores_nothing(memory: Memory) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"kind": "fact", "due": START}, "due"),
        ({"kind": "event", "expires": START}, "expires"),
        ({"kind": "task", "due": "soon"}, "due"),
        ({"kind": "intention", "due": "2026-04-03", "expires": "2026-04-02"}, "expires"),
    ]
    for fields, field in cases:
        with pytest.raises(InputError) as caught:
            memory.add("Call Ana", user_id="lin", **fields)
        assert caught.value.field == field
        assert not memory.get_all(user_id="lin").items
