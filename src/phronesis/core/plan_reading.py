"""Reading what a caller hands over as a mapping, field by field: InputError names the field and says what it takes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar

from phronesis.core.canonical import plain
from phronesis.core.instants import parse_moment
from phronesis.core.text import check_text
from phronesis.errors import InputError

_WORD = TypeVar("_WORD", bound=str)


class Fields:
    """A mapping of known fields; ``where`` is its own path ("queries[2]"), empty for the outermost."""

    def __init__(self, given: object, *, known: Sequence[str], where: str = "") -> None:
        self._where = where
        if not isinstance(given, Mapping):
            raise InputError(
                f"{where or 'plan'} must be a mapping of fields, not {type(given).__name__}", field=where or "plan"
            )
        for name in given:
            if name not in known:
                shown = name if isinstance(name, str) else type(name).__name__
                raise InputError(
                    f"{self.path(f'{shown:.40}')} is no field of a plan; there are {', '.join(known)}",
                    field=self.path(f"{shown:.40}"),
                )
        self._given = given

    def path(self, name: str) -> str:
        """Give a field's full name."""
        return f"{self._where}.{name}" if self._where else name

    def has(self, name: str) -> bool:
        """Tell whether a field was given, None included."""
        return name in self._given

    def get(self, name: str) -> Any:
        """Give a field as it came, None where there is none."""
        return self._given.get(name)

    def text(self, name: str, default: str | None = None, *, empty: bool = False) -> str:
        """Give a text; without a default it must be there."""
        value = self._given.get(name, default)
        if value is None:
            raise self.wrong(name, "is missing; give a text")
        return check_text(value, field=self.path(name), allow_empty=empty)

    def word(self, name: str, known: Sequence[_WORD], default: _WORD) -> _WORD:
        """Give one of the known words."""
        value = self._given.get(name, default)
        for one in known:
            if isinstance(value, str) and value == one:
                return one
        raise self.wrong(name, f"must be one of {', '.join(known)}; got {value!r:.40}")

    def part(self, name: str, default: float, *, zero: bool = False) -> float:
        """Give a number above 0, or 0 where ``zero`` lets it, and up to 1."""
        value = self._given.get(name, default)
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
        if not number or (value == 0 and not zero):
            raise self.wrong(name, f"must be a number {'from 0' if zero else 'above 0 and up'} to 1; got {value!r:.40}")
        return float(value)

    def count(self, name: str, default: int, *, most: int) -> int:
        """Give a whole number from 1."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise self.wrong(name, f"must be a whole number from 1 to {most:,}; got {value!r:.40}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """Give true or false."""
        value = self._given.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, f"must be true or false; got {value!r:.40}")
        return value

    def moment(self, name: str) -> datetime | None:
        """Give a time in UTC, or None."""
        value = self._given.get(name)
        return None if value is None else parse_moment(value, field=self.path(name))

    def members(self, name: str, *, most: int) -> Sequence[Any]:
        """Give a list; none where there is none."""
        value = self._given.get(name)
        if value is None:
            return ()
        if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) > most:
            raise self.wrong(name, f"must be a list of at most {most}")
        return value

    def texts(self, name: str, *, most: int, known: Sequence[str] | None = None) -> tuple[str, ...]:
        """Give a list of texts, each of ``known`` where that is given."""
        out = []
        for n, value in enumerate(self.members(name, most=most)):
            if known is not None and value not in known:
                raise self.wrong(f"{name}[{n}]", f"must be one of {', '.join(known)}; got {value!r:.40}")
            out.append(check_text(value, field=self.path(f"{name}[{n}]")))
        return tuple(out)

    def json(self, name: str) -> Mapping[str, Any] | None:
        """Give a mapping of plain JSON values, or None."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.wrong(name, f"must be a mapping, not {type(value).__name__}")
        read: Mapping[str, Any] = plain(value, field=self.path(name))
        return read

    def inner(self, name: str, known: Sequence[str]) -> Self | None:
        """Give the fields of a field, or None where there is none."""
        value = self._given.get(name)
        return None if value is None else type(self)(value, known=known, where=self.path(name))

    def each(self, name: str, known: Sequence[str], *, most: int) -> list[Self]:
        """Give the fields of each member of a list."""
        found = enumerate(self.members(name, most=most))
        return [type(self)(value, known=known, where=self.path(f"{name}[{n}]")) for n, value in found]

    def wrong(self, name: str, what: str) -> InputError:
        """Give the error that names a field and says what it takes."""
        return InputError(f"{self.path(name)} {what}", field=self.path(name))
