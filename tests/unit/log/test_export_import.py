"""Export and import: the round trip is the identity, a resumed import too, and nothing damaged gets in."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import sqlalchemy as sa

from custom_store import open_with, write
from phronesis.conversation import direct_statements
from phronesis.core.changes import Changes, ChildEntry
from phronesis.core.entries import Entry, Outcome
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.errors import (
    Conflict,
    EntryFailed,
    IdempotencyConflict,
    InputError,
    IntegrityError,
    PhronesisError,
    SchemaTooNew,
    StorageFull,
)
from phronesis.log import import_log
from phronesis.log.payloads import check_chain
from phronesis.memory import Memory
from phronesis.memory.runtime import Runtime
from phronesis.store import schema
from phronesis.store.erasure_queries import drop_outcomes
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes
from phronesis.store.log import delete_parts

TEXT = {"kind": "fact", "content": "tea is hot"}
ENTRIES = 11
"""What ``source`` records."""


def _parent(_view: LaneView, _entry: Entry, _outcomes: Outcomes) -> Changes:
    return Changes(children=[ChildEntry(verb="item", payload=TEXT)])


def _fails(_view: LaneView, _entry: Entry, _outcomes: Outcomes) -> Changes:
    raise ZeroDivisionError


HANDLERS = [Handler(verb="parent", apply=_parent), Handler(verb="broken", apply=_fails)]


def opened(folder: Path, name: str, **options: Any) -> Memory:
    return open_with(f"sqlite:///{folder / name}.db", HANDLERS, **options)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Memory]:
    """A store with all that a log may hold: blobs, surrogates, failures, children, edits, erased parts, two lanes."""
    with opened(tmp_path, "source") as memory:
        said = [f"Alice Smith said {n} \x00\ud800 雪" for n in range(3)]
        turn = {"messages": [{"role": "user", "content": text, "id": str(n)} for n, text in enumerate(said)]}
        committed = memory.commit_turn("s", turn, user_id="alice", idempotency_key="turn")
        memory.add("x" * 100_000, user_id="alice", namespace=None, infer=False)
        memory.add("shared", metadata={"n": 1.5}, idempotency_key="shared")
        pinned = memory.add("tea is hot", user_id="alice", kind="fact", subject="tea", key="state").items[0]
        memory.update(pinned.id, content="tea was hot")
        write(memory, "parent", {}, wait=False)
        write(memory, "item", {**TEXT, "content": "between"}, wait=False)
        with pytest.raises(EntryFailed):
            write(memory, "broken", {})
        memory.flush()
        memory.rollback(memory.items.archive(pinned.id).entry_id)
        with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
            delete_parts(unit, committed.entry_id, [2])
        memory.admin.rebuild()
        yield memory


@pytest.fixture
def one_lane(tmp_path: Path) -> Iterator[Memory]:
    """A store whose lines stand where a test may count on them: header, tenant, lane, four entries, end."""
    with opened(tmp_path, "source") as memory:
        for n in range(4):
            memory.add(f"Alice Smith said {n}", user_id="alice")
        yield memory


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_the_round_trip_is_the_identity(source: Memory, tmp_path: Path) -> None:
    result = source.export(tmp_path / "a.jsonl")
    assert (result.lanes, result.entries) == (2, ENTRIES)
    assert stat.S_IMODE((tmp_path / "a.jsonl").stat().st_mode) == 0o600
    with opened(tmp_path, "copy") as copy:
        taken = copy.import_(tmp_path / "a.jsonl")
        assert (taken.lanes, taken.entries_added, taken.entries_known) == (2, ENTRIES, 0)
        live, original = copy.admin.rebuild(verify=True), source.admin.rebuild(verify=True)
        assert live.equal
        assert live.live_hash == original.live_hash
        with copy.admin.components.database.transaction(copy.admin.tenant, "read") as unit:
            assert [check_chain(unit, lane) for lane in list_lanes(unit)] == [[], []]
        copy.export(tmp_path / "b.jsonl")
        assert copy.sessions.turns("s", user_id="alice") == source.sessions.turns("s", user_id="alice")
        # The same call is known there too.
        assert not copy.add("new", user_id="alice", idempotency_key="other").pending
        with pytest.raises(IdempotencyConflict):
            copy.add("another", idempotency_key="shared")
    assert lines(tmp_path / "a.jsonl")[1:] == lines(tmp_path / "b.jsonl")[1:]


def test_a_second_import_changes_nothing_and_a_later_export_extends(source: Memory, tmp_path: Path) -> None:
    source.export(tmp_path / "a.jsonl")
    source.add("later", user_id="alice")
    source.export(tmp_path / "b.jsonl")
    with opened(tmp_path, "copy") as copy:
        copy.import_(tmp_path / "a.jsonl")
        assert copy.import_(tmp_path / "a.jsonl").entries_known == ENTRIES
        extended = copy.import_(tmp_path / "b.jsonl")
        assert (extended.entries_added, extended.entries_known) == (1, ENTRIES)
        assert copy.import_(tmp_path / "a.jsonl").entries_added == 0
        assert copy.admin.rebuild(verify=True).live_hash == source.admin.rebuild(verify=True).live_hash


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [1, 3, ENTRIES])
def test_a_killed_import_is_invisible_and_goes_on_where_it_stopped(
    source: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    source.export(tmp_path / "a.jsonl")
    monkeypatch.setattr(import_log, "MAX_ENTRIES", 1)
    written = 0
    real = import_log.Importer._write

    def dies(self: import_log.Importer) -> None:
        nonlocal written
        written += bool(self._batch) and self._storing
        if written == killed_at:
            raise KeyboardInterrupt
        real(self)

    with opened(tmp_path, "copy") as copy:
        with mock.patch.object(import_log.Importer, "_write", dies), pytest.raises(KeyboardInterrupt):
            copy.import_(tmp_path / "a.jsonl")
        # Whoever opens the store now sees whole lanes only, and interprets nothing of the others.
        copy.flush()
        with copy.admin.components.database.transaction(copy.admin.tenant, "read") as unit:
            assert all(lane.applied_seq == lane.head_seq for lane in list_lanes(unit))
            visible = sum(lane.head_seq for lane in list_lanes(unit))
            stored = unit.run(sa.select(sa.func.count()).select_from(schema.entries)).scalar_one()
        assert stored == killed_at - 1
        assert copy.admin.rebuild(verify=True).equal
        unfinished = next(check for check in copy.admin.doctor().checks if check.name == "imports")
        assert unfinished.ok == (stored == visible)
        result = copy.import_(tmp_path / "a.jsonl")
        assert result.entries_added + result.entries_known == ENTRIES
        assert [check.name for check in copy.admin.doctor().checks if not check.ok] == ["failed"]
        assert copy.admin.rebuild(verify=True).live_hash == source.admin.rebuild(verify=True).live_hash
        copy.export(tmp_path / "b.jsonl")
    assert lines(tmp_path / "a.jsonl")[1:] == lines(tmp_path / "b.jsonl")[1:]


def test_another_tenant_takes_it_beside_its_own(source: Memory, tmp_path: Path) -> None:
    source.export(tmp_path / "a.jsonl")
    other = source.for_tenant("other")
    other.add("mine", user_id="bob", idempotency_key="turn")
    other.import_(tmp_path / "a.jsonl")
    assert other.admin.rebuild(verify=True).equal
    # Keys of the other store mean nothing here; those of this one still hold.
    assert other.add("mine", user_id="bob", idempotency_key="turn").items[0].content == "mine"
    assert source.admin.rebuild(verify=True).equal


def _standing(memory: Memory) -> list[tuple[str | None, int]]:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        return sorted((lane.name, lane.head_seq) for lane in list_lanes(unit))


def test_a_key_that_was_used_here_is_a_conflict_before_anything_is_taken(source: Memory, tmp_path: Path) -> None:
    source.export(tmp_path / "a.jsonl")
    with opened(tmp_path, "copy") as copy:
        copy.import_(tmp_path / "a.jsonl")
        copy.add("here", user_id="here", idempotency_key="one key")
        for user in ("there", "nowhere", "alice"):
            source.add("there", user_id=user, idempotency_key="one key" if user == "there" else None)
        source.export(tmp_path / "b.jsonl")
        before = _standing(copy)
        with pytest.raises(Conflict, match="idempotency key"):
            copy.import_(tmp_path / "b.jsonl")
        assert _standing(copy) == before


def _edit(number: int, change: Callable[[dict[str, Any]], None]) -> Callable[[list[str]], list[str]]:
    def edited(given: list[str]) -> list[str]:
        record = json.loads(given[number])
        change(record)
        return [*given[:number], json.dumps(record), *given[number + 1 :]]

    return edited


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda record: next(iter(record.values())).update({name: value})


DAMAGE: list[tuple[str, Callable[[list[str]], list[str]], type[PhronesisError], str]] = [
    ("empty", lambda _given: [""], InputError, "line 1"),
    ("cut off", lambda given: given[:-1], InputError, "without its last line"),
    ("cut in a line", lambda given: [*given[:4], given[4][:50]], InputError, "line 5: it is not JSON"),
    ("a line lost", lambda given: given[:5] + given[6:], IntegrityError, "line 6"),
    ("two lines swapped", lambda given: [*given[:3], given[4], given[3], *given[5:]], IntegrityError, "line 4"),
    ("an entry altered", _edit(4, _set("actor", "mallory")), IntegrityError, "line 5"),
    ("a body altered", _edit(4, lambda r: r["entry"]["parts"][0].update(body='{"a":1}')), IntegrityError, "part 0"),
    ("a column of another kind", _edit(4, _set("seq", "one")), InputError, "line 5: seq"),
    ("an unknown record", lambda given: [*given[:2], '{"novel": {}}', *given[2:]], InputError, "line 3"),
    ("no lane", lambda given: [given[0], *given[3:]], InputError, "line 2: an entry stands before its lane"),
    ("a lane's name altered", _edit(2, _set("name", "mallory")), InputError, "not those that were written"),
    ("a lane cut short", _edit(2, _set("head_seq", 1)), IntegrityError, "should end with entry 1"),
    ("something after the end", lambda given: [*given, "{}"], InputError, "follows the last line"),
    ("a newer version", lambda given: [given[0].replace('"version":1', '"version":2')], SchemaTooNew, "version 2"),
]


@pytest.mark.parametrize(("damage", "kind", "message"), [row[1:] for row in DAMAGE], ids=[row[0] for row in DAMAGE])
def test_a_damaged_file_is_refused_whole(
    one_lane: Memory, tmp_path: Path, damage: Callable[[list[str]], list[str]], kind: type[PhronesisError], message: str
) -> None:
    one_lane.export(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text("\n".join(damage(lines(tmp_path / "a.jsonl"))) + "\n", "utf-8")
    with opened(tmp_path, "copy") as copy:
        with pytest.raises(kind, match=message):
            copy.import_(tmp_path / "b.jsonl")
        with copy.admin.components.database.transaction(copy.admin.tenant, "read") as unit:
            assert list_lanes(unit) == []


def test_an_export_that_fails_leaves_the_old_file(source: Memory, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("old")
    full = OSError(28, "No space left on device")
    with mock.patch.object(os, "fsync", side_effect=full), pytest.raises(StorageFull):
        source.export(path)
    assert path.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob(".a.jsonl*"))


def test_a_log_that_does_not_verify_is_not_exported(source: Memory, tmp_path: Path) -> None:
    with source.admin.components.database.transaction(source.admin.tenant, "append") as unit:
        unit.run(sa.update(schema.entries).where(schema.entries.c.seq == 2).values(actor="mallory"))
    with pytest.raises(IntegrityError, match="altered"):
        source.export(tmp_path / "a.jsonl")
    assert not (tmp_path / "a.jsonl").exists()


def test_what_an_erasure_took_no_import_brings_back(tmp_path: Path) -> None:
    asked: list[str] = []

    def prepare(_bench: PrepareContext, entry: Entry) -> list[Outcome]:
        asked.append(entry.id)
        return [Outcome(role="found", made_by="test/1")]

    handler = Handler(verb="item", apply=direct_statements.apply, prepare=prepare)
    with open_with(f"sqlite:///{tmp_path / 'a.db'}", [handler]) as memory:
        entry_id = write(memory, "item", TEXT).entry.id
        with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
            drop_outcomes(unit, [entry_id], keep=())
        memory.export(tmp_path / "a.jsonl")
    with open_with(f"sqlite:///{tmp_path / 'b.db'}", [handler]) as memory:
        memory.import_(tmp_path / "a.jsonl")
        memory.export(tmp_path / "b.jsonl")
        assert memory.admin.rebuild(verify=True).equal
    assert asked == [entry_id]
    assert lines(tmp_path / "a.jsonl")[1:] == lines(tmp_path / "b.jsonl")[1:]


def test_what_is_pending_is_prepared_where_it_is_imported(source: Memory, tmp_path: Path) -> None:
    write(source, "turn", {"messages": [{"role": "user", "content": "I met Bob Ray", "id": "9"}]}, wait=False)
    with mock.patch.object(Runtime, "drain"):  # another process is about to
        source.export(tmp_path / "a.jsonl")
    with opened(tmp_path, "copy") as copy:
        copy.import_(tmp_path / "a.jsonl")
        found = copy.search("Bob Ray", user_id="alice", explain=True)
        assert "mention" in found.explain["channels"]  # type: ignore[index]
        assert copy.admin.rebuild(verify=True).equal


def test_two_imports_at_once_store_each_entry_once(source: Memory, tmp_path: Path) -> None:
    source.export(tmp_path / "a.jsonl")
    real = import_log.Importer._write
    with opened(tmp_path, "copy") as copy:

        def overtaken(self: import_log.Importer) -> None:
            if self._storing:
                with mock.patch.object(import_log.Importer, "_write", real):
                    copy.import_(tmp_path / "a.jsonl")
            real(self)

        with mock.patch.object(import_log.Importer, "_write", overtaken), pytest.raises(Conflict, match="call again"):
            copy.import_(tmp_path / "a.jsonl")
        assert copy.import_(tmp_path / "a.jsonl").entries_known == ENTRIES
        assert copy.admin.rebuild(verify=True).live_hash == source.admin.rebuild(verify=True).live_hash


def test_where_one_lane_conflicts_nothing_of_the_file_is_taken(source: Memory, tmp_path: Path) -> None:
    for user in ("bob", "carol"):
        source.add("hello", user_id=user)
    source.export(tmp_path / "a.jsonl")
    for user in ("alice", "bob", "carol"):  # the lanes stand in the order of their numbers, which are drawn
        with opened(tmp_path, f"copy of {user}") as copy:
            copy.add("mine", user_id=user)
            with pytest.raises(Conflict, match="import it into an empty store"):
                copy.import_(tmp_path / "a.jsonl")
            assert _standing(copy) == [(user, 1)]


def test_paths_that_lead_nowhere(source: Memory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        source.import_(tmp_path / "missing.jsonl")
    source.export(tmp_path / "a.jsonl")
    lost = OSError(5, "Input/output error")
    with (
        mock.patch("phronesis.log.import_log.read_export", side_effect=lost),
        pytest.raises(InputError, match="cannot be read"),
    ):
        source.import_(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="does not exist"):
        source.export(tmp_path / "missing" / "a.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        source.export(tmp_path / "folder")
    assert not list(tmp_path.glob(".folder*"))
    for nowhere in ("", tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match="cannot be written") as refused:
            source.export(nowhere)
        assert refused.value.field == "path"
