"""A message that may have replaced or ended what is held marks it; contexts show both with their days."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from phronesis import Memory
from phronesis.core.items import Item
from set_clock import Clock

START = datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        yield opened


def say(memory: Memory, clock: Clock, text: str) -> str:
    """Say a text a day later; give the id of its message."""
    clock.pass_days(1)
    said = memory.add([{"role": "user", "content": text}], user_id="ann")
    return next(item.id for item in said.items if item.kind == "message")


def held(memory: Memory, key: str) -> Item:
    (item,) = [item for item in memory.get_all(user_id="ann") if item.key == key]
    return item


def marks(memory: Memory, item: Item) -> list[str]:
    edges = memory.explain(item.id).edges
    return [edge["to_id"] for edge in edges if (edge["type"], edge["from_id"]) == ("outdated_by", item.id)]


@pytest.mark.parametrize(
    ("first", "key", "later"),
    [
        ("My name is Sara.", "name", "Sorry, I meant Zara, not Sara."),
        ("I really enjoy black coffee in the morning.", "likes", "I can't stand black coffee anymore."),
        ("I'm planning to move to Porto next year.", "plan", "I'm no longer planning to move to Porto."),
        ("I need to renew my passport.", "task", "I renewed my passport, done."),
        ("我平时用Notion。", "uses", "我不用Notion了。"),
        ("我今年三十四岁。我是马来西亚人。", "age", "我今年三十五岁了。"),
    ],
)
def test_what_a_message_may_have_ended_is_marked_and_stays(
    memory: Memory, clock: Clock, first: str, key: str, later: str
) -> None:
    say(memory, clock, first)
    message = say(memory, clock, later)
    item = held(memory, key)
    assert (item.ended, marks(memory, item)) == (None, [message])
    (found,) = memory.search(item.content, user_id="ann", kinds=[item.kind])
    assert found.outdated_by == (message,)
    assert memory.admin.rebuild(verify=True).equal


def test_an_appointment_on_another_day_marks_the_one_that_still_lies_ahead(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "My dentist appointment is on Tuesday.")
    first = held(memory, "appointment")
    say(memory, clock, "The dentist appointment is on Thursday now.")
    (other,) = [item for item in memory.get_all(user_id="ann") if item.key == "appointment" and item.id != first.id]
    assert marks(memory, first) == [other.id]
    clock.pass_days(7)
    say(memory, clock, "My dentist appointment is on Tuesday.")
    assert marks(memory, other) == []


def test_a_context_shows_both_with_their_days(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "My name is Sara.")
    message = say(memory, clock, "Sorry, I meant Zara, not Sara.")
    package = memory.compose_context("s", "What is my name?", user_id="ann")
    aliases = {citation: alias for alias, citation in package.citations.items()}
    one, other = aliases[held(memory, "name").citation], aliases[f"mem:{message}"]
    assert f"[{one}] (2026-05-02; possibly outdated by {other}) Name: Sara" in package.text
    assert f"[{other}] (2026-05-03) Sorry, I meant Zara, not Sara" in package.text


def test_evidence_shows_both_with_their_days(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "I need to call Ana. I love hiking and the sea.")
    message = say(memory, clock, "I called Ana, done.")
    package = memory.compose_context("s", "What do I need to do?", user_id="ann")
    aliases = {citation: alias for alias, citation in package.citations.items()}
    task = held(memory, "task")
    assert f"[{aliases[task.citation]}] (2026-05-02, task; possibly outdated by {aliases[f'mem:{message}']})" in (
        package.text
    )
    assert f"[{aliases[f'mem:{message}']}] (2026-05-03, user)" in package.text


def test_saying_it_again_takes_the_mark_off(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "我平时用Notion。")
    say(memory, clock, "我不用Notion了。")
    say(memory, clock, "我平时用Notion。")
    assert marks(memory, held(memory, "uses")) == []
    assert memory.admin.rebuild(verify=True).equal


def test_a_mark_goes_with_what_made_it(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "我平时用Notion。")
    archived = say(memory, clock, "我不用Notion了。")
    memory.items.archive(archived)
    assert "possibly outdated" not in memory.compose_context("s", "我用什么？", user_id="ann").text
    erased = say(memory, clock, "我不用Notion了，真的。")
    assert erased in marks(memory, held(memory, "uses"))
    memory.erase(id=erased)
    assert erased not in marks(memory, held(memory, "uses"))
    assert memory.admin.rebuild(verify=True).equal


def test_a_value_that_names_the_old_one_as_ended_takes_its_place(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "My name is Marec.")
    say(memory, clock, "Sorry, my name is Marek, not Marec.")
    assert held(memory, "name").value == "Marek"


@pytest.mark.parametrize(
    "said",
    [
        ("I like green tea.", "I like black tea."),
        ("I need to call Ana.", "I need to call the bank."),
        ("I live in Lyon.", "The weather in Lyon is great."),
        ("I work at Siemens.", "Is Siemens a good company?"),
        ("My dentist appointment is on Tuesday.", "My flight is on Friday at 9."),
    ],
)
def test_what_is_unrelated_is_not_marked(memory: Memory, clock: Clock, said: tuple[str, str]) -> None:
    for text in said:
        say(memory, clock, text)
    items = [item for item in memory.get_all(user_id="ann") if item.kind != "message"]
    assert items
    assert [marks(memory, item) for item in items] == [[]] * len(items)
