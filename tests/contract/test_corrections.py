"""What is corrected by hand is what counts from then on: what is said later is compared with the words as they are."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.items import Item
from phronesis.errors import InputError
from set_clock import Clock

START = datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=Clock(START, timedelta(seconds=1))) as memory:
        yield memory


def _learned(memory: Memory, words: str, key: str, **message: str) -> Item:
    said = [{"role": "user", "content": words, **message}]
    (item,) = [one for one in memory.add(said, user_id="ada").items if one.key == key]
    return item


def _held(memory: Memory, key: str) -> list[tuple[str, Any]]:
    return [(item.content, item.value) for item in memory.get_all(user_id="ada") if item.key == key]


def test_the_old_value_said_again_is_no_confirmation_of_the_corrected_item(memory: Memory) -> None:
    home = _learned(memory, "I live in Oslo", "home_city")
    memory.update(home.id, content="I live in Bergen")
    memory.add("I live in Oslo", user_id="ada")
    assert _held(memory, "home_city") == [("I live in Oslo", "Oslo")]
    assert memory.get(home.id).ended == "superseded"
    assert memory.admin.rebuild(verify=True).equal


def test_what_the_words_no_longer_say_cannot_be_taken_back(memory: Memory) -> None:
    drink = _learned(memory, "I like tea", "likes")
    memory.update(drink.id, content="I like green coffee")
    memory.add("I no longer like tea", user_id="ada")
    assert _held(memory, "likes") == [("I like green coffee", "green coffee")]
    memory.add("I no longer like green coffee", user_id="ada")
    assert _held(memory, "likes") == []
    assert memory.admin.rebuild(verify=True).equal


def test_words_of_which_no_value_is_read_are_compared_themselves(memory: Memory) -> None:
    home = _learned(memory, "I live in Oslo", "home_city")
    (corrected,) = memory.update(home.id, content="Somewhere by the sea, far up north").items
    assert corrected.value is None
    memory.add("I live in Oslo", user_id="ada")
    assert _held(memory, "home_city") == [("I live in Oslo", "Oslo")]
    memory.rollback(memory.update(home.id, content="I live in Bergen").entry_id)
    assert (memory.get(home.id).content, memory.get(home.id).value) == ("Somewhere by the sea, far up north", None)
    assert memory.admin.rebuild(verify=True).equal


def test_a_caller_says_the_value_too(memory: Memory) -> None:
    home = _learned(memory, "I live in Oslo", "home_city")
    (corrected,) = memory.update(home.id, content="At home in the town of seven hills", value="Bergen").items
    assert corrected.value == "Bergen"
    memory.add("I live in Bergen", user_id="ada")
    assert _held(memory, "home_city") == [("At home in the town of seven hills", "Bergen")]
    assert memory.update(home.id, value="Rome").items[0].value == "Rome"
    assert memory.admin.rebuild(verify=True).equal


def test_what_a_caller_expected_stands_when_a_lane_is_derived_anew(memory: Memory) -> None:
    home = _learned(memory, "I live in Oslo", "home_city")
    memory.update(home.id, content="I live in Bergen", expected_version=1)
    memory.admin.rederive(user_id="ada")
    assert (memory.get(home.id).content, memory.get(home.id).value) == ("I live in Bergen", "Bergen")
    assert memory.admin.rebuild(verify=True).equal


def test_an_end_before_the_beginning_is_refused(memory: Memory) -> None:
    made = memory.add("tea", user_id="ada", kind="preference").items[0]
    with pytest.raises(InputError, match=r"2026-04-01T.*2026-05-01T") as refused:
        memory.update(made.id, valid_to="2026-04-01T00:00:00Z")
    assert refused.value.field == "valid_to"
    assert memory.get(made.id).version == 1
    ended = memory.update(made.id, valid_to="2026-06-01T00:00:00Z")
    memory.rollback(ended.entry_id)
    assert memory.get(made.id).valid_to is None


def test_a_correction_outlives_the_erasure_of_what_its_value_quotes(memory: Memory) -> None:
    phone = _learned(memory, "My phone number is +49 30 1234 56789", "phone")
    said = [{"role": "user", "content": "My phone number is +4930123456789", "metadata": {"note": "+4930123456789"}}]
    again = next(item for item in memory.add(said, user_id="ada").items if item.kind == "message")
    version = memory.get(phone.id).version
    memory.update(phone.id, content="My phone number is +49 30 123 456 789", expected_version=version)
    assert memory.get(phone.id).version == version + 1 > 2
    memory.erase(id=again.id)
    held = memory.get(phone.id)
    assert (held.content, held.data["compared"]) == ("My phone number is +49 30 123 456 789", "+4930123456789")
    assert held.version == 2
    assert memory.admin.rebuild(verify=True).equal
