"""What is loaded once is loaded once, however many threads ask for it together."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from phronesis.core.lazy_loading import load_once, once_property

THREADS = 16


def together(ask: Callable[[], object]) -> list[object]:
    barrier = Barrier(THREADS)

    def asked() -> object:
        barrier.wait(60)
        return ask()

    with ThreadPoolExecutor(THREADS) as pool:
        return [one.result(60) for one in [pool.submit(asked) for _ in range(THREADS)]]


def test_of_threads_that_ask_together_one_loads() -> None:
    loads: list[str] = []

    @load_once
    def load(name: str) -> object:
        loads.append(name)
        Event().wait(0.05)  # the others come meanwhile
        return object()

    assert len(set(together(lambda: load("en")))) == 1
    assert load("zh") is not load("en")
    assert loads == ["en", "zh"]


def test_a_property_is_worked_out_once_for_each_instance() -> None:
    loads: list[object] = []

    class Model:
        @once_property
        def weights(self) -> object:
            loads.append(self)
            Event().wait(0.05)
            return object()

    first, second = Model(), Model()
    assert len(set(together(lambda: first.weights))) == 1
    assert second.weights is not first.weights
    assert loads == [first, second]
    assert isinstance(Model.weights, once_property)


def test_what_fails_is_loaded_again() -> None:
    tries: list[int] = []

    @load_once
    def load() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise LookupError
        return len(tries)

    with pytest.raises(LookupError):
        load()
    assert load() == load() == 2
