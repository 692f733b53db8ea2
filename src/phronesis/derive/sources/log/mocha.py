"""What mocha prints in the end (also under Hardhat, Truffle, Cypress): the counts, and each failure by its number."""

import re
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading, Summary
from phronesis.derive.sources.log.suites import traced
from phronesis.derive.sources.log.traces import thrown

_COUNT: Final = re.compile(r"\s{1,8}(?:[✓✔✖-] )?(\d{1,9}) (passing|failing|pending)(?: \(.{1,20}\))?\Z")
_NUMBERED: Final = re.compile(r"\s{1,40}(\d{1,6}\)) (\S.*)\Z")
_NAMES: Final = {"passing": "passed", "failing": "failed", "pending": "skipped"}
_TITLES: Final = 12
"""Lines of a title: the suites, one in another, and the test."""


def read_mocha(reading: Reading) -> None:
    """Find the failures that mocha numbers behind its counts."""
    counts: dict[str, int | float] = {}
    counted, n, tree = -1, 0, 0
    while n < len(reading.lines):
        text = reading.text(n)
        match = _COUNT.match(text) if text.endswith(("ing", ")")) and reading.free(n) else None
        if match:
            if counted >= 0 and n - counted > len(_NAMES):  # another run
                _summed(reading, counted, counts)
                counts = {}
            counts[_NAMES[match[2]]], counted = int(match[1]), n
            reading.take(n, n)
            if match[2] == "failing":
                _take_numbers(reading, tree, n)
                n = tree = _failures(reading, n + 1)
                continue
        n += 1
    _summed(reading, counted, counts)


def _summed(reading: Reading, line: int, counts: dict[str, int | float]) -> None:
    if counts:
        reading.summaries.append(Summary(tool="mocha", line=line, counts=counts))


def _take_numbers(reading: Reading, first: int, end: int) -> None:
    """Mark the tree above the counts as read: its failing tests stand below with their errors."""
    for n in range(first, end):
        if reading.free(n) and _NUMBERED.match(reading.text(n)):
            reading.take(n, n)


def _failures(reading: Reading, n: int) -> int:
    """Read the failures from line ``n`` on; give the line behind them."""
    number = 1
    while n < len(reading.lines):
        match = _NUMBERED.match(reading.text(n))
        if match and match[1] == f"{number})":
            n = _failure(reading, n, match[2], number)
            number += 1
        elif reading.text(n).strip() and not reading.text(n).startswith(" "):
            return n
        else:
            n += 1
    return n


def _failure(reading: Reading, start: int, title: str, number: int) -> int:
    """Read one failure; give the line behind it."""
    titles, n = [title], start
    while not titles[-1].endswith(":") and n - start < _TITLES and reading.text(n + 1).strip():
        n += 1
        titles.append(reading.text(n).strip())
    last = k = n
    while (k := k + 1) < len(reading.lines):
        text = reading.text(k)
        match = _NUMBERED.match(text)
        if (match and match[1] == f"{number + 1})") or (text.strip() and not text.startswith(" ")):
            break
        last = k if text.strip() else last
    said = next((text for m in range(n + 1, last + 1) if (text := reading.text(m).strip())), "")
    kind, message = thrown(said) or (None, said)
    name = " ".join(titles).removesuffix(":").strip()
    found = Finding(tool="mocha", first=start, last=last, test=name, status="failed")
    found = traced(reading, n + 1, last, found)
    reading.found(Finding(tool="mocha", first=start, last=last, test=name, status="failed",
                          error_type=kind or found.error_type, message=message or found.message, file=found.file,
                          frames=found.frames, causes=found.causes))  # fmt: skip
    return last + 1
