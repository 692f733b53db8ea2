"""What mocha prints in the end (also under Hardhat, Truffle, Cypress): the counts, and each failure by its number."""

import re
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading, Summary
from phronesis.derive.sources.log.suites import traced
from phronesis.derive.sources.log.traces import thrown

_COUNT: Final = re.compile(r"(\s{0,8})(?:[✓✔✖-] )?(\d{1,9}) (passing|failing|pending)( \(.{1,20}\))?\Z")
_NUMBERED: Final = re.compile(r"(\s{0,40})(\d{1,6})\) {1,4}(\S.*)\Z")
_FRAME: Final = re.compile(r"\s{2,40}at \S")
_NAMES: Final = {"passing": "passed", "failing": "failed", "pending": "skipped"}
_TITLES: Final = 12
"""Lines of a title: the suites, one in another, and the test."""

_INDENTED: Final = 4
"""Blanks before a failing test in the tree, at least."""

_WITHIN: Final = 40
"""Lines of a message, which may begin at the left, above the frames of its stack."""


def read_mocha(reading: Reading) -> None:
    """Find the failures that mocha numbers behind its counts; those of a log whose counts are cut off, too."""
    counts: dict[str, int | float] = {}
    counted, n, tree, seen = -1, 0, 0, False
    while n < len(reading.lines):
        text = reading.text(n)
        match = _COUNT.match(text) if text.endswith(("ing", ")")) and reading.free(n) else None
        if match and (match[1] or match[4] or counted == n - 1):
            if counted >= 0 and n - counted > len(_NAMES):  # another run
                _summed(reading, counted, counts)
                counts = {}
            counts[_NAMES[match[3]]], counted, seen = int(match[2]), n, True
            reading.take(n, n)
            if match[3] == "failing":
                numbers = _numbers(reading, tree, n)
                last, found = _failures(reading, n + 1)
                for k in numbers if not found else ():  # the failures themselves are cut off
                    _failed(reading, k, k, _NUMBERED.sub(r"\3", reading.text(k)))
                n = tree = last
                continue
        n += 1
    if counts and "failed" not in counts and not any(reading.text(k).strip() for k in range(counted + 1, n)):
        for number, k in enumerate(_numbers(reading, tree, counted), start=1):  # cut off behind what passed
            match = _NUMBERED.match(reading.text(k))
            if match and len(match[1]) >= _INDENTED and int(match[2]) == number:
                _failed(reading, k, k, match[3])
    _summed(reading, counted, counts)
    if not seen:
        _headless(reading)


def _headless(reading: Reading) -> None:
    n = 0
    while n < len(reading.lines):
        text = reading.text(n)
        match = _NUMBERED.match(text) if text.endswith(":") and ") " in text[:48] and reading.free(n) else None
        said = next((words for k in (n + 1, n + 2) if (words := reading.text(k).strip())), "") if match else ""
        n = _failure(reading, n, match) if match and match[1] and thrown(said) else n + 1


def _summed(reading: Reading, line: int, counts: dict[str, int | float]) -> None:
    if counts:
        reading.summaries.append(Summary(tool="mocha", line=line, counts=counts))


def _numbers(reading: Reading, first: int, end: int) -> list[int]:
    """Mark the numbered lines of the tree above the counts as read, and give them: the failures stand below."""
    out = [n for n in range(first, end) if reading.free(n) and _NUMBERED.match(reading.text(n))]
    for n in out:
        reading.take(n, n)
    return out


def _failures(reading: Reading, n: int) -> tuple[int, int]:
    """Read the failures from line ``n`` on; give the line behind them, and how many there are."""
    number = 0
    while n < len(reading.lines):
        match = _NUMBERED.match(reading.text(n))
        if match and int(match[2]) == number + 1:
            n = _failure(reading, n, match)
            number += 1
        elif reading.text(n).strip() and not reading.text(n).startswith(" "):
            break
        else:
            n += 1
    return n, number


def _failure(reading: Reading, start: int, match: re.Match[str]) -> int:
    """Read one failure; give the line behind it."""
    titles, n = [match[3]], start
    while match[1] and not titles[-1].endswith(":") and n - start < _TITLES and reading.text(n + 1).strip():
        n += 1
        titles.append(reading.text(n).strip())
    last = _end(reading, n, int(match[2]) + 1, indented=bool(match[1]))
    _failed(reading, start, last, " ".join(titles).removesuffix(":").strip(), n + 1)
    return last + 1


def _end(reading: Reading, n: int, following: int, *, indented: bool) -> int:
    """Give the last line of a failure whose title ends on line ``n``: before the next one, or where it ends."""
    last, k, framed = n, n + 1, False
    while k < len(reading.lines):
        text = reading.text(k)
        match = _NUMBERED.match(text)
        if match and int(match[2]) == following:
            break
        if text.strip() and not text.startswith(" ") and indented:
            on = _frames(reading, k, following) if not framed else None
            if on is None:
                break
            k = last = on
        elif not indented and not text.strip() and last > n:
            break
        framed = framed or bool(_FRAME.match(text))
        last = k if reading.text(k).strip() else last
        k += 1
    return last


def _frames(reading: Reading, n: int, following: int) -> int | None:
    """Give the line of the first frame below a message that goes on at the left; None where the failure is over."""
    for k in range(n, min(n + _WITHIN, len(reading.lines))):
        text = reading.text(k)
        match = _NUMBERED.match(text)
        if (match and int(match[2]) == following) or (not text.strip() and not reading.text(k + 1).strip()):
            return None
        if _FRAME.match(text):
            return k
    return None


def _failed(reading: Reading, start: int, last: int, name: str, below: int | None = None) -> None:
    below = start + 1 if below is None else below
    said = next((text for m in range(below, last + 1) if (text := reading.text(m).strip())), "")
    kind, message = thrown(said) or (None, said)
    found = Finding(tool="mocha", first=start, last=last, test=name, status="failed")
    found = traced(reading, below, last, found)
    reading.found(Finding(tool="mocha", first=start, last=last, test=name, status="failed",
                          error_type=kind or found.error_type, message=message or found.message, file=found.file,
                          frames=found.frames, causes=found.causes))  # fmt: skip
