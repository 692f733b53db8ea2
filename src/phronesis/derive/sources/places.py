"""Where things stand in a text: lines of characters, and the values of JSON with their places."""

import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n"


class LineIndex:
    """Tells on which lines characters stand, from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        found = text.find("\n")
        while found >= 0:
            self._starts.append(found + 1)
            found = text.find("\n", found + 1)

    def lines(self, start: int, end: int) -> tuple[int, int]:
        """Give the first and the last line of the characters [start, end)."""
        return bisect_right(self._starts, start), bisect_right(self._starts, max(start, end))


@dataclass(frozen=True, slots=True)
class Placed:
    """A value of JSON, and the characters [start, end) that it was written with.

    ``parts``: the elements of a list that is not written as one, but with an element on each line.
    """

    value: Any
    start: int
    end: int
    parts: tuple["Placed", ...] = ()


def documents(text: str) -> list[Placed]:
    """Give the one value that a text is, else one for each of its lines that is one; nothing for other texts."""
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    whole = _decode(text, start) if text[start : start + 1] in {"{", "["} else None
    if whole is not None and _skip(text, whole.end) == len(text):
        return [whole]
    out: list[Placed] = []
    start = 0
    for line in text.split("\n"):
        words = line.strip()
        if words[:1] in {"{", "["}:
            one = _decode(words, 0)
            if one is not None and one.end == len(words):
                begin = start + line.index(words[0])
                out.append(Placed(one.value, begin, begin + one.end))
        start += len(line) + 1
    return out


def elements(text: str, placed: Placed) -> Iterator[Placed]:
    """Give the elements of a list with their places."""
    yield from placed.parts
    if placed.parts:
        return
    n = _skip(text, placed.start + 1)
    for _ in placed.value:
        one = _decode(text, n)
        if one is None:
            return
        yield one
        n = _skip(text, _skip(text, one.end) + 1)


def member(text: str, placed: Placed, name: str) -> Placed | None:
    """Give the member of an object with its place; the last, where several have the name."""
    found: Placed | None = None
    n = _skip(text, placed.start + 1)
    while n < placed.end and text[n] == '"':
        key = _decode(text, n)
        value = _decode(text, _skip(text, _skip(text, key.end) + 1)) if key is not None else None
        if key is None or value is None:
            return None
        if key.value == name:
            found = value
        n = _skip(text, _skip(text, value.end) + 1)
    return found


def _decode(text: str, start: int) -> Placed | None:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, nesting without end
        return None
    return Placed(value, start, end)


def _skip(text: str, n: int) -> int:
    while n < len(text) and text[n] in _SPACE:
        n += 1
    return n
