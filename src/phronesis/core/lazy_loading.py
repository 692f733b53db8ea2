"""Values that are loaded on first use, once, from any number of threads."""

import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import update_wrapper
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")


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


class _LazyModule:
    """A stand-in for a module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        kept = self.__dict__
        if "_module" not in kept:
            kept["_module"] = import_module(self._name)
        return getattr(kept["_module"], attribute)


def lazy_module(name: str) -> Any:
    """Return a stand-in for a module, which is imported when one of its names is first used.

    Its types stay exact where it is the other half of ``if TYPE_CHECKING``, which imports the module itself.
    """
    return _LazyModule(name)


_MAKING = threading.RLock()
"""Held while a member is made. One lock for all: members of several records are made of each other."""


class LazyMapping(MutableMapping[K, V]):
    """A mapping whose keys are known and whose values are each made at their first use, once."""

    def __init__(self, makers: Mapping[K, Callable[[], V]]) -> None:
        self._makers = dict(makers)
        self._kept: dict[K, V] = {}

    def __getitem__(self, key: K) -> V:
        try:
            return self._kept[key]
        except KeyError:
            pass
        make = self._makers[key]
        with _MAKING:
            if key not in self._kept:
                self._kept[key] = make()
            return self._kept[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._kept[key] = value
        self._makers.setdefault(key, lambda: value)

    def __delitem__(self, key: K) -> None:
        del self._makers[key]
        self._kept.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._makers

    def __iter__(self) -> Iterator[K]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


class LazyMembers:
    """Base class of records whose members are each made at their first use, once.

    A subclass declares them as annotations, without values. ``made`` are members that exist already.
    """

    def __init__(self, made: Mapping[str, Any], makers: Mapping[str, Callable[[], Any]]) -> None:
        self.__dict__.update(made)
        self._makers = makers

    def if_made(self, name: str) -> Any:
        """Return a member if it has been made, else None."""
        return self.__dict__.get(name)

    def make_all(self) -> None:
        """Make every member."""
        for name in self._makers:
            getattr(self, name)

    if not TYPE_CHECKING:  # pragma: no branch; a type checker sees the declared members, and no others

        def __getattr__(self, name: str) -> Any:
            """Make a member."""
            makers = self.__dict__.get("_makers", {})
            if name not in makers:
                raise AttributeError(f"{type(self).__name__} has no member '{name}'", name=name, obj=self)
            with _MAKING:
                if name not in self.__dict__:
                    self.__dict__[name] = makers[name]()
                return self.__dict__[name]
