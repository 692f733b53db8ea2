"""A disk that is full or read-only, a file that is none of ours: a clear error, and nothing half-written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import sqlalchemy as sa

from phronesis.errors import InputError, PhronesisError, StorageError, StorageFull, StorageReadOnly
from phronesis.log.payloads import check_chain
from phronesis.memory import Memory
from phronesis.store.lanes import list_lanes
from scenarios.writers import POLICY, start, sum_judgements, try_to_write

NOBODY = 65534


def heads(memory: Memory) -> dict[str | None, tuple[int, int]]:
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        return {lane.name: (lane.head_seq, lane.applied_seq) for lane in list_lanes(unit)}


class Disk:
    """The room that every connection of a store finds: so many pages, or without an end."""

    def __init__(self, memory: Memory) -> None:
        self._engine = memory._runtime._components.database.engine
        self._pages = 1 << 30
        sa.event.listen(self._engine, "checkout", self._allow)  # never removed: the background thread looks at it

    def _allow(self, connection: Any, *_rest: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={self._pages}")

    @contextmanager
    def full_after(self, pages: int) -> Iterator[None]:
        with self._engine.connect() as connection:
            self._pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + pages
        try:
            yield
        finally:
            self._pages = 1 << 30


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 16])
def test_a_full_disk_stores_all_of_a_call_or_nothing(tmp_path: Path, pages: int) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy=POLICY) as memory:
        memory.add("Alice lives in Kyoto", user_id="u")
        disk, before, kept = Disk(memory), heads(memory), 0
        long = " ".join(f"word{n}" for n in range(6000))
        with disk.full_after(pages):
            for n in range(6):
                try:
                    done = memory.commit_turn(
                        "s", {"messages": [{"role": "assistant", "content": f"{n} {long}"}]}, user_id="u"
                    )
                except StorageFull:
                    continue
                kept += 1
                assert done.pending or done.stored
            assert memory.get_all(user_id="u")  # reading goes on
        assert heads(memory)["u"][0] == before["u"][0] + kept
        memory.add("and now there is room", user_id="u")
        assert heads(memory)["u"] == (before["u"][0] + kept + 1,) * 2
        assert len(memory.sessions.turns("s", user_id="u")) == kept
        with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
            assert [check_chain(unit, lane) for lane in list_lanes(unit)] == [[]]
        result = memory.admin.rebuild(verify=True)
        assert result.equal, result.differences


def test_what_was_recorded_on_a_disk_that_then_was_full_is_pending(tmp_path: Path) -> None:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy=POLICY) as memory:
        memory.add("Alice lives in Kyoto", user_id="u")
        full = StorageFull("the disk is full")
        with mock.patch("phronesis.store.lane_state.insert_items", side_effect=full):
            assert memory.add("said once", user_id="u", idempotency_key="k").pending
        again = memory.add("said once", user_id="u", idempotency_key="k").items
        assert [item.content for item in again] == ["said once"]
        assert len(memory.get_all(user_id="u", kinds=["message"])) == 2


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A folder that every user can reach: pytest's own is closed to others again whenever a pytest starts."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize(
    ("what", "code"),
    [("file", StorageReadOnly.code), ("directory", StorageReadOnly.code), ("closed", StorageError.code)],
)
@pytest.mark.slow
def test_a_place_that_may_not_be_written_is_named_as_such(open_path: Path, what: str, code: str) -> None:
    folder = open_path / "store"
    folder.mkdir()
    store = folder / "memory.db"
    if what == "file":
        with Memory.open(f"sqlite:///{store}", policy=POLICY) as memory:
            memory.add("Alice lives in Kyoto", user_id="u")
        store.chmod(0o444)
    content = store.read_bytes() if store.exists() else b""
    folder.chmod(0o600 if what == "closed" else 0o555)
    said = open_path / "said"
    said.touch()
    said.chmod(0o666)
    start(try_to_write, f"sqlite:///{store}", str(said), NOBODY if os.getuid() == 0 else os.getuid()).join()
    folder.chmod(0o755)
    [told] = sum_judgements(said)
    assert told["code"] == code
    assert (store.read_bytes() if store.exists() else b"") == content


def test_a_path_is_answered_with_its_url(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with pytest.raises(InputError, match=f"it is sqlite:///{path}"):
        Memory.open(path)
    with pytest.raises(InputError, match="opened with"):
        Memory(path)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist") as caught:
        Memory.open(f"sqlite:///{tmp_path / 'nowhere' / 'memory.db'}", policy=POLICY)
    assert caught.value.field == "url"
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_text("Dear diary, " * 1000)
    with pytest.raises(StorageError):
        Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy=POLICY)
    assert (tmp_path / "memory.db").read_text() == "Dear diary, " * 1000


def write_and_verify(url: str) -> None:
    with Memory.open(url, policy=POLICY) as memory:
        memory.add("one more", user_id="u")
        memory.admin.rebuild(verify=True)


def test_a_damaged_file_is_told_and_not_made_worse(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with Memory.open(f"sqlite:///{store}", policy=POLICY) as memory:
        for n in range(50):
            memory.add(f"Alice lives in Kyoto {n}", user_id="u")
    content = bytearray(store.read_bytes())
    content[8192:] = bytes(reversed(content[8192:]))
    store.write_bytes(content)
    with pytest.raises(PhronesisError):
        write_and_verify(f"sqlite:///{store}")
