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

_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|\x1b[\]_][^\x07\x1b]{0,400}(?:\x07|\x1b\\)")
"""Colours, and what a terminal or Buildkite is told besides."""

_JENKINS_NOTE: Final = re.compile(r"\x1b\[8mha:[^\x1b]*\x1b\[0m")
"""What Jenkins' plugins write into a console for its pages: an object, encoded and hidden."""
_STAMP: Final = re.compile(
    r"(?:[^\t\n]{1,80}\t[^\t\n]{1,80}\t)?\ufeff?\[?"
    r"(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)\]?"
    r"(?: \d\d[OE]\+?)?(?:[ \t]|$)"
)
_TIME: Final = re.compile(r"\[?\d\d:\d\d(?::\d\d(?:[.,]\d{1,6})?|(?=[ \t]{1,2}\[))\]?([ \t]{1,2}|\Z)")
_TEAMCITY: Final = re.compile(r"\[\d\d:\d\d:\d\d\][ A-Za-z]{0,2}:(?:\s{1,8}|\Z)(?:\[[^\]\n]{1,80}\](?: |\Z))?")
_BUILDKIT: Final = re.compile(r"#\d{1,4}(?: \d{1,6}\.\d{1,4})?(?: |\Z)")
_SERVICE: Final = re.compile(
    r"(?!Line \|\Z)[A-Za-z][\w.-]{0,40} {1,30}\|(?: |\Z)|\[[^\]\n]{1,80} #\d{1,4}-\d{1,4}\](?: |\Z)"
)
_QUOTED: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``text`` is what is left to be read, [``start``, ``end``) where it stands, ``at`` the last time told.

    ``number`` counts the lines of the source from 0; several lines stand on one where it wraps what a program wrote
    (``go test -json``). ``marked``: the log itself says that this line is an error (``##[error]``).
    """

    text: str
    start: int
    end: int
    at: datetime | None = None
    marked: bool = False
    number: int = 0


def lines_of(raw: Raw) -> list[Line]:
    """Give the lines of a text; a time that is not complete, or lies ahead of when it was recorded, is no time."""
    out: list[Line] = []
    at: datetime | None = None
    bare = _unquoted([_without_colour(raw.text[start:end]) for start, end in _bounds(raw.text)])
    gap = _gap(bare)
    for n, (start, end) in enumerate(_bounds(raw.text)):
        text, told = _without_stamp(bare[n], gap)
        if told is not None:
            at = told if told - raw.recorded_at <= FUTURE_TOLERANCE else None
        marked = text.startswith("##[error]")
        out.append(Line(text.removeprefix("##[error]"), start, end, at, marked, n))
    return out


def _without_colour(text: str) -> str:
    """Give the first `MAX_LINE` characters of a line without colours, notes, and what was written over."""
    if "\x1b[8mha:" in text:
        text = _JENKINS_NOTE.sub("", text)
    text = _COLOUR.sub("", text[:MAX_LINE]).removeprefix("\ufeff").rstrip()
    return text.rpartition("\r")[2] if "\r" in text else text  # a progress bar: what stands there in the end


def _unquoted(texts: list[str]) -> list[str]:
    """Take away what stands before every line of a log that is quoted: ``> ``, or four blanks and more."""
    written = [text for text in texts if text]
    if written and all(text.startswith(">") for text in written) and any(text.startswith("> ") for text in written):
        return [text.removeprefix(">").removeprefix(" ") for text in texts]
    indent = min((len(text) - len(text.lstrip(" ")) for text in written), default=0)
    return [text[indent:] for text in texts] if indent >= _QUOTED else texts


def _gap(texts: list[str]) -> int:
    """Give the blanks between a time of day and the line: two in a console of Jenkins, else one."""
    gaps = [len(match[1]) for text in texts if (match := _TIME.match(text)) and match[1] and match.end() < len(text)]
    return min(gaps, default=1)


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


def _without_stamp(text: str, gap: int) -> tuple[str, datetime | None]:
    """Take away the name of a service, and the time with the blanks behind it."""
    service = _BUILDKIT.match(text) or _SERVICE.match(text) or _TEAMCITY.match(text)
    if service:
        text = text[service.end() :]
    stamp = _STAMP.match(text)
    if stamp:
        return text[stamp.end() :], moment(stamp[1])
    time = _TIME.match(text)
    return (text[time.start(1) + gap :] if time else text), None
