"""The measure of the tests that hold how time grows: it fails for what it is there for, and for nothing else."""

from collections.abc import Callable, Iterator
from threading import Thread
from time import thread_time

import pytest

import growth
from growth import TRIES, assert_cut_off, assert_flat, assert_linear, cost_of

READ = 1_000


class Machine:
    """A processor whose clock a test turns: ``spend`` is work that costs so many seconds, times how busy it is."""

    def __init__(self) -> None:
        self.now = 0.0
        self.busy: Iterator[float] = iter(())

    def spend(self, seconds: float) -> None:
        self.now += seconds * next(self.busy, 1.0)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(growth, "thread_time", lambda: made.now)
    return made


def cut(length: int) -> int:
    return min(length, READ)


@pytest.mark.parametrize(
    ("holds", "cost", "kept"),
    [
        (assert_linear, lambda n: n + 3 * READ, True),
        (assert_linear, lambda n: n * n, False),
        (assert_flat, lambda _: 1, True),
        (assert_flat, cut, False),
        (assert_cut_off, lambda n: cut(n) + n / 50, True),
        (assert_cut_off, lambda n: n, False),
        (lambda *given: assert_cut_off(*given, power=2), lambda n: cut(n) ** 2, True),
        (lambda *given: assert_cut_off(*given, power=2), lambda n: cut(n) ** 3, False),
    ],
)
def test_what_grows_faster_is_refused_on_a_fast_machine_and_on_a_slow_one(
    machine: Machine, holds: Callable[..., None], cost: Callable[[int], float], kept: bool
) -> None:
    def held(second: float) -> None:
        holds(lambda length: machine.spend(second * cost(length)), int, READ)

    for second in (1e-4, 1e-3, 1.0):
        if kept:
            held(second)
        else:
            with pytest.raises(
                AssertionError, match=r"^Lengths of \d+ and \d+ cost .* s and .* s: more than \d+ times"
            ):
                held(second)


def test_one_quiet_try_is_enough_and_busy_ones_are_told(machine: Machine) -> None:
    calls: list[int] = []

    def work(length: int) -> None:
        calls.append(length)
        machine.spend(length)

    busy = [1.0, *[1.0, 1.0, 99.0] * (TRIES - 1)]
    machine.busy = iter(busy)
    assert_linear(work, int, READ)
    assert len(calls) == len(set(calls)) == len(busy) + 3
    machine.busy = iter([*busy, 1.0, 1.0, 99.0])
    with pytest.raises(AssertionError, match=r"99000\.00000 s") as caught:
        assert_linear(work, int, READ)
    assert str(caught.value).count(";") == TRIES - 1


def test_what_another_thread_does_meanwhile_costs_nothing() -> None:
    def busy() -> None:
        while thread_time() < 0.1:
            pass

    def work() -> None:
        thread = Thread(target=busy)
        thread.start()
        thread.join()

    assert cost_of(work) < 0.05
