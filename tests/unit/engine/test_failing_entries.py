"""A handler's fault is recorded after three tries; the lane moves on, nothing is half-written, and replays agree."""

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from custom_store import failing, open_with, write
from phronesis.conversation import direct_statements
from phronesis.conversation import handlers as conversation
from phronesis.conversation.extraction import extractor as extraction
from phronesis.core.entries import Entry, Outcome
from phronesis.engine.handler import Handler, PrepareContext
from phronesis.errors import Conflict, EntryFailed, Erased, StorageError
from phronesis.memory import Memory
from phronesis.store.log import failures_of

TEXT = {"kind": "fact", "content": "tea is hot"}


class Fault:
    """Which entries fail, and how often each was tried."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()
        self.fails: Callable[[Entry, int], bool] = lambda _entry, _tries: False
        self.error: Callable[[], Exception] | None = None

    def __call__(self, entry: Entry) -> bool:
        self.tries[entry.id] += 1
        if self.fails(entry, self.tries[entry.id]) and self.error is not None:
            raise self.error()
        return self.fails(entry, self.tries[entry.id])


@pytest.fixture
def fault() -> Fault:
    return Fault()


@pytest.fixture
def memory(tmp_path: Path, fault: Fault) -> Iterator[Memory]:
    handlers = [
        Handler(verb="item", apply=failing(direct_statements.apply, fault)),
        Handler(verb="turn", apply=failing(conversation.apply, fault), prepare=extraction.extract_locally),
    ]
    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", handlers) as opened:
        yield opened


def contents(memory: Memory) -> list[str]:
    return sorted(item.content for item in memory.get_all(user_id="alice", limit=500))


def says(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, "id": text}], "session_id": "s"}


def bad(entry: Entry, _tries: int) -> bool:
    return "bad" in str(entry.payload)


def test_after_three_tries_the_caller_is_told_and_the_lane_moves_on(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    with pytest.raises(EntryFailed) as told:
        memory.add("bad tea", user_id="alice", kind="fact")
    entry_id = told.value.details["entry_id"]
    assert told.value.code == "entry.failed"
    assert f"retry('{entry_id}')" in told.value.message
    assert told.value.details["cause"] == "exception.ZeroDivisionError"
    assert fault.tries[entry_id] == 3
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        failures = failures_of(unit, [entry_id])
    assert failures.keys() == {entry_id}
    assert "bad tea" not in str(failures)
    memory.add("good tea", user_id="alice", kind="fact")
    assert contents(memory) == ["good tea"]
    assert fault.tries[entry_id] == 3
    assert memory.admin.rebuild(verify=True).equal
    assert memory.admin.rebuild().equal


def test_a_failed_turn_leaves_nothing_half_written(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    write(memory, "turn", says("first"))
    with pytest.raises(EntryFailed):
        write(memory, "turn", says("bad"))
    write(memory, "turn", says("last"))
    assert contents(memory) == ["first", "last"]
    assert [turn.number for turn in memory.sessions.turns("s", user_id="alice")] == [1, 2]
    assert memory.sessions.list(user_id="alice")[0].message_count == 2
    assert memory.admin.rebuild(verify=True).equal


def test_one_fault_among_many_pending_costs_the_others_nothing(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    for n in range(150):
        write(memory, "item", {**TEXT, "content": "bad" if n == 70 else f"good {n}"}, wait=False)
    memory.flush()
    assert len(contents(memory)) == 149
    failed = next(check for check in memory.admin.doctor().checks if check.name == "failed")
    assert failed.detail.startswith("1 entries")
    assert memory.admin.rebuild(verify=True).equal


def test_a_database_that_fails_is_no_failure_of_the_entry(memory: Memory, fault: Fault) -> None:
    fault.fails, fault.error = bad, lambda: StorageError("the database went away")
    memory._runtime._background.stop()
    assert memory.add("bad tea", user_id="alice", kind="fact").pending  # it is on disk: nobody is to say it again
    with pytest.raises(StorageError):
        memory.flush()
    fault.fails = lambda _entry, _tries: False
    memory.flush()
    assert contents(memory) == ["bad tea"]


@pytest.mark.parametrize("behind", [0, 3], ids=["the next", "of several that are behind"])
def test_others_write_while_an_entry_is_prepared(tmp_path: Path, behind: int) -> None:
    began, go = Event(), Event()

    def prepare(_bench: PrepareContext, entry: Entry) -> list[Outcome]:
        if entry.payload["content"] == "tea is green":
            began.set()
            assert go.wait(60)
        return [Outcome(role="found", made_by="test", body={})]

    url = f"sqlite:///{tmp_path / 'memory.db'}"
    handlers = [Handler(verb="item", apply=direct_statements.apply, prepare=prepare, quick=True)]
    with open_with(url, handlers) as memory, open_with(url, []) as other:
        memory._runtime._background.stop()
        for n in range(behind):
            memory.add("tea is green" if n == 1 else f"tea number {n}", kind="fact", user_id="alice", wait=False)
        with ThreadPoolExecutor(1) as pool:
            added = pool.submit(memory.add, "tea is black" if behind else "tea is green", kind="fact", user_id="alice")
            assert began.wait(60)
            other.add("coffee", kind="fact", user_id="bob", wait=False)
            go.set()
            assert not added.result(60).pending
        assert len(memory.get_all(user_id="alice")) == 1 + behind
        assert memory.admin.rebuild(verify=True).equal


# --- retry -----------------------------------------------------------------------------------------------------


def failed(memory: Memory, fault: Fault, verb: str, payload: dict[str, Any]) -> str:
    fault.fails = bad
    with pytest.raises(EntryFailed) as told:
        write(memory, verb, payload)
    return str(told.value.details["entry_id"])


def test_a_retry_that_fails_is_retried_by_either_id(memory: Memory, fault: Fault) -> None:
    entry_id = failed(memory, fault, "item", {**TEXT, "content": "bad"})
    with pytest.raises(EntryFailed) as again:
        memory.admin.retry(entry_id)
    fault.fails = lambda _entry, _tries: False
    result = memory.admin.retry(again.value.details["entry_id"])
    assert [item.content for item in result.items] == ["bad"]
    with pytest.raises(Conflict, match="taken up again"):
        memory.admin.retry(entry_id)
    assert memory.admin.rebuild(verify=True).equal


def test_what_was_erased_is_not_retried_and_no_longer_told_of(memory: Memory, fault: Fault) -> None:
    entry_id = failed(memory, fault, "turn", says("bad news of Alice Smith"))
    fault.fails = lambda _entry, _tries: False
    retried = memory.admin.retry(entry_id)
    memory.erase(id=retried.items[0].id)
    assert contents(memory) == []
    assert memory.admin.doctor().ok
    for given in (entry_id, retried.entry_id):
        with pytest.raises((Erased, Conflict)):
            memory.admin.retry(given)
    assert memory.admin.rebuild(verify=True).equal
