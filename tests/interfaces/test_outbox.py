"""The outbox of a client: what cannot reach the server is sent later, in order and once; what is refused is listed."""

import asyncio
import multiprocessing
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from loopback_server import served_api
from phronesis import AsyncClient, Client, Memory
from phronesis.client.exchange import Delivery
from phronesis.config.server import Serving
from phronesis.errors import (
    Conflict,
    IdempotencyConflict,
    InputError,
    NotFound,
    ServerUnavailable,
    StorageError,
    StorageFull,
    Unauthenticated,
)
from phronesis.interfaces.http.app import make_app

AWAY = "http://127.0.0.1:9"
"""Where no server is."""


class Switch:
    """An application whose answers may be lost after it did its part (``lose``), or are a proxy's (``away``).

    As ``small``, the proxy refuses large bodies; as ``down``, the server's database cannot be reached.
    """

    def __init__(self, app: Any) -> None:
        self.app, self.state = app, "up"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        length = int(dict(scope["headers"]).get(b"content-length", 0)) if scope["type"] == "http" else 0
        if scope["type"] != "http" or self.state == "up" or (self.state == "small" and length < 1_000):
            await self.app(scope, receive, send)
            return

        async def nowhere(_message: Any) -> None:
            """Lose what is sent."""

        if self.state == "lose":
            await self.app(scope, receive, nowhere)
        status = 413 if self.state == "small" else 503
        kind = b"application/problem+json" if self.state == "down" else b"text/html"
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": b'{"code": "storage.error", "detail": "away"}'})


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy={"embedder": "none"}) as opened:
        yield opened


@pytest.fixture
def switch(memory: Memory) -> Switch:
    return Switch(make_app(memory, Serving()))


@pytest.fixture
def address(switch: Switch) -> Iterator[str]:
    with served_api(switch) as address:
        yield address


@contextmanager
def client_of(address: str, path: Path, **given: Any) -> Iterator[tuple[Client, Any]]:
    """Return a client with an outbox, and the outbox."""
    with Client(address, outbox=path, retries=0, **given) as client:
        assert client.outbox is not None
        yield client, client.outbox


def contents(memory: Memory, user_id: str) -> list[str]:
    found = memory.get_all(user_id=user_id, kinds=["fact", "message"], limit=100)
    return [one.content for one in reversed(found) if one.user_id == user_id]


def test_writes_wait_and_are_sent_in_order(memory: Memory, switch: Switch, address: str, tmp_path: Path) -> None:
    path = tmp_path / "box" / "outbox.db"
    with client_of(address, path) as (client, outbox):
        item = client.add("The press runs.", kind="fact", user_id="ann").items[0]
        switch.state = "away"
        results = [
            client.add("One.", kind="fact", user_id="ann"),
            client.commit_turn("s", "Two.", user_id="ann"),
            client.ingest({"attempt": "three", "source_ref": "r"}, user_id="ann"),
            client.feedback(item.id, "useful", user_id="ann"),
            client.resources.ingest("# Four", uri="four.md", user_id="ann"),
            client.resources.ingest_source("E   five\nFAILED a.py::b\n", source_type="log", user_id="ann"),
        ]
        assert [(one.queued, one.pending, one.entry_id) for one in results] == [(True, True, "")] * 6
        assert len(outbox) == 6
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(ServerUnavailable):
            client.search("press", user_id="ann")
        with pytest.raises(ServerUnavailable):
            client.update(item.id, content="x")  # its result matters
        switch.state = "up"
        outbox.note_answer()  # the pause after a failure is over
        assert len(client.search("press", user_id="ann")) >= 1  # any call sends what waits first
        assert len(outbox) == 0
        assert not client.add("Seven.", kind="fact", user_id="ann").queued
    assert contents(memory, "ann") == ["The press runs.", "One.", "Two.", "Seven."]
    assert len(memory.get_all(user_id="ann", kinds=["l1"])) >= 2
    with sqlite3.connect(path) as rows:
        assert rows.execute("SELECT COUNT(*) FROM writes").fetchone() == (0,)
    assert b"press" not in path.read_bytes()  # what was sent leaves no copy
    assert b"Two." not in path.read_bytes()


