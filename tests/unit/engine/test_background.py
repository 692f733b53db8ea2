"""The thread beside a Memory works when writes pause, at once when entries wait, and after a while in any case."""

import threading
import time
from collections.abc import Callable

import pytest

from phronesis.engine import background
from phronesis.engine.background import Background

PATIENCE = 10.0


class Task:
    def __init__(self) -> None:
        self.ran = threading.Semaphore(0)
        self.times: list[float] = []

    def __call__(self, _stopped: Callable[[], bool]) -> None:
        self.times.append(time.monotonic())
        self.ran.release()


def test_a_task_that_raises_is_run_again(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 0.0)
    ran = threading.Semaphore(0)

    def fails(_stopped: Callable[[], bool]) -> None:
        ran.release()
        raise ZeroDivisionError("a secret")

    thread = Background(fails, name="test")
    for _ in range(2):
        thread.wake()
        assert ran.acquire(timeout=PATIENCE)
    thread.stop()
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text


def living(name: str) -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == name]


def test_no_wake_is_lost_among_threads_that_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.0, raising=False)
    task = Task()
    thread = Background(task, name="test")
    for n in range(500):
        thread.wake()
        assert task.ran.acquire(timeout=PATIENCE)
        time.sleep(n % 5 / 10_000)
    thread.stop()
    assert living("test") == []
