"""An entry that is on disk is told as recorded, whatever stands in the way of its interpretation: nobody repeats it."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import sqlalchemy as sa

from custom_store import open_with, write
from phronesis import Memory
from phronesis.conversation import direct_statements
from phronesis.engine.handler import Handler
from phronesis.engine.interpreter import Interpreter
from phronesis.errors import HandlerMissing, IntegrityError, StorageBusy, StorageError
from phronesis.store.schema import blobs

NOVEL = Handler(verb="novel", apply=direct_statements.apply)
LONG = "tea is hot " * 20_000


def alone(memory: Memory) -> Memory:
    memory._runtime._background.stop()
    return memory


def damaged(memory: Memory, body: bytes | None = None) -> bytes:
    with memory.admin.components.database.transaction(memory.admin.tenant, "append") as unit:
        before = bytes(unit.run(sa.select(blobs.c.body).where(blobs.c.tenant_id == memory.admin.tenant)).scalar_one())
        unit.run(sa.update(blobs).where(blobs.c.tenant_id == memory.admin.tenant).values(body=body or b"\0"))
    return before


def test_behind_an_entry_that_nothing_here_knows(database_url: str) -> None:
    with open_with(database_url, [NOVEL]) as newer:
        write(alone(newer), "novel", {"kind": "fact", "content": "of the future"}, wait=False)
    with open_with(database_url, []) as older:
        done: list[Any] = [
            alone(older).add("tea is hot", user_id="alice"),
            older.commit_turn("s", {"messages": [{"role": "user", "content": "hello"}]}, user_id="alice"),
            older.add("tea is hot", user_id="alice", idempotency_key="k"),
            older.add("tea is hot", user_id="alice", idempotency_key="k"),
        ]
        assert [one.pending for one in done] == [True] * 4
        assert done[2].entry_id == done[3].entry_id
        assert older.admin.jobs().pending == 4
        with pytest.raises(HandlerMissing):
            older.flush()
    with open_with(database_url, [NOVEL]) as newer:
        newer.flush()
        assert len(newer.get_all(user_id="alice", kinds=["message", "fact"])) == 4
        assert newer.admin.rebuild(verify=True).equal


def test_behind_an_entry_that_is_damaged(database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        alone(memory).add(LONG, user_id="alice", wait=False, infer=False)
        whole = damaged(memory)
        done = memory.add("hello", user_id="alice")
        assert done.pending
        assert memory.admin.jobs().pending == 2
        assert not memory.admin.doctor().ok
        with pytest.raises(IntegrityError):
            memory.flush()
        damaged(memory, whole)
        memory.flush()
        assert len(memory.get_all(user_id="alice")) == 2


@pytest.mark.parametrize("error", [StorageBusy("locked"), StorageError("the database went away")])
def test_what_a_turn_refers_to_is_taken_in_later(database_url: str, tmp_path: Path, error: Exception) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Kettles boil at a hundred degrees.")
    drain = Interpreter.drain

    def half(self: Interpreter, *given: Any, **named: Any) -> Any:
        if named.get("until") is None:
            raise error
        return drain(self, *given, **named)

    policy = {"embedder": "none", "resources": {"files": "copy", "file_roots": [str(tmp_path)]}}
    turn = {
        "messages": [{"role": "user", "content": "see the notes"}],
        "refs": [{"type": "file", "uri": notes.as_uri()}],
    }
    with Memory.open(database_url, policy=policy) as memory:
        alone(memory)
        with mock.patch.object(Interpreter, "drain", half):
            done = memory.commit_turn("s", turn, user_id="alice")
        assert (done.pending, len(done.stored)) == (False, 1)
        assert memory.admin.jobs().pending == 1
        memory.flush()
        assert len(memory.get_all(user_id="alice", kinds=["document"])) == 1


# What was said a moment ago stands in the recent turns, whether or not it was interpreted.


def say(memory: Memory, role: str, text: str, *, session: str = "s", wait: bool = False, **fields: str) -> str:
    turn = {"messages": [{"role": role, "content": text, **fields}]}
    return memory.commit_turn(session, turn, user_id="lin", wait=wait).entry_id


def shown(memory: Memory, session: str = "s") -> list[tuple[str, str, bool]]:
    package = memory.compose_context(session, "And now?", user_id="lin")
    return [(block.role, block.text, block.fenced) for block in package.recent_turns]


def test_what_is_not_interpreted_yet_is_shown_once(memory: Memory) -> None:
    say(memory, "user", "The first thing.", wait=True, id="1")
    say(memory, "user", "我的航班改到周五了。")
    say(memory, "tool", "Flight LX 38")
    say(memory, "user", "Another matter.", session="other")
    say(memory, "user", "The first thing.", id="1")
    memory.add("Said by add.", user_id="lin", session_id="s", wait=False)
    expected = [
        ("user", "The first thing.", False),
        ("user", "我的航班改到周五了。", False),
        ("tool", "Flight LX 38", True),
        ("user", "Said by add.", False),
    ]
    assert shown(memory) == expected
    assert shown(memory, "other") == [("user", "Another matter.", False)]
    memory.flush()
    assert [text for _, text, _ in shown(memory)].count("我的航班改到周五了。") == 1
    assert set(shown(memory)) == set(expected)