def test_a_write_whose_answer_was_lost_is_done_once(
    memory: Memory, switch: Switch, address: str, tmp_path: Path
) -> None:
    with client_of(address, tmp_path / "o.db") as (client, outbox):
        switch.state = "lose"
        assert client.add("Once.", user_id="bo").queued
        switch.state = "up"
        assert client.flush() == Delivery(sent=1)
        assert client.flush() == Delivery()
        assert len(outbox) == 0
    assert contents(memory, "bo") == ["Once."]


def test_a_write_that_may_have_been_sent_stays_as_it_was(
    memory: Memory, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server did it and went away: the last attempt sent nothing, but the first one did."""
    with Client(address, outbox=tmp_path / "o.db", retries=1) as client:
        request, tried = client._transport._client.request, []

        def broken(*given: Any, **more: Any) -> Any:
            tried.append(given)
            if len(tried) > 1:
                raise httpx2.ConnectError("refused")
            request(*given, **more)
            raise httpx2.ReadError("the connection broke")

        monkeypatch.setattr(client._transport._client, "request", broken)
        assert client.add("Once.", user_id="jo").queued
        monkeypatch.undo()
        assert client.flush() == Delivery(sent=1)
    assert contents(memory, "jo") == ["Once."]


def test_a_write_has_the_time_at_which_it_was_made(tmp_path: Path) -> None:
    """Only where nothing was sent under the key yet, and the key is no caller's: another body would be a conflict."""
    day = f'"{datetime.now(UTC):%Y-%m-%dT}'
    with client_of(AWAY, tmp_path / "o.db") as (client, _):
        client.add("I live in Oslo.")
        client.commit_turn("s", {"messages": [{"role": "user", "content": "hi"}], "session_metadata": {"a": 1}})
        client.commit_turn("s", "hi")
        client.commit_turn("s", [{"role": "user", "content": "hi", "created_at": "2026-01-02T00:00:00Z"}])
        client.ingest([{"attempt": "a", "source_ref": "1"}, {"attempt": "b", "occurred_at": "2026-01-02"}])
        client.feedback("01a20000-0000-8000-8000-000000000000", "useful")
        client.add("Mine.", idempotency_key="mine")
        assert client.flush().waiting == 7
    with sqlite3.connect(tmp_path / "o.db") as rows:
        requests = [request for (request,) in rows.execute("SELECT request FROM writes ORDER BY id")]
    assert [one.count(day) for one in requests] == [1, 1, 1, 0, 1, 0, 0]


@pytest.mark.parametrize("nei", ["text", ["text", 3], None])
def test_what_has_no_place_for_a_time_waits_as_it_is(tmp_path: Path, nei: Any) -> None:
    with client_of(AWAY, tmp_path / "o.db") as (client, outbox):
        assert client.ingest(nei).queued
        assert client.commit_turn("s", nei).queued
        assert len(outbox) == 2


def test_a_write_that_a_key_or_a_proxy_refuses_keeps_nothing_else_waiting(
    memory: Memory, switch: Switch, address: str, tmp_path: Path
) -> None:
    token, _ = memory.admin.keys.create("write", label="x", user_id="ida")
    with client_of(address, tmp_path / "o.db", api_key=token) as (client, outbox):
        switch.state = "away"
        client.add("Another's.", kind="fact", user_id="jo")
        client.add("x" * 2_000, kind="fact", user_id="ida")
        client.add("Mine.", kind="fact", user_id="ida")
        switch.state = "small"
        assert client.flush() == Delivery(sent=1, refused=2)
        assert [one.code for one in outbox.failed()] == ["access.role", "input.too_large"]
    assert contents(memory, "ida") == ["Mine."]


def test_writes_wait_for_the_database_of_the_server(
    memory: Memory, switch: Switch, address: str, tmp_path: Path
) -> None:
    with client_of(address, tmp_path / "o.db") as (client, _):
        switch.state = "down"
        assert client.add("Waits.", kind="fact", user_id="kim").queued
        assert client.flush() == Delivery(waiting=1, reason="away")
        with pytest.raises(StorageError):
            client.get_all(user_id="kim")
        switch.state = "up"
        assert client.flush().sent == 1
    assert contents(memory, "kim") == ["Waits."]


def test_what_the_server_refuses_is_set_aside(memory: Memory, switch: Switch, address: str, tmp_path: Path) -> None:
    with client_of(address, tmp_path / "o.db") as (client, outbox):
        switch.state = "away"
        client.add("Bad.", kind="colour", user_id="di")
        client.add("Good.", kind="fact", user_id="di")
        switch.state = "up"
        assert client.flush() == Delivery(sent=1, refused=1)
        (refused,) = outbox.failed()
        assert (refused.route, refused.body["content"], refused.code) == ("POST /memories", "Bad.", "input.invalid")
        assert "colour" in refused.message
        outbox.retry(refused.id)
        assert (len(outbox), outbox.failed()) == (1, [])
        assert client.flush().refused == 1
        outbox.discard(outbox.failed()[0].id)
        assert outbox.failed() == []
        for verb in (outbox.retry, outbox.discard):
            with pytest.raises(NotFound):
                verb(refused.id)
    assert contents(memory, "di") == ["Good."]


def test_a_key_that_is_refused_keeps_what_waits(memory: Memory, switch: Switch, address: str, tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    with client_of(address, path) as (client, _):
        switch.state = "away"
        client.add("Waits.", kind="fact", user_id="ed")
    switch.state = "up"
    token, _ = memory.admin.keys.create("admin", label="x")
    with client_of(address, path) as (client, outbox):
        with pytest.raises(Unauthenticated):
            client.flush()
        with pytest.raises(Unauthenticated):
            client.add("Lost.", user_id="ed")
        assert (len(outbox), outbox.failed()) == (1, [])
    with client_of(address, path, api_key=token) as (client, outbox):
        switch.state = "away"
        client.add("Second.", kind="fact", user_id="ed")
        with pytest.raises(Conflict, match="flush"):
            client.erase(user_id="ed")  # what waits would come back after it
        switch.state = "up"
        assert client.flush().sent == 2
        assert client.erase(user_id="ed").clean


def test_a_server_that_is_away_is_not_asked_at_every_call(
    switch: Switch, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client_of(address, tmp_path / "o.db") as (client, outbox):
        switch.state = "away"
        client.add("One.", user_id="fay")
        connection = client._transport._client
        sent: list[Any] = []
        monkeypatch.setattr(connection, "request", lambda *given, **_: sent.append(given))
        for n in range(3):
            assert client.add(f"more {n}", user_id="fay").queued
        assert sent == []
        monkeypatch.undo()
        assert client.flush().reason  # asked for, it tries
        assert len(outbox) == 4


def test_the_file_is_bounded_and_of_one_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phronesis.store.sqlite_files.MAX_WRITES", 2)
    path = tmp_path / "o.db"
    with client_of(AWAY, path) as (client, outbox):
        client.add("One.", idempotency_key="k")
        assert client.add("One.", idempotency_key="k").queued
        with pytest.raises(IdempotencyConflict):
            client.add("Another.", idempotency_key="k")
        client.add("Two.")
        with pytest.raises(StorageFull) as full:
            client.add("Three.")
        assert (full.value.field, len(outbox)) == ("outbox", 2)
    with pytest.raises(InputError, match="holds writes for") as bound:
        Client("http://127.0.0.1:10", outbox=path)
    assert bound.value.field == "outbox"
    with pytest.raises(InputError, match="cannot be used"):
        Client(AWAY, outbox=tmp_path)
    (tmp_path / "text").write_text("x" * 4096)
    with pytest.raises(StorageError, match="no outbox"):
        Client(AWAY, outbox=tmp_path / "text")
    with sqlite3.connect(tmp_path / "notes.db") as notes:
        notes.execute("CREATE TABLE notes (text)")
    with pytest.raises(InputError, match="another program's"):
        Client(AWAY, outbox=tmp_path / "notes.db")
    with Client(AWAY, retries=0) as plain:
        assert plain.outbox is None
        assert plain.flush() == Delivery()
        with pytest.raises(ServerUnavailable):
            plain.add("not kept")


def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def full(*given: Any, **named: Any) -> sqlite3.Connection:
        rows: sqlite3.Connection = connect(*given, **named)
        rows.execute("PRAGMA max_page_count = 1")  # none beyond those that it has
        return rows

    with client_of(AWAY, tmp_path / "o.db") as (client, outbox):
        client.add("Kept.")
        monkeypatch.setattr(sqlite3, "connect", full)
        with pytest.raises(StorageFull, match="disk is full"):
            client.add("x" * 50_000)
        assert len(outbox) == 1


def test_what_is_no_phronesis_queues_nothing(address: str, tmp_path: Path) -> None:
    with client_of(f"{address}/elsewhere", tmp_path / "o.db") as (client, outbox):
        with pytest.raises(ServerUnavailable, match="404"):
            client.add("One.")
        assert len(outbox) == 0


def flush_alone(address: str, path: str, start: Any) -> None:
    """Send what waits, in a process of its own."""
    with Client(address, outbox=path, retries=0) as client:
        start.wait()
        for n in range(5):
            client.add(f"from a process {n}", kind="fact", user_id="gus")
            client.flush()


@pytest.mark.slow
def test_processes_share_an_outbox(memory: Memory, switch: Switch, address: str, tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    with client_of(address, path) as (client, outbox):
        switch.state = "away"
        for n in range(20):
            client.add(f"number {n:02}", kind="fact", user_id="gus")
        switch.state = "up"
        spawn = multiprocessing.get_context("spawn")
        start = spawn.Event()
        others = [spawn.Process(target=flush_alone, args=(address, str(path), start)) for _ in range(2)]
        for other in others:
            other.start()
        start.set()
        threads = [threading.Thread(target=client.flush) for _ in range(2)]
        for thread in threads:
            thread.start()
        for other in others:
            other.join(60)
        for thread in threads:
            thread.join(60)
        client.flush()
        assert (len(outbox), outbox.failed()) == (0, [])
    found = contents(memory, "gus")
    assert [one for one in found if one.startswith("number")] == [f"number {n:02}" for n in range(20)]
    assert len(found) == 30


def test_a_sender_that_died_loses_its_turn(
    address: str, switch: Switch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client_of(address, tmp_path / "o.db", timeout=0.5) as (client, outbox):
        switch.state = "away"
        client.add("Waits.", user_id="hal")
        switch.state = "up"
        assert outbox.take("a process that died") is not None
        assert client.flush() == Delivery(waiting=1)
        later = time.time() + outbox._turn
        monkeypatch.setattr("phronesis.client.exchange.time.time", lambda: later)
        assert client.flush().sent == 1


def test_a_client_of_an_event_loop_has_an_outbox_too(
    memory: Memory, switch: Switch, address: str, tmp_path: Path
) -> None:
    async def story() -> None:
        async with AsyncClient(address, outbox=tmp_path / "o.db", retries=0) as client:
            assert client.outbox is not None
            switch.state = "away"
            assert (await client.add("One.", kind="fact", user_id="ida")).queued
            switch.state = "up"
            assert await client.flush() == Delivery(sent=1)
            switch.state = "away"
            added = await asyncio.gather(*(client.add(f"n{n}", kind="fact", user_id="ida") for n in range(5)))
            assert all(one.queued for one in added)
            switch.state = "up"
            client.outbox.note_answer()  # and closing sends the rest

    asyncio.run(story())
    assert sorted(contents(memory, "ida")) == ["One.", "n0", "n1", "n2", "n3", "n4"]
