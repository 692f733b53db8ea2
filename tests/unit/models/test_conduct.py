"""Calls to a server keep their time, their number and their tries."""

import threading
import time
from collections.abc import Callable

import pytest

from phronesis.errors import ModelCancelled, ModelRefused, ModelUnavailable
from phronesis.models import call_policy
from phronesis.models.call_policy import CallPolicy, Limits


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_policy, "FIRST_WAIT_SECONDS", 0.01)


def failing(*errors: Exception) -> tuple[Callable[[Limits], str], list[float]]:
    times: list[float] = []

    def call(_limits: Limits) -> str:
        times.append(time.monotonic())
        if len(times) <= len(errors):
            raise errors[len(times) - 1]
        return "said"

    return call, times


def run(conduct: CallPolicy, call: Callable[[Limits], str]) -> str:
    return conduct.run(call, conduct.limits())


def test_what_may_pass_is_tried_again() -> None:
    call, times = failing(ModelUnavailable("a"), ModelUnavailable("b"))
    assert run(CallPolicy(timeout=5, tries=3, concurrency=1), call) == "said"
    assert len(times) == 3


def test_what_will_not_pass_is_not() -> None:
    call, times = failing(ModelRefused("key"))
    with pytest.raises(ModelRefused):
        run(CallPolicy(timeout=5, tries=3, concurrency=1), call)
    assert len(times) == 1


def test_a_server_is_believed_when_to_come_back() -> None:
    call, times = failing(ModelUnavailable("busy", details={"retry_after": 0.2}))
    run(CallPolicy(timeout=5, tries=2, concurrency=1), call)
    assert times[1] - times[0] >= 0.2


def test_all_tries_end_with_the_time() -> None:
    began = time.monotonic()
    with pytest.raises(ModelUnavailable):
        run(CallPolicy(timeout=0.3, tries=10_000, concurrency=1), failing(*[ModelUnavailable("down")] * 10_000)[0])
    assert time.monotonic() - began < 3


def test_no_more_at_once_than_agreed() -> None:
    conduct = CallPolicy(timeout=10, tries=1, concurrency=2)
    lock, under_way, most = threading.Lock(), [0], [0]

    def call(_limits: Limits) -> str:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.02)
        with lock:
            under_way[0] -= 1
        return "said"

    threads = [threading.Thread(target=run, args=(conduct, call)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [2]


def test_nothing_is_asked_for_whoever_has_gone() -> None:
    cases: list[int] = [1, 5]
    for tries in cases:
        call, times = failing()
        with pytest.raises(ModelCancelled):
            run(CallPolicy(timeout=5, tries=tries, concurrency=1, cancelled=lambda: True), call)
        assert times == []
