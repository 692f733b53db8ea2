"""What is loaded once is loaded once, however many threads ask for it together."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event

import pytest

from phronesis.core.lazy_loading import LazyMapping, LazyMembers, lazy_module, load_once, once_property

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


class Parts(LazyMembers):
    given: str
    made: object


def test_a_member_is_made_once_and_at_its_first_use() -> None:
    makes: list[str] = []

    def make() -> object:
        makes.append("made")
        Event().wait(0.05)
        return object()

    parts = Parts({"given": "tea"}, {"made": make})
    assert (parts.given, parts.if_made("made"), makes) == ("tea", None, [])
    assert len(set(together(lambda: parts.made))) == 1
    assert makes == ["made"]
    assert parts.if_made("made") is parts.made
    with pytest.raises(AttributeError, match="Parts has no member 'other'"):
        _ = parts.other  # type: ignore[attr-defined]


def test_a_mapping_knows_its_keys_and_makes_each_value_once() -> None:
    makes: list[str] = []

    def make(name: str) -> object:
        makes.append(name)
        Event().wait(0.01)
        return object()

    rows = LazyMapping({name: partial(make, name) for name in ("a", "b")})
    assert (list(rows), len(rows), "a" in rows, "c" in rows, makes) == (["a", "b"], 2, True, False, [])
    assert len(set(together(lambda: rows["a"]))) == 1
    assert makes == ["a"]
    rows["c"] = "new"
    del rows["b"]
    assert (list(rows), rows["c"], rows.get("b"), makes) == (["a", "c"], "new", None, ["a"])


def test_members_of_two_records_may_be_made_of_each_other() -> None:
    first = Parts({}, {"given": lambda: "first", "made": lambda: (Event().wait(0.01), second.given)[1]})
    second = Parts({}, {"given": lambda: "second", "made": lambda: (Event().wait(0.01), first.given)[1]})
    asked = iter([first, second] * THREADS)
    assert set(together(lambda: next(asked).made)) == {"first", "second"}


def test_a_module_is_imported_when_a_name_of_it_is_used() -> None:
    assert lazy_module("json").dumps([1]) == "[1]"
    missing = lazy_module("no_such_module")
    with pytest.raises(ModuleNotFoundError):
        _ = missing.anything
