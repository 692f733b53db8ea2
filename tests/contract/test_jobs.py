"""What is still to be done, as a list: what failed, waits, or is due."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from custom_store import failing, open_with
from phronesis import Memory
from phronesis.conversation import typed_items
from phronesis.engine.handler import Handler
from phronesis.errors import EntryFailed, InputError


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "hashing"}) as memory:
        yield memory


@pytest.mark.both_databases
def test_what_is_due_is_listed_until_it_is_done(memory: Memory) -> None:
    memory.add("我住在杭州。", user_id="lin")
    (due,) = memory.admin.jobs()
    assert (due.state, due.work, due.user_id, due.message) == ("due", "reflect", "lin", "first")
    memory.reflect("lin")
    memory.flush()
    assert len(memory.admin.jobs()) == 0
    with pytest.raises(InputError):
        memory.admin.jobs(limit=0)


@pytest.mark.both_databases
def test_what_failed_and_what_waits(tmp_path: Path) -> None:
    handlers = [Handler(verb="item", apply=failing(typed_items.apply, lambda entry: "bad" in str(entry.payload)))]
    given: dict[str, Any] = {"user_id": "lin", "kind": "fact"}
    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", handlers) as memory:
        with pytest.raises(EntryFailed):
            memory.add("bad tea", **given)
        memory._runtime._background.stop()
        memory.add("good tea", wait=False, **given)
        found = memory.admin.jobs()
        failed = found[0]
        assert (failed.state, failed.work, failed.user_id, found.failed) == ("failed", "item", "lin", 1)
        assert failed.code
        assert failed.entry_id is not None
        assert len(found[:1]) == 1
        memory.flush()
        assert memory.admin.jobs().pending == 0
