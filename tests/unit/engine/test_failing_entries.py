"""A handler's fault is recorded after three tries; the lane moves on, nothing is half-written, and replays agree."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from custom_store import failing, open_with, write
from phronesis.conversation import extraction, typed_items
from phronesis.conversation import handlers as conversation
from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, Outcome
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.errors import Conflict, EntryFailed, Erased, HandlerMissing, NotFound, StorageError, StorageRefused
from phronesis.memory import Memory
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes
from phronesis.store.log import read_failures

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
        Handler(verb="item", apply=failing(typed_items.apply, fault)),
        Handler(verb="turn", apply=failing(conversation.apply, fault), prepare=extraction.by_rules),
    ]
    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", handlers) as opened:
        yield opened


def contents(memory: Memory) -> list[str]:
    return sorted(item.content for item in memory.get_all(user_id="alice", limit=500))


def says(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, "id": text}], "session_id": "s"}


def bad(entry: Entry, _tries: int) -> bool:
    return "bad" in str(entry.payload)


def test_a_handler_that_fails_twice_and_then_works_is_as_if_it_had_worked(memory: Memory, fault: Fault) -> None:
    fault.fails = lambda _entry, tries: tries <= 2
    made = memory.add("tea is hot", user_id="alice", kind="fact")
    assert [item.content for item in made.items] == ["tea is hot"]
    assert fault.tries[made.entry_id] == 3
    assert memory.admin.doctor().ok
    assert memory.admin.rebuild(verify=True).equal


def test_after_three_tries_the_caller_is_told_and_the_lane_moves_on(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    with pytest.raises(EntryFailed) as told:
        memory.add("bad tea", user_id="alice", kind="fact")
    entry_id = told.value.details["entry_id"]
    assert told.value.code == "entry.failed"
    assert f"retry('{entry_id}')" in told.value.message
    assert told.value.details["cause"] == "exception.ZeroDivisionError"
    assert fault.tries[entry_id] == 3
    memory.add("good tea", user_id="alice", kind="fact")
    assert contents(memory) == ["good tea"]
    assert fault.tries[entry_id] == 3
    assert memory.admin.rebuild(verify=True).equal
    assert memory.admin.rebuild().equal


def test_the_log_of_failures_quotes_nothing(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    with pytest.raises(EntryFailed):
        memory.add("bad tea", user_id="alice", kind="fact")
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        assert "bad tea" not in str(read_failures(unit))


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


def test_older_failures_do_not_reach_a_later_writer(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    older = [write(memory, "item", {**TEXT, "content": f"bad {n}"}, wait=False) for n in range(3)]
    assert all(written.pending for written in older)
    made = memory.add("good tea", user_id="alice", kind="fact")
    assert [item.content for item in made.items] == ["good tea"]
    assert [fault.tries[written.entry.id] for written in older] == [4, 3, 3]  # once as first of a batch
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


def test_a_fault_only_in_the_batch_fails_nobody(memory: Memory, fault: Fault) -> None:
    written = [write(memory, "item", {**TEXT, "content": f"good {n}"}, wait=False) for n in range(5)]
    fault.fails = lambda entry, tries: entry.id == written[3].entry.id and tries == 1
    memory.flush()
    assert len(contents(memory)) == 5
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        assert read_failures(unit) == []
    assert memory.admin.rebuild(verify=True).equal


def test_a_caller_whose_entry_another_failed_is_told_too(memory: Memory, fault: Fault) -> None:
    fault.fails = bad
    with pytest.raises(EntryFailed) as first:
        write(memory, "item", {**TEXT, "content": "bad"}, key="k")
    with pytest.raises(EntryFailed) as again:
        write(memory, "item", {**TEXT, "content": "bad"}, key="k")
    assert again.value.details == first.value.details


def test_a_database_that_fails_is_no_failure_of_the_entry(memory: Memory, fault: Fault) -> None:
    fault.fails, fault.error = bad, lambda: StorageError("the database went away")
    memory._runtime._background.stop()
    assert memory.add("bad tea", user_id="alice", kind="fact").pending  # it is on disk: nobody is to say it again
    with pytest.raises(StorageError):
        memory.flush()
    fault.fails = lambda _entry, _tries: False
    memory.flush()
    assert contents(memory) == ["bad tea"]


def test_rows_that_the_database_refuses_are(memory: Memory, fault: Fault) -> None:
    fault.fails, fault.error = bad, lambda: StorageRefused("a key twice")
    with pytest.raises(EntryFailed):
        memory.add("bad tea", user_id="alice", kind="fact")
    memory.add("good tea", user_id="alice", kind="fact")
    assert memory.admin.rebuild(verify=True).equal


def test_a_key_twice_is_refused_by_the_database_and_fails_the_entry(tmp_path: Path) -> None:
    def twice(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = typed_items.apply(view, entry, outcomes)
        return Changes(items=changes.items, conversation=_repeated_turn(view, entry))

    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", [Handler(verb="item", apply=twice)]) as memory:
        write(memory, "turn", says("hello"))
        with pytest.raises(EntryFailed) as told:
            write(memory, "item", TEXT)
        assert told.value.details["cause"] == "storage.refused"
        assert contents(memory) == ["hello"]
        assert memory.admin.rebuild(verify=True).equal


def _repeated_turn(view: LaneView, entry: Entry) -> Any:
    turn = Entry(
        id=entry.id,
        lane_id=entry.lane_id,
        seq=entry.seq,
        verb="turn",
        handler_version=1,
        actor="x",
        recorded_at=entry.recorded_at,
        payload=says("again"),
    )
    rows = conversation.apply(view, turn, {}).conversation
    assert rows is not None
    return type(rows)(
        session=rows.session,
        turn=type(rows.turn)(entry_id=entry.id, session_id="s", number=1, recorded_at=entry.recorded_at),
        messages=(),
        tool_calls=(),
        refs=(),
    )


def test_a_verb_that_nobody_knows_stays_pending_and_those_before_it_do_not(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with open_with(url, [Handler(verb="novel", apply=typed_items.apply)]) as newer:
        write(newer, "item", TEXT, wait=False)
        write(newer, "novel", {**TEXT, "content": "of the future"}, wait=False)
    with open_with(url, []) as older:
        assert older.add("later", user_id="alice", kind="fact").pending
        assert contents(older) == ["tea is hot"]
        pending = next(check for check in older.admin.doctor().checks if check.name == "pending")
        assert not pending.ok
        assert "newer Phronesis" in str(pending.remedy)
    with open_with(url, [Handler(verb="novel", apply=typed_items.apply)]) as newer:
        newer.flush()
        assert contents(newer) == ["later", "of the future", "tea is hot"]
        assert newer.admin.rebuild(verify=True).equal


def test_one_lane_that_is_stuck_does_not_keep_flush_from_the_others(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"

    def unknown(_bench: PrepareContext, _entry: Entry) -> list[Outcome]:
        raise HandlerMissing("of a newer version still")  # nobody applies it in the background meanwhile

    with open_with(url, [Handler(verb="novel", apply=typed_items.apply, prepare=unknown)]) as newer:
        write(newer, "novel", TEXT, wait=False)
        for name in ("bob", "zoe"):
            newer.add("hello", user_id=name, wait=False)
    with open_with(url, []) as older:
        with pytest.raises(HandlerMissing):
            older.flush()
        assert len([*older.get_all(user_id="bob"), *older.get_all(user_id="zoe")]) == 2


def test_nothing_found_is_an_outcome_and_is_not_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def prepare(_bench: PrepareContext, entry: Entry) -> list[Outcome]:
        asked.append(entry.id)
        return []

    calls = Counter[str]()

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        calls[entry.id] += 1
        assert set(outcomes) == {"nothing"}
        return typed_items.apply(view, entry, outcomes)

    handler = Handler(verb="item", apply=apply, prepare=prepare)
    with open_with(f"sqlite:///{tmp_path / 'a.db'}", [handler]) as memory:
        write(memory, "item", TEXT)
        memory.export(tmp_path / "a.jsonl")
    with open_with(f"sqlite:///{tmp_path / 'b.db'}", [handler]) as memory:
        memory.import_(tmp_path / "a.jsonl")
        assert contents(memory) == ["tea is hot"]
    assert len(asked) == 1
    assert max(calls.values()) >= 2


# --- retry -----------------------------------------------------------------------------------------------------


def failed(memory: Memory, fault: Fault, verb: str, payload: dict[str, Any]) -> str:
    fault.fails = bad
    with pytest.raises(EntryFailed) as told:
        write(memory, verb, payload)
    return str(told.value.details["entry_id"])


@pytest.mark.parametrize(("verb", "payload"), [("turn", says("bad Alice Smith")), ("item", {**TEXT, "content": "bad"})])
def test_retry_does_what_the_entry_would_have_done(
    memory: Memory, fault: Fault, verb: str, payload: dict[str, Any]
) -> None:
    entry_id = failed(memory, fault, verb, payload)
    memory.add("between", user_id="alice")
    fault.fails = lambda _entry, _tries: False
    before = memory.get_all(user_id="alice")
    result = memory.admin.retry(entry_id)
    (item,) = result.items
    assert item.entry_id == entry_id
    assert result.entry_id != entry_id
    assert contents(memory) == sorted([item.content, "between"])
    assert memory.admin.doctor().ok
    # Nobody knew it before the retry.
    assert memory.get_all(user_id="alice", as_of=before[0].recorded_at) == before
    assert memory.explain(item.id).sources[0].entry_id == entry_id
    assert memory.admin.rebuild(verify=True).equal
    memory.rollback(result.entry_id)
    assert contents(memory) == ["between"]
    assert memory.admin.rebuild(verify=True).equal


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


def test_retry_refuses_what_did_not_fail(memory: Memory) -> None:
    entry_id = memory.add("fine", user_id="alice").entry_id
    with pytest.raises(Conflict, match="did not fail"):
        memory.admin.retry(entry_id)
    with pytest.raises(NotFound):
        memory.admin.retry("00000000-0000-7000-8000-000000000000")


def test_two_retries_at_once_count_once(memory: Memory, fault: Fault) -> None:
    entry_id = failed(memory, fault, "turn", says("bad"))
    fault.fails = lambda _entry, _tries: False
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        lane_id = list_lanes(unit)[0].lane_id
    for _ in range(2):
        memory.admin.components.writer.write(
            memory.admin.tenant, lane_id, verb="retry", payload={"entry_id": entry_id}, actor="tester", wait=False
        )
    memory.flush()
    assert contents(memory) == ["bad"]
    assert [turn.number for turn in memory.sessions.turns("s", user_id="alice")] == [1]
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        assert [row["entry_id"] for row in read_failures(unit)] == [entry_id]
    assert memory.admin.rebuild(verify=True).equal


def test_retry_with_a_key_gives_the_same_result_twice(memory: Memory, fault: Fault) -> None:
    entry_id = failed(memory, fault, "item", {**TEXT, "content": "bad"})
    fault.fails = lambda _entry, _tries: False
    first = memory.admin.retry(entry_id, idempotency_key="once")
    assert memory.admin.retry(entry_id, idempotency_key="once") == first


def test_a_failed_parent_appends_no_child_and_its_retry_does(tmp_path: Path, fault: Fault) -> None:
    def parent(_view: LaneView, _entry: Entry, _outcomes: Outcomes) -> Changes:
        return Changes(children=[ChildEntry(verb="item", payload=TEXT)])

    with open_with(f"sqlite:///{tmp_path / 'm.db'}", [Handler(verb="parent", apply=failing(parent, fault))]) as memory:
        entry_id = failed(memory, fault, "parent", {"bad": True})
        memory.flush()
        assert contents(memory) == []
        fault.fails = lambda _entry, _tries: False
        memory.admin.retry(entry_id)
        memory.flush()
        assert contents(memory) == ["tea is hot"]
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
