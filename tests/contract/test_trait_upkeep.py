"""What happens to traits beside reflections: memories are taken back, traits are recalled, and workers visit."""

from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.memory import Memory
from phronesis.worker import Worker
from plain_mind import install
from scenarios.engines import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Any:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        install(opened)
        yield opened


def say(memory: Memory, text: str, *, times: int = 3, user: str = "lin") -> list[str]:
    added = [memory.add(text, user_id=user, kind="episodic", session_id=f"s{n}") for n in range(times)]
    return [one.items[0].id for one in added]


def the_trait(memory: Memory) -> Any:
    [found] = memory.get_user_traits("lin", "trend")
    return found


def test_a_memory_that_is_taken_back_speaks_for_nothing(memory: Memory) -> None:
    ids = say(memory, "Jogged before work", times=4)
    memory.reflect("lin")
    trait = the_trait(memory)
    memory.items.retract(ids[0])
    memory.delete(ids[1])
    assert {row.memory_id for row in memory.traits.evidence(trait.id)} == set(ids[2:])
    edit = memory.items.retract(ids[2])
    memory.rollback(edit.entry_id)
    assert {row.memory_id for row in memory.traits.evidence(trait.id)} == set(ids[2:])
    memory.items.retract(ids[2])
    memory.delete(ids[3])
    gone = memory.get(trait.id)
    assert (gone.ended, gone.stage) == ("dissolved", "dissolved")
    assert memory.get_user_traits("lin", "trend") == []
    assert memory.history(trait.id)[-1].reason == "what supported it was taken back"
    assert memory.admin.rebuild(verify=True).equal


def test_a_reinforcement_that_is_taken_back_counts_no_more(memory: Memory, clock: Clock) -> None:
    say(memory, "Jogged before work")
    memory.reflect("lin")
    clock.pass_days(10)
    [late] = say(memory, "Jogged before work", times=1)
    memory.reflect("lin")
    assert the_trait(memory).stage == "emerging"
    memory.delete(late)
    after = the_trait(memory)
    assert (after.stage, after.reinforcement_count) == ("candidate", 0)
    assert memory.admin.rebuild(verify=True).equal


def test_recall_adds_to_usefulness_and_to_nothing_else(memory: Memory, clock: Clock) -> None:
    say(memory, "Jogged along the canal before work")
    memory.reflect("lin")
    clock.pass_days(1)
    say(memory, "Jogged along the canal before work", times=1)
    memory.reflect("lin", force=True)
    before = the_trait(memory)
    for _ in range(3):
        found = memory.search("jogged along the canal", user_id="lin", kinds=["trait"])
        assert [one.item.id for one in found] == [before.id]
    memory.compose_context("s9", "Shall we go jogging along the canal?", user_id="lin")
    memory.search("jogged along the canal", user_id="mei", kinds=["trait"])
    assert the_trait(memory).usefulness == 0.0
    memory.reflect("lin", force=True)
    after = the_trait(memory)
    assert after.usefulness == pytest.approx(4 * 0.02)
    assert (after.stage, after.reinforcement_count) == (before.stage, before.reinforcement_count)
    assert after.confidence == pytest.approx(before.confidence, abs=1e-6)
    memory.reflect("lin", force=True)
    assert the_trait(memory).usefulness == after.usefulness
    assert memory.admin.rebuild(verify=True).equal


def test_a_worker_reflects_when_it_is_due(memory: Memory, clock: Clock) -> None:
    worker = Worker(memory)
    say(memory, "Jogged before work")
    assert worker.work() == 1
    assert the_trait(memory).stage == "candidate"
    [first] = memory.traits.reflections("lin")
    assert (first.trigger_type, first.memories_scanned) == ("first", 3)
    say(memory, "Jogged before work", times=1)
    assert worker.work() == 0  # not enough, and not long enough
    clock.pass_days(1.01)
    assert worker.work() == 1
    assert the_trait(memory).stage == "emerging"
    clock.pass_days(0.5)
    assert worker.work() == 0
    clock.pass_days(400)
    assert worker.work() == 1  # nothing is new: time alone
    assert memory.get_user_traits("lin", "trend") == []
    assert [one.trigger_type for one in memory.traits.reflections("lin")] == ["elapsed", "elapsed", "first"]
    clock.pass_days(400)
    assert worker.work() == 0
    assert worker.faults == {}


def test_a_worker_waits_longer_after_each_reflection_that_failed(memory: Memory, clock: Clock) -> None:
    mind = install(memory)
    worker = Worker(memory)
    mind.away = True
    say(memory, "Jogged before work")

    def rounds(minutes: float) -> list[str]:
        """Give how the reflections ended that ran in so many minutes, with a turn and two looks in each of them."""
        known = len(memory.traits.reflections("lin"))
        for _ in range(int(minutes)):
            clock.pass_days(1 / 1440)
            memory.add("A note", user_id="lin", infer=False)
            worker.work()
            worker.work()
        return [one.status for one in reversed(memory.traits.reflections("lin"))][known:]

    assert rounds(12) == ["failed"] * 2  # at once, and ten minutes later
    assert rounds(18) == []
    assert rounds(4) == ["failed"]
    mind.away = False
    assert rounds(42) == ["completed"]
    assert worker.faults == {}
