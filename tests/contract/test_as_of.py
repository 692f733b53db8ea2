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


def test_what_was_said_again_later_is_no_source(memory: Memory, days: Days) -> None:
    [stated] = say(memory, "I live in Paris.", "one")
    first = days.next()
    assert say(memory, "I live in Paris.", "two") == []
    for then, sessions in ((first, ["one"]), (days.next(), ["one", "two"])):
        [found] = memory.search("Paris", as_of=then, kinds=["profile"], **LIN)
        assert [source.session_id for source in found.sources] == sessions
        assert [source.session_id for source in memory.explain(stated, as_of=then).sources] == sessions
        pack = memory.retrieve(memory.plan("Where do I live?", as_of=then, **LIN))
        assert {source.session_id for one in pack for source in one.sources} == {*sessions}


def test_an_edited_item_cites_the_edit_of_then(memory: Memory, days: Days) -> None:
    fact = memory.add("The office is in Rome.", kind="fact", **LIN).items[0].id
    told = []
    for city in ("Milan", "Turin"):
        before = days.next()
        edit = memory.update(fact, content=f"The office is in {city}.").entry_id
        told.append((before, edit))
    made, (rome, to_milan), (milan, to_turin) = memory.get(fact).entry_id, *told
    expected = {
        rome: [(made, "Rome")], milan: [(made, "Rome"), (to_milan, "Milan")],
        days.next(): [(made, "Rome"), (to_turin, "Turin")],
    }  # fmt: skip
    for then, sources in expected.items():
        quoted = [(entry, f"The office is in {city}.") for entry, city in sources]
        [found] = memory.search("office", as_of=then, **LIN)
        assert found.item.content == quoted[-1][1]
        assert [(one.entry_id, one.quote) for one in found.sources] == quoted
        assert [(one.entry_id, one.quote) for one in memory.explain(fact, as_of=then).sources] == quoted
