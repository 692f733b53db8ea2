"""Records as plain JSON values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, Final

from phronesis.core.instants import isoformat

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types that are JSON as they are: most of what a result holds, so that they are looked at first."""


def as_json(value: Any) -> Any:
    """Give plain JSON values of a record: ``to_dict`` where there is one, times as ISO 8601."""
    kind: type = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [inner if type(inner) in _PLAIN else as_json(inner) for inner in value]
    if hasattr(kind, "to_dict"):
        return value.to_dict()
    if isinstance(value, datetime):
        return isoformat(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if is_dataclass(kind):
        return _members(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(inner) for inner in value]
    return value


class Record:
    """A result: a frozen dataclass that can be shown as JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return _members(self)


def _members(record: Any) -> dict[str, Any]:
    kind: type = type(record)
    names, values = _fields(kind)
    return {
        name: value if type(value) in _PLAIN else as_json(value)
        for name, value in zip(names, values(record), strict=True)
    }


@cache
def _fields(kind: type) -> tuple[tuple[str, ...], Callable[[Any], Iterable[Any]]]:
    """Give the names of a record's fields, and what gives their values."""
    names = tuple(field.name for field in fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda record: [getattr(record, name) for name in names]
