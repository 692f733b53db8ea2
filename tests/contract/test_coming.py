"""What begins later takes effect then: until that day what it takes the place of holds."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis import Memory
from set_clock import Clock

START = datetime(2026, 1, 10, 9, tzinfo=UTC)


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        yield opened
        verified = opened.admin.rebuild(verify=True)
        assert verified.equal, verified.differences


def held(memory: Memory, **when: Any) -> list[str]:
    found = memory.get_all(user_id="ada", kinds=["profile"], **when)
    return sorted(str(item.value).casefold() for item in found if item.key in {"employer", "home_city"})


def say(memory: Memory, clock: Clock, text: str, day: str) -> None:
    clock.now = datetime.fromisoformat(f"{day}T09:00:00+00:00")
    memory.add(text, user_id="ada")


SAID = [
    (("I work at Siemens.", "I'm starting at Globex next month."), ("siemens", "globex")),
    (("我在华为上班。", "我下个月开始在腾讯上班。"), ("华为", "腾讯")),
]


@pytest.mark.parametrize(("said", "values"), SAID, ids=["en", "zh"])
def test_the_present_holds_until_what_is_to_come_begins(
    memory: Memory, clock: Clock, said: tuple[str, str], values: tuple[str, str]
) -> None:
    (now, later), (old, new) = said, values
    say(memory, clock, now, "2026-01-10")
    say(memory, clock, later, "2026-01-12")
    (present,) = [item for item in memory.get_all(user_id="ada", kinds=["profile"]) if item.value.casefold() == old]
    assert (present.ended, present.valid_to) == (None, datetime(2026, 2, 1, tzinfo=UTC))
    assert held(memory, valid_at="2026-01-20") == [old]
    assert held(memory, valid_at="2026-02-02") == [new]
    assert held(memory, as_of="2026-01-11") == [old]
    say(memory, clock, now, "2026-01-15")  # said again, it is still no reason to drop what is to come
    assert held(memory) == sorted([old, new])

    clock.now = datetime(2026, 2, 2, tzinfo=UTC)
    assert held(memory) == [new]
    found = [one.item.value.casefold() for one in memory.search(now, user_id="ada", kinds=["profile"])]
    assert old not in found
    assert held(memory, valid_at="2026-01-20") == [old]


def test_another_plan_takes_the_place_of_the_first(memory: Memory, clock: Clock) -> None:
    say(memory, clock, "I work at Siemens.", "2026-01-10")
    say(memory, clock, "I'm starting at Globex next month.", "2026-01-12")
    say(memory, clock, "I'm starting at Bosch next month.", "2026-01-14")
    assert held(memory, valid_at="2026-01-20") == ["siemens"]
    assert held(memory, valid_at="2026-02-02") == ["bosch"]
