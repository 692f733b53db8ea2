"""A worker groups events and draws principles when that is due, and not before."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from phronesis import Memory
from phronesis.worker import Worker
from set_clock import Clock

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def memory(clock: Clock) -> Iterator[Memory]:
    policy = {"embedder": "none", "experience": {"aggregate_events": 4}}
    with Memory.open("sqlite://", policy=policy, clock=clock) as store:
        yield store


def tried(memory: Memory, count: int) -> None:
    told = {"label": "failure", "result": "the stale wheel was installed again", "situation": "a build server"}
    for n in range(count):
        memory.ingest({**told, "attempt": f"cached the wheel folder in job {n}", "source_ref": f"ci:{n}"})


def patterns(memory: Memory) -> int:
    return len(list(memory.get_all(kinds=["pattern"])))


def test_a_few_are_grouped_after_a_day(memory: Memory, clock: Clock) -> None:
    worker = Worker(memory)
    tried(memory, 2)
    worker.work()
    assert patterns(memory) == 0
    clock.now += timedelta(hours=25)
    worker.work()
    assert patterns(memory) == 1


def test_enough_new_events_are_grouped_and_principles_drawn_more_seldom(memory: Memory, clock: Clock) -> None:
    worker = Worker(memory)
    tried(memory, 4)
    assert worker.work() > 0
    assert patterns(memory) == 1
    (principle,) = memory.get_all(kinds=["principle"])
    assert worker.work() == 0
    tried(memory, 8)
    worker.work()
    assert memory.get(principle.id).version == principle.version
    clock.now += timedelta(days=8)
    worker.work()
    assert memory.get(principle.id).version > principle.version
    assert not worker.faults
