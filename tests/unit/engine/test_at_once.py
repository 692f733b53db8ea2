"""A new entry is prepared before the transaction that records it, and applied in it when preparing takes no time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from custom_store import open_with, write
from phronesis.conversation import direct_statements
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.store.lane_view import LaneView
from phronesis.store.log import failures_of

TEXT = {"kind": "fact", "content": "tea is hot"}


def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'memory.db'}"


class Held:
    """Prepares facts, and waits with one of them until it is told to go on."""

    def __init__(self, content: str) -> None:
        self.content, self.began, self.go = content, Event(), Event()

    def __call__(self, _bench: PrepareContext, entry: Entry) -> list[Outcome]:
        if entry.payload["content"] == self.content:
            self.began.set()
            assert self.go.wait(60)
        return [Outcome(role="found", made_by="test", body={})]


@pytest.mark.parametrize("behind", [0, 3], ids=["the next", "of several that are behind"])
def test_others_write_while_an_entry_is_prepared(tmp_path: Path, behind: int) -> None:
    held = Held("tea is green")
    handlers = [Handler(verb="item", apply=direct_statements.apply, prepare=held, quick=True)]
    with open_with(url(tmp_path), handlers) as memory, open_with(url(tmp_path), []) as other:
        memory._runtime._background.stop()
        memory.add("tea is hot", kind="fact", user_id="alice")
        for n in range(behind):
            memory.add("tea is green" if n == 1 else f"tea number {n}", kind="fact", user_id="alice", wait=False)
        with ThreadPoolExecutor(1) as pool:
            added = pool.submit(memory.add, "tea is black" if behind else "tea is green", kind="fact", user_id="alice")
            assert held.began.wait(60)
            other.add("coffee", kind="fact", user_id="bob", wait=False)
            held.go.set()
            assert not added.result(60).pending
        assert len(memory.get_all(user_id="alice")) == 2 + behind
        assert memory.admin.rebuild(verify=True).equal


def test_what_was_prepared_for_a_lane_that_moved_is_prepared_again(tmp_path: Path) -> None:
    held = Held("tea is green")
    handlers = [Handler(verb="item", apply=direct_statements.apply, prepare=held, quick=True)]
    with open_with(url(tmp_path), handlers) as memory:
        memory.add("tea is hot", kind="fact", user_id="alice")
        with ThreadPoolExecutor(1) as pool:
            added = pool.submit(memory.add, "tea is green", kind="fact", user_id="alice")
            assert held.began.wait(60)
            memory.add("tea is black", kind="fact", user_id="alice")
            held.go.set()
            assert not added.result(60).pending
        contents = [item.content for item in memory.get_all(user_id="alice")]
        assert contents == ["tea is green", "tea is black", "tea is hot"]
        assert memory.admin.rebuild(verify=True).equal


def test_a_handler_that_fails_leaves_the_entry_and_nothing_of_its_own(tmp_path: Path) -> None:
    """What it wrote before it failed is rolled back with the entry, which is then recorded alone."""
    calls: list[str] = []

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        calls.append(entry.id)
        if len(calls) <= 2:  # at once, and the first of the three tries that count
            raise ZeroDivisionError
        return direct_statements.apply(view, entry, outcomes)

    with open_with(url(tmp_path), [Handler(verb="item", apply=apply)]) as memory:
        entry_id = write(memory, "item", TEXT).entry.id
        assert [item.content for item in memory.get_all(user_id="alice")] == ["tea is hot"]
        assert calls[1:] == [entry_id, entry_id]
        assert calls[0] != entry_id  # the first was never recorded
        with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
            failure = failures_of(unit, [entry_id]).get(entry_id)
        assert failure is not None
        assert failure["attempts"] == 1
        assert memory.admin.rebuild(verify=True).entries == 1
