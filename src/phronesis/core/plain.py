"""Records as plain JSON values."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, Final

from phronesis.core.instants import isoformat

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types that are JSON as they are: most of what a result holds, so that they are looked at first."""


def as_json(value: Any) -> Any:
    """Give plain JSON values of a record: ``to_dict`` where there is one, times as ISO 8601."""
    kind: type = type(value)
    if kind in _PLAIN:
        return value
    if hasattr(kind, "to_dict"):
        return value.to_dict()
    if isinstance(value, datetime):
        return isoformat(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if is_dataclass(kind):
        return {name: as_json(getattr(value, name)) for name in _names(kind)}
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
        kind: type = type(self)
        return {name: as_json(getattr(self, name)) for name in _names(kind)}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
