"""Values that are loaded on first use, once, from any number of threads."""

import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


def load_once(load: Callable[P, R]) -> Callable[P, R]:
    """Return ``load`` with results cached by argument; of concurrent callers one loads, the others wait.

    ``functools.cache`` would load in each of them. A call that raises is not cached.
    """
    lock = threading.RLock()
    kept: dict[Any, R] = {}

    def loaded(*args: P.args, **options: P.kwargs) -> R:
        key = (args, *sorted(options.items()))
        try:
            return kept[key]
        except KeyError:
            pass
        with lock:
            if key not in kept:
                kept[key] = load(*args, **options)
            return kept[key]

    return update_wrapper(loaded, load)


class once_property(Generic[R]):  # noqa: N801 - used like property
    """A ``functools.cached_property`` that only one of several concurrent threads computes."""

    def __init__(self, load: Callable[[Any], R]) -> None:
        self._load = load
        self._lock = threading.RLock()
        self.__doc__ = load.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Record the name under which the value is cached in an instance."""
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "once_property[R]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> R: ...

    def __get__(self, instance: object | None, owner: type) -> "R | once_property[R]":
        """Return the value, computed at the first call and then cached in the instance."""
        if instance is None:
            return self
        kept = instance.__dict__
        with self._lock:
            if self._name not in kept:
                kept[self._name] = self._load(instance)
            found: R = kept[self._name]
            return found
