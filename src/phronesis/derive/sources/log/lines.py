"""A log line by line: without colours and what stands in front of a line, with its place and its time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.core.instants import FUTURE_TOLERANCE, parse_moment
from phronesis.derive.sources.port import Raw
from phronesis.errors import InputError

MAX_LINE: Final = 2_000
"""Characters of a line that are looked at: no pattern meets more, so that time goes with the length of the text."""

_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_STAMP: Final = re.compile(
    r"(?:[^\t\n]{1,80}\t[^\t\n]{1,80}\t)?\ufeff?\[?"
    r"(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)\]?(?:[ \t]|$)"
)
_TIME: Final = re.compile(r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]?[ \t]")
_BUILDKIT: Final = re.compile(r"#\d{1,4} (?:\d{1,6}\.\d{1,4} )?")
_SERVICE: Final = re.compile(r"[A-Za-z][\w.-]{0,40} {1,30}\| ")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``text`` is what is left to be read, [``start``, ``end``) where it stands, ``at`` the last time told.

    ``marked``: the log itself says that this line is an error (``##[error]``).
    """

    text: str
    start: int
    end: int
    at: datetime | None = None
    marked: bool = False


def lines_of(raw: Raw) -> list[Line]:
    """Give the lines of a text; a time that is not complete, or lies ahead of when it was recorded, is no time."""
    out: list[Line] = []
    at: datetime | None = None
    for start, end in _bounds(raw.text):
        text, told = _without_stamp(raw.text[start : min(end, start + MAX_LINE)])
        if told is not None:
            at = told if told - raw.recorded_at <= FUTURE_TOLERANCE else None
        marked = text.startswith("##[error]")
        out.append(Line(text.removeprefix("##[error]"), start, end, at, marked))
    return out


def moment(said: str) -> datetime | None:
    """Read a complete time; None when it is none."""
    try:
        return parse_moment(said.strip().replace("/", "-").replace(" UTC", "Z").replace(" +", "+"), field="at")
    except InputError:
        return None


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _without_stamp(text: str) -> tuple[str, datetime | None]:
    """Take away colours, what was written over, the name of a service, and the time."""
    text = _COLOUR.sub("", text).rstrip()
    if "\r" in text:  # a progress bar: what stands there in the end
        text = text.rpartition("\r")[2]
    service = _BUILDKIT.match(text) or _SERVICE.match(text)
    if service:
        text = text[service.end() :]
    stamp = _STAMP.match(text)
    if stamp:
        return text[stamp.end() :], moment(stamp[1])
    time = _TIME.match(text)
    return (text[time.end() :] if time else text.removeprefix("\ufeff")), None
