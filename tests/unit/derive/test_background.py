"""The thread beside a Memory works when writes pause, at once when entries wait, and after a while in any case."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from phronesis.derive import background
from phronesis.derive.background import Background

PATIENCE = 10.0


class Task:
    def __init__(self) -> None:
        self.ran = threading.Semaphore(0)
        self.times: list[float] = []

    def __call__(self, _stopped: Callable[[], bool]) -> None:
        self.times.append(time.monotonic())
        self.ran.release()


@pytest.fixture
def task() -> Task:
    return Task()


@pytest.fixture
def thread(task: Task) -> Iterator[Background]:
    made = Background(task, name="test")
    yield made
    made.stop()


def test_it_waits_for_a_pause_and_no_longer(task: Task, thread: Background) -> None:
    began = time.monotonic()
    thread.wake()
    assert task.ran.acquire(timeout=PATIENCE)
    assert task.times[0] - began >= background.PAUSE_SECONDS * 0.9


def test_pressing_work_hardly_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 3600.0)
    task = Task()
    thread = Background(task, name="test")
    thread.wake(pressing=True)
    assert task.ran.acquire(timeout=PATIENCE)
    thread.wake()  # the work that follows is not pressing
    assert not task.ran.acquire(timeout=0.2)
    thread.stop()


def test_writes_that_never_pause_do_not_keep_it_for_ever(
    task: Task, thread: Background, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 0.02)
    deadline = time.monotonic() + PATIENCE
    while not task.times and time.monotonic() < deadline:
        thread.wake()
    assert task.times


def test_a_stop_ends_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 3600.0)
    task = Task()
    thread = Background(task, name="test")
    thread.wake()
    thread.stop()
    assert task.times == []
    thread.wake()
    assert not task.ran.acquire(timeout=0.2)


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


def test_between_two_batches_writes_go_first_and_the_thread_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "PAUSE_SECONDS", 0.02)
    began, written, rounds = threading.Event(), threading.Event(), threading.Semaphore(0)
    waited: list[float] = []

    def batches(_stopped: Callable[[], bool]) -> None:
        rounds.release()
        if not waited:
            began.set()
            assert written.wait(PATIENCE)
            for _ in range(2):
                start = time.monotonic()
                assert not running.give_way()
                waited.append(time.monotonic() - start)

    running = Background(batches, name="test")
    running.wake()
    assert began.wait(PATIENCE)
    running.wake()
    written.set()
    assert rounds.acquire(timeout=PATIENCE)
    assert rounds.acquire(timeout=PATIENCE)  # what was written meanwhile may be in a lane that was passed already
    running.stop()
    assert waited[0] >= background.PAUSE_SECONDS * 0.9
    assert waited[1] < waited[0]  # nothing was written since
    assert running.give_way()
