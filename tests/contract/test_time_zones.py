"""Days are those of the user's time zone where a message carries no offset."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any

import pytest

from phronesis import Memory
from phronesis.errors import InputError
from scenarios.engines import Clock

EVENING = datetime(2026, 5, 4, 23, 30, tzinfo=UTC)
"""Half past seven in the morning of the 5th in Shanghai."""


@contextmanager
def opened(url: str, **policy: Any) -> Iterator[tuple[Memory, Clock]]:
    clock = Clock(EVENING)
    with Memory.open(url, tenant="acme", policy={"embedder": "none", **policy}, clock=clock) as memory:
        yield memory, clock


def say(memory: Memory, text: str, *, user_id: str = "lin", at: str | None = None, **given: Any) -> None:
    message = {"role": "user", "content": text, **({} if at is None else {"created_at": at})}
    memory.commit_turn("s", {"messages": [message]}, user_id=user_id, **given)


def shown(memory: Memory, asked: str, **given: Any) -> str:
    package = memory.compose_context("other", asked, user_id="lin", **given)
    return str(package.render("text")).partition("# User message")[0]


@pytest.mark.parametrize(
    ("policy", "call"), [({"time_zone": "Asia/Shanghai"}, {}), ({}, {"time_zone": "Asia/Shanghai"})]
)
def test_days_are_those_of_the_policy_or_the_call(
    database_url: str, policy: Mapping[str, Any], call: Mapping[str, Any]
) -> None:
    with opened(database_url, **policy) as (memory, clock):
        say(memory, "I had breakfast with Anna today.", **call)
        say(memory, "我明天要去医院体检。", at="2026-05-04T23:30:00Z", **call)
        say(memory, "Remind me to call the bank tomorrow.", **call)
        for n in range(8):
            say(memory, f"The garden needs water, bed {n}.", at=f"2026-04-{10 + n}T09:00:00+08:00", **call)
        (task,) = memory.get_all(user_id="lin", kinds=["task"])
        assert task.data["due"] == "2026-05-06T00:00:00Z"
        text = shown(memory, "Who was at breakfast with me?", **call)
        assert "today: 2026-05-05" in text
        assert "明天: 2026-05-06" in shown(memory, "我什么时候去医院体检？", **call)
        assert memory.items.due("lin", within=1, **call) == []
        clock.pass_days(1 / 24)  # half past eight
        assert [one.id for one in memory.items.due("lin", within=16, **call)] == [task.id]
        assert memory.search("What did I do on May 5th?", user_id="lin", **call)[0].item.content.startswith("I had")
        clock.pass_days(1)
        found = memory.search("What did I do yesterday?", user_id="lin", **call)
        assert found[0].item.content.startswith("I had")
        clock.pass_days(1)
        assert "was due 2026-05-06" in shown(memory, "Hello", **call)
        assert memory.admin.rebuild(verify=True).equal


def test_an_offset_of_the_message_decides_before_the_zone(database_url: str) -> None:
    with opened(database_url, time_zone="Asia/Shanghai") as (memory, _):
        say(memory, "I had breakfast with Anna today.", at="2026-05-04T07:30:00-04:00")
        assert "today: 2026-05-04" in shown(memory, "Who was at breakfast with me?")


def test_what_was_kept_in_utc_is_told_in_the_zone_of_the_call(database_url: str) -> None:
    with opened(database_url) as (memory, _):
        say(memory, "I had breakfast with Anna today.")
        memory.add("Anna moves house today.", kind="event", user_id="lin")
        assert "today: 2026-05-04" in shown(memory, "Who was at breakfast with me?")
        text = shown(memory, "Who was at breakfast with me, and does Anna move house?", time_zone="Asia/Shanghai")
        assert "today: 2026-05-05" in text
        assert "today: 2026-05-04" not in text


def test_a_zone_that_changed_since_does_not_change_what_was_recorded(database_url: str) -> None:
    with opened(database_url, time_zone="Asia/Shanghai") as (memory, _):
        say(memory, "Remind me to call the bank tomorrow.")
        before = [item.to_dict() for item in memory.get_all(user_id="lin")]
    with Memory.open(database_url, tenant="acme", policy={"embedder": "none", "time_zone": "America/Lima"}) as memory:
        assert memory.admin.rebuild(verify=True).equal
        assert [item.to_dict() for item in memory.get_all(user_id="lin")] == before


def test_a_name_that_is_no_time_zone_is_refused(database_url: str) -> None:
    names: tuple[Any, ...] = ("Mars/Olympus", "Asia", "../etc/passwd", 8)
    with opened(database_url) as (memory, _):
        verbs = (memory.add, partial(say, memory), memory.search, memory.plan, partial(shown, memory))
        for name, verb in product(names, (*verbs, lambda _, **given: memory.items.due("lin", **given))):
            with pytest.raises(InputError, match="Asia/Shanghai") as refused:
                verb("x", time_zone=name)
            assert refused.value.field == "time_zone"
        assert len(memory.get_all(across="tenant")) == 0
    for name in names:
        with pytest.raises(InputError, match="time_zone"), opened(database_url, time_zone=name):
            pass
