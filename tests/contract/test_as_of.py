"""Reads ``as_of`` a time tell what was known then: no source, edge, dispute or word of later."""

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis import Memory

LIN: Mapping[str, Any] = {"user_id": "lin"}
DAY = timedelta(days=1)


@dataclasses.dataclass
class Days:
    """A clock that stands still until a test turns it."""

    now: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def next(self) -> datetime:
        """Turn it to the next day; give the last moment before."""
        self.now += DAY
        return self.now - timedelta(hours=1)


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture
def memory(database_url: str, days: Days) -> Iterator[Memory]:
    policy = {"embedder": "none", "conflict": {"default": "keep_both"}}
    with Memory.open(database_url, policy=policy, tenant="acme", clock=days) as opened:
        yield opened


def say(memory: Memory, text: str, session: str = "s") -> list[str]:
    """Give the ids of what a message stated that nobody had said before."""
    done = memory.commit_turn(session, {"messages": [{"role": "user", "content": text}]}, **LIN)
    return [item.id for item in done.stored if item.kind != "message"]


def read(memory: Memory, ids: list[str], then: datetime) -> dict[str, Any]:
    """Give what the verbs tell of a time; scores are those of the words that are there today."""
    found = memory.search("Where do I live? office tea", as_of=then, limit=50, **LIN)
    package = memory.compose_context("s", "Where do I live? And the office?", as_of=then, dry_run=True, **LIN)
    pack = memory.retrieve(memory.plan("Where do I live? And the office?", as_of=then, limit=50, **LIN))
    explained = [memory.explain(one, as_of=then).to_dict() for one in ids]
    return {
        "search": {one.item.id: (one.item, one.sources, one.conflicts) for one in found},
        "retrieve": {one.item.id: (one.item, one.sources, one.conflicts) for one in pack},
        "context": [package.system_blocks, package.recent_turns, {*package.shown_ids()}],
        "evidence": {one.item.id: (one.sources, one.conflicts) for one in package.evidence},
        "explain": explained,
        "history": [memory.history(one, as_of=then) for one in ids],
        "list": memory.get_all(as_of=then, **LIN).items,
    }


def test_a_read_as_of_a_time_tells_what_the_read_of_that_time_told(memory: Memory, days: Days) -> None:
    ids = say(memory, "I live in Paris.") + say(memory, "I like green tea.")
    ids.append(memory.add("The office is in Rome.", kind="fact", **LIN).items[0].id)
    then = days.next()
    told = {then: read(memory, ids, then)}
    say(memory, "I live in Paris.", "other")
    say(memory, "I live in Berlin.")
    say(memory, "I don't like green tea.")
    memory.update(ids[2], content="The office is in Milan.")
    then = days.next()
    told[then] = read(memory, ids, then)
    memory.update(ids[2], content="The office is in Turin.")
    memory.items.retract(ids[0])
    memory.items.archive(ids[1])
    days.next()
    for then, expected in told.items():
        assert read(memory, ids, then) == expected
