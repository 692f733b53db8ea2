"""The lines of a text: where each stands, and what it says without colours, time stamps and carriage returns."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.core.instants import parse_moment
from phronesis.errors import InputError

_COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
# What a CI runner writes before each line: 2026-05-28T15:15:24.2537431Z ✔ [2/9] Built Foo
_STAMP: Final = re.compile(r"\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ?")
_RUNNER: Final = re.compile(r"##\[[a-z]{1,12}\]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its first character in the text, the one behind its last, what it says, and the time before it."""

    start: int
    end: int
    text: str
    stamp: str = ""

    @property
    def moment(self) -> datetime | None:
        """When the runner wrote it, if it says so and such a time exists."""
        if not self.stamp:
            return None
        try:
            return parse_moment(self.stamp, field="stamp")
        except InputError:
            return None


def split_lines(text: str) -> list[Line]:
    """Give the lines of a text, parted by line feeds alone, so that they count as in an editor."""
    lines, start = [], 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append(_read(text, start, end))
        start = end + 1
    return lines


def span_of(lines: list[Line], first: int, last: int) -> tuple[int, int]:
    """Give the characters from the start of line ``first`` to the end of line ``last``, both from 0."""
    return lines[first].start, lines[last].end


def printable(text: str) -> str:
    """Give a text without what no database keeps: lone surrogates and zeros, which JSON escapes may hold."""
    return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" or sign == "\0" else sign for sign in text)


def _read(text: str, start: int, end: int) -> Line:
    said = text[start:end].rstrip("\r")
    if "\x1b" in said:
        said = _COLOUR.sub("", said)
    stamp = _STAMP.match(said)
    if stamp is not None:
        said = _RUNNER.sub("", said[stamp.end() :], count=1)
    return Line(start, end, printable(said), stamp[1] if stamp is not None else "")
