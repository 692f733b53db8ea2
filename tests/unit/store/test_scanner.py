"""The scanner finds what is planted, in rows and in the bytes of files: a check that cannot fail proves nothing."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from phronesis import Memory
from phronesis.store import database, trace_search
from phronesis.store.erasure_queries import Probes
from phronesis.store.trace_search import scan

TEXT = "The lighthouse keeper's daughter wrote down the names of all the ships"
CHINESE = "灯塔看守人的女儿写下了所有再也没有回到港口的船的名字"
POLICY = {"embedder": "none"}


@pytest.fixture(params=[TEXT, CHINESE])
def text(request: pytest.FixtureRequest) -> str:
    planted: str = request.param
    return planted


def run(memory: Memory, statement: str, *values: object) -> None:
    with memory._runtime._components.database.transaction(memory.admin.tenant, "derive") as unit:
        unit.connection.exec_driver_sql(statement, values)


def opened(sqlite_url: str) -> Memory:
    memory = Memory.open(sqlite_url, policy=POLICY)
    turn = {"messages": [{"role": "user", "content": "Something that nobody minds"}]}
    item = memory.commit_turn("s", turn, user_id="u").stored[0]
    memory.update(item.id, metadata={"seen": True})
    return memory


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE items SET content = ?",
        "UPDATE items SET metadata = json_array(?)",
        "UPDATE deltas SET reason = 'because ' || ? || ' was said'",
        "UPDATE deltas SET patch = json_object('content', json_array(null, ?))",
        "UPDATE outcomes SET body = CAST('{\"found\":\"' || ? || '\"}' AS BLOB)",
        "UPDATE search_documents SET text = ?",
        (
            "INSERT INTO chunks SELECT tenant_id, id, 'p', 9, 'd', 1, kind, NULL, 1, NULL, ?, 'e', 'e', 1, NULL, 1 "
            "FROM items"
        ),
        (
            "INSERT INTO documents SELECT tenant_id, lane_id, id, 1, entry_id, ?, 't', 'text/plain', 'manual', 1, 1 "
            "FROM items"
        ),
        "UPDATE sessions SET session_id = ?",
        "INSERT INTO failures SELECT tenant_id, entry_id, lane_id, 1, 'c', ?, 1 FROM entries",
    ],
)
def test_a_trace_in_a_row_is_found_and_named_without_its_words(sqlite_url: str, text: str, statement: str) -> None:
    with opened(sqlite_url) as memory:
        probes = Probes.of([text])
        assert scan(memory._runtime._components.database, "default", probes).residue == []
        run(memory, statement, text)
        found = scan(memory._runtime._components.database, "default", probes)
        assert any(place.startswith(statement.split()[2 if "INTO" in statement else 1]) for place in found.residue)
        assert text[:10] not in str(found.residue)
        assert found.rows > 5


@pytest.mark.parametrize("kept", [slice(None), slice(0, 60), slice(-60, None)])
def test_a_trace_in_the_bytes_of_a_file_is_found(sqlite_url: str, text: str, kept: slice) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with opened(sqlite_url) as memory:
        memory._runtime._components.database.checkpoint()
        beside = path.with_name(path.name + "-journal")
        beside.write_bytes(b"\0" * 5000 + text.encode()[kept] + b"\0" * 5000)
        found = scan(memory._runtime._components.database, "default", Probes.of([text]))
        assert found.residue == [f"file {beside.name}"]
        beside.unlink()
        clean = scan(memory._runtime._components.database, "default", Probes.of([text]))
        assert (clean.residue, clean.files) == ([], 3)


def leave_in_free_pages(memory: Memory, text: str) -> None:
    """Without secure_delete the words of a deleted row stay in the file."""
    store = memory._runtime._components.database
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA secure_delete = OFF")
        connection.exec_driver_sql("CREATE TABLE stray (words TEXT)")
        connection.exec_driver_sql("INSERT INTO stray VALUES (?)", (text * 300,))
        connection.exec_driver_sql("DELETE FROM stray")
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    store.checkpoint()


def test_a_trace_in_free_pages_is_found_and_written_over(sqlite_url: str, text: str) -> None:
    """Writing the file anew removes them."""
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    with opened(sqlite_url) as memory:
        leave_in_free_pages(memory, text)
        assert text.encode() in path.read_bytes()
        assert scan(memory._runtime._components.database, "default", Probes.of([text])).residue == []
        assert text.encode() not in path.read_bytes()


@contextlib.contextmanager
def written_by_another_process_at_the_end(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another connection holds the write lock from when the file is looked at on."""
    other = sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)
    pieces_in = trace_search._pieces_in

    def look(path: Path, probes: Probes) -> Iterator[bytes]:
        if not other.in_transaction:
            other.execute("BEGIN IMMEDIATE")
        return pieces_in(path, probes)

    monkeypatch.setattr(trace_search, "_pieces_in", look)
    try:
        yield
    finally:
        other.close()
        monkeypatch.setattr(trace_search, "_pieces_in", pieces_in)


def test_an_erasure_whose_file_cannot_be_written_anew_is_certified_and_says_so(
    sqlite_url: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 50)
    with opened(sqlite_url) as memory:
        item = memory.add(text, user_id="u").items[0]
        leave_in_free_pages(memory, text)
        with written_by_another_process_at_the_end(sqlite_url, monkeypatch):
            certificate = memory.erase(id=item.id)
        assert not certificate.clean
        assert [place.partition(":")[0] for place in certificate.outstanding] == ["file memory.db"]
        assert "VACUUM" in certificate.outstanding[0]
        assert certificate.residue == ("file memory.db",)
        assert text[:10] not in str(certificate)
        memory._runtime._components.database.compact()  # what it says is to be done
        assert scan(memory._runtime._components.database, "default", Probes.of([text])).residue == []
