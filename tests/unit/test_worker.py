"""The worker takes up what others left pending, makes vectors, stops when told, and no fault stops it."""

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custom_store import open_with, write
from phronesis.conversation import direct_statements
from phronesis.engine.handler import Handler
from phronesis.errors import StorageError
from phronesis.memory import Memory
from phronesis.models.embedder import HashingEmbedder
from phronesis.store.lanes import list_behind
from phronesis.worker import LEARNING, SHORTEST_SECONDS, VECTORS, Worker

POLICY = {"embedder": "hashing"}


def pending(memory: Memory, tenant: str | None = None) -> int:
    with memory.admin.components.database.transaction(tenant or memory.admin.tenant, "read") as unit:
        return sum(lane.head_seq - lane.applied_seq for lane in list_behind(unit))


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def running(worker: Worker) -> threading.Thread:
    thread = threading.Thread(target=worker.run)
    thread.start()
    return thread


def written_elsewhere(url: str, tenant: str) -> None:
    """Write by another Memory, which interprets nothing."""
    with Memory.open(url, policy={"embedder": "none"}, tenant=tenant) as memory:
        memory._runtime._background.wake = lambda **_: None  # type: ignore[method-assign]
        for n in range(30):
            assert memory.add(f"tea number {n}", user_id=f"user-{n % 3}", wait=False).pending


def test_it_takes_up_what_another_memory_left(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy=POLICY, tenant="acme") as memory:
        worker = Worker(memory, tenants=["acme", "other"])
        thread = running(worker)
        for tenant in ("acme", "other"):
            written_elsewhere(sqlite_url, tenant)
        until(lambda: pending(memory) == pending(memory, "other") == 0)
        until(lambda: memory.flush() == 0 and memory.admin.doctor().ok)
        worker.stop()
        thread.join(10)
        assert not thread.is_alive()
        assert memory.search("tea", user_id="user-1", explain=True).explain["lanes"][0]["without_vector"] == 0  # type: ignore[index]
        for tenant in ("acme", "other"):
            of = memory.for_tenant(tenant)
            assert [len(of.get_all(user_id=f"user-{n}")) for n in range(3)] == [10, 10, 10]
            assert of.admin.rebuild(verify=True).equal


def test_a_lane_that_cannot_be_interpreted_stops_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with open_with(url, [Handler(verb="novel", apply=direct_statements.apply)]) as newer:
        write(newer, "novel", {"kind": "fact", "content": "x"}, wait=False)
    written_elsewhere(url, "default")
    with Memory.open(url, policy=POLICY) as memory, caplog.at_level(logging.WARNING, "phronesis.worker"):
        worker = Worker(memory)
        worker.work()
        worker.work()
        assert pending(memory) == 1
        ((tenant, lane_id), fault) = next(iter(worker.faults.items()))
        assert (tenant, fault.code, fault.rounds) == ("default", "entry.no_handler", 2)
        assert lane_id > 0
        assert len(caplog.records) == 1  # told once, not every round
    with open_with(url, [Handler(verb="novel", apply=direct_statements.apply)]) as newer:
        worker = Worker(newer)
        worker.work()
        assert worker.faults == {}
        assert pending(newer) == 0


class Stubborn(HashingEmbedder):
    """An encoder that raises until it is told not to."""

    broken = True

    def embed_documents(self, texts: Any) -> Any:
        if self.broken:
            raise RuntimeError("CUDA is out of memory, while encoding: " + str(texts))
        return super().embed_documents(texts)

    def embed_query(self, _text: str) -> Any:
        return np.zeros(256, np.float32)


def test_an_encoder_that_raises_stops_no_lane_and_is_asked_again(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    written_elsewhere(sqlite_url, "default")
    encoder = Stubborn()
    with Memory.open(sqlite_url, embedder=encoder) as memory, caplog.at_level(logging.WARNING, "phronesis.worker"):
        worker = Worker(memory)
        assert worker.work() == 30
        assert worker.faults["default", VECTORS].code == "exception.RuntimeError"
        assert "tea" not in caplog.text
        encoder.broken = False
        assert worker.work() == 30
        assert worker.faults == {}


def test_a_database_that_goes_away_in_a_round_ends_no_worker(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_unit: object) -> None:
        raise StorageError("the database cannot be reached")

    with Memory.open(sqlite_url, policy=POLICY) as memory:
        memory.add("tea", user_id="lin")
        worker = Worker(memory)
        with monkeypatch.context() as patched:
            patched.setattr("phronesis.worker.list_lanes", away)
            worker.work()
        assert worker.faults["default", LEARNING].code == "storage.error"
        worker.work()
        assert worker.faults == {}


def test_pauses_grow_while_there_is_nothing_to_do_and_shrink_with_work(sqlite_url: str) -> None:
    pauses: list[float] = []
    with Memory.open(sqlite_url, policy=POLICY) as memory:
        worker = Worker(memory, longest_seconds=0.5)

        def wait(seconds: float) -> bool:
            pauses.append(seconds)
            if len(pauses) == 5:
                written_elsewhere(sqlite_url, "default")
            if len(pauses) == 7:
                worker.stop()
            return True

        worker._stop.wait = wait  # type: ignore[method-assign, assignment]
        worker.run()
    assert pauses == [0.1, 0.2, 0.4, 0.5, 0.5, SHORTEST_SECONDS, 0.1]


@pytest.mark.slow
def test_a_signal_ends_it_cleanly(sqlite_url: str) -> None:
    Memory.open(sqlite_url, policy=POLICY).close()
    code = (
        "import sys; from phronesis.memory import Memory; from phronesis.worker import Worker\n"
        "with Memory.open(sys.argv[1], policy={'embedder': 'hashing'}) as m:\n"
        "    worker = Worker(m)\n    print('ready', flush=True)\n    worker.run_until_signalled()\n    print('done')"
    )
    with subprocess.Popen([sys.executable, "-c", code, sqlite_url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        written_elsewhere(sqlite_url, "default")
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "done\n"
    assert process.returncode == 0
