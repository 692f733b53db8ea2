"""Parse the output of unittest, cargo test, Maven, ``node --test``, TAP, Jest and mocha."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from phronesis.experience.sources.log.findings import Finding, LogParse, foreign
from phronesis.experience.sources.log.traces import read_traces, thrown

_UNITTEST: Final = re.compile(r"(FAIL|ERROR): (\S{1,300}) \(([^()\n]{1,300})\)(.{0,200})\Z")
_RAN: Final = re.compile(r"Ran (\d{1,9}) tests? in (\d{1,9}\.\d{1,6})s\Z")
_VERDICT: Final = re.compile(r"(?:FAILED|OK)(?: \((.{1,200})\))?\Z")
_PART: Final = re.compile(r"(failures|errors|skipped|expected failures|unexpected successes)=(\d{1,9})")

_CARGO_BLOCK: Final = re.compile(r"---- (\S{1,300}) stdout ----\Z")
_CARGO_TEST: Final = re.compile(r"test (\S{1,300}) \.\.\. FAILED\Z")
_CARGO_COUNTS: Final = re.compile(
    r"test result: (?:ok"
    r"|FAILED)\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored;.{0,80}?(?:finished in (\d{1,9}\.\d{1,3})s)?\Z"
)

_MAVEN_METHOD: Final = re.compile(
    r"(?:\[ERROR\] {1,2})?([\w.$\[\]{}]{1,300})(?:\(([\w.$]{1,200})\))?(?:\[[^\]\n]{0,100}\])? {1,4}(?:-- )?"
    r"Time elapsed: (\d{1,9}(?:[.,]\d{1,4})?) s(?:ec)? {1,4}<<< (FAILURE|ERROR)!"
)
_MAVEN_COUNTS: Final = re.compile(
    r"Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9})(?:, Skipped: (\d{1,9}))?"
)


def read_suites(reading: LogParse) -> None:
    """Find the failed tests and counts of unittest, cargo test and Maven."""
    for read in (_read_unittest, _read_cargo, _read_maven):
        read(reading)


def with_trace(reading: LogParse, first: int, last: int, found: Finding) -> Finding:
    """Return a failed test with the error of the stack trace on its lines."""
    inner = LogParse(reading.lines[first : last + 1])
    read_traces(inner)
    if not inner.findings:
        return found
    error = inner.findings[-1]
    told = {name: getattr(error, name) or getattr(found, name) for name in ("error_type", "message", "file")}
    return replace(found, frames=error.frames, causes=error.causes, **told)


def _read_unittest(reading: LogParse) -> None:
    n = 0
    while n < len(reading.lines):
        text = reading.text(n)
        match = _UNITTEST.match(text) if text.startswith(("FAIL: ", "ERROR: ")) else None
        if match and reading.text(n - 1).startswith("======"):
            last = until(reading, n, lambda line: line.startswith("======") or bool(_RAN.match(line)))
            name = match[3] if match[3].rpartition(".")[2] == match[2] else f"{match[3]}.{match[2]}"
            status = "failed" if match[1] == "FAIL" else "error"
            found = Finding("unittest", n, last, test=f"{name}{match[4]}", status=status)
            reading.found(with_trace(reading, n, last, found))
            n = last
        elif text.startswith("Ran "):
            _count_unittest(reading, n)
        n += 1


def _count_unittest(reading: LogParse, n: int) -> None:
    if (ran := _RAN.match(reading.text(n))) is None:
        return
    reading.called(n, "unittest")
    verdict = next((match for k in range(n + 1, n + 4) if (match := _VERDICT.match(reading.text(k)))), None)
    if verdict is None:
        return
    parts = {name: int(count) for name, count in _PART.findall(verdict[1] or "")}
    failed = parts.get("failures", 0) + parts.get("unexpected successes", 0)
    counts = _counts(int(ran[1]), failed, parts.get("errors", 0), parts.get("skipped", 0))
    reading.count("unittest", n + 2, {**counts, "seconds": float(ran[2])})
    reading.take(n, n + 2)


def _counts(tests: int, failed: int, errors: int, skipped: int) -> dict[str, int]:
    passed = max(0, tests - failed - errors - skipped)
    return {"tests": tests, "passed": passed, "failed": failed, "errors": errors, "skipped": skipped}


def _read_cargo(reading: LogParse) -> None:
    named: dict[str, int] = {}
    shown: set[str] = set()
    for n, line in enumerate(reading.lines):
        text = line.text
        if text.startswith("test "):
            match = _CARGO_TEST.match(text)
            counts = _CARGO_COUNTS.match(text)
            if match:
                named.setdefault(match[1], n)
            elif counts:
                said = {"passed": int(counts[1]), "failed": int(counts[2]), "skipped": int(counts[3])}
                seconds = {"seconds": float(counts[4])} if counts[4] else {}
                reading.count("cargo test", n, {**said, **seconds})
                reading.take(n, n)
        elif text.startswith("---- ") and (match := _CARGO_BLOCK.match(text)):
            last = until(reading, n, lambda said: said.startswith(("---- ", "failures:", "test result:")))
            found = Finding("cargo test", n, last, test=match[1], status="failed")
            reading.found(with_trace(reading, n, last, found))
            shown.add(match[1])
    for test, n in named.items():
        if test not in shown:
            reading.found(Finding("cargo test", n, n, test=test, status="failed"))


def _read_maven(reading: LogParse) -> None:
    """Parse surefire and failsafe output: the failed methods, and the counts of all classes."""
    total = -1
    for n, line in enumerate(reading.lines):
        match = _MAVEN_METHOD.match(line.text) if "<<< " in line.text else None
        if match and reading.free(n):
            last = until(reading, n, lambda said: said.startswith("[") or "<<< " in said or not said.strip())
            name = f"{match[2]}.{match[1]}" if match[2] else match[1]
            seconds = float(match[3].replace(",", "."))
            status = "failed" if match[4] == "FAILURE" else "error"
            found = Finding("surefire", n, last, test=name, seconds=seconds, status=status)
            reading.found(with_trace(reading, n + 1, last, found))
        elif "Tests run: " in line.text and _MAVEN_COUNTS.search(line.text):
            reading.take(n, n)
            reading.called(n, "maven")
            if "Time elapsed" not in line.text:
                total = n
    counts = _MAVEN_COUNTS.search(reading.text(total))
    if counts:  # the last line counts all classes
        parts = _counts(*(int(count or 0) for count in counts.groups()))
        reading.count("surefire", total, parts)


def until(reading: LogParse, start: int, ends: Callable[[str], bool]) -> int:
    """Return the last non-empty line after ``start`` before one that ends the block; rules do not count."""
    last = start
    for n in range(start + 1, len(reading.lines)):
        text = reading.text(n)
        if ends(text):
            break
        if text.strip("-=_ "):
            last = n
    return last


# JavaScript: TAP and the spec reporter of ``node --test``, Jest.

_TAP: Final = re.compile(r"\s{0,40}(not ok|ok) \d{1,9}(?: -)? (.{1,300})\Z")
_TAP_ERROR: Final = re.compile(r"\s{1,40}(?:error|name|message): ['\"|]?[-]?\s?(.{0,300}?)['\"]?\Z")
_JEST: Final = re.compile(r"\s{1,8}● (.{1,300})\Z")
_JEST_COUNTS: Final = re.compile(r"Tests:\s{1,20}(.{1,200}), \d{1,9} total")
_JEST_PART: Final = re.compile(r"(\d{1,9}) (failed|passed|skipped|todo)")

_SPEC: Final = re.compile(r"\s{0,40}✖ (.{1,300}?) \((\d{1,9}(?:\.\d{1,9})?)ms\)\Z")
_SPEC_COUNT: Final = re.compile(r"ℹ (pass|fail|skipped) (\d{1,9})\Z")
_PLACE: Final = re.compile(r"\s{1,40}at .{0,200}?\(?([^\s():]{1,300}):\d{1,9}:\d{1,9}\)?\Z")


def read_javascript_tests(reading: LogParse) -> None:
    """Find the failed tests and counts of ``node --test`` and Jest."""
    for read in (_read_tap, _read_spec, _read_jest):
        read(reading)


def _read_spec(reading: LogParse) -> None:
    counts: dict[str, int] = {}
    seen: set[str] = set()
    last = 0
    for n, line in enumerate(reading.lines):
        counted = _SPEC_COUNT.match(line.text) if line.text.startswith("ℹ ") else None
        match = _SPEC.match(line.text) if "✖ " in line.text else None
        if counted:
            counts[{"pass": "passed", "fail": "failed"}.get(counted[1], counted[1])] = int(counted[2])
            last = n
            reading.take(n, n)
        elif match and reading.free(n):
            end = until(reading, n, lambda said: said.lstrip().startswith(("✖ ", "✔ ", "ℹ ", "▶ ", "test at ")))
            found = Finding("node --test", n, end, test=match[1], status="failed")
            if match[1] not in seen:  # they are repeated at the end
                reading.found(with_trace(reading, n + 1, end, found))
            seen.add(match[1])
            reading.take(n, end)
    if counts:
        reading.count("node --test", last, counts)


def _read_tap(reading: LogParse) -> None:
    if not any(line.text.startswith("TAP version ") for line in reading.lines):
        return
    counts = {"passed": 0, "failed": 0}
    last = 0
    for n, line in enumerate(reading.lines):
        match = _TAP.match(line.text) if "ok " in line.text else None
        if match is None or not reading.free(n):
            continue
        last = n
        counts["passed" if match[1] == "ok" else "failed"] += 1
        if match[1] == "ok":
            reading.take(n, n)
            continue
        end = n
        if reading.text(n + 1).strip() == "---":
            end = until(reading, n, lambda said: said.strip() == "...")
            end += reading.text(end + 1).strip() == "..."
        reading.found(_tap_failure(reading, n, end, match[2]))
    reading.count("node --test", last, counts)


def _tap_failure(reading: LogParse, first: int, last: int, name: str) -> Finding:
    told: dict[str, str] = {}
    for n in range(first + 1, last + 1):
        if match := _TAP_ERROR.match(reading.text(n)):
            key = reading.text(n).strip().partition(":")[0]
            told.setdefault(key, match[1].strip() or reading.text(n + 1).strip())
    message, kind = told.get("error") or told.get("message", ""), told.get("name")
    return Finding("node --test", first, last, test=name, status="failed", message=message, error_type=kind)


def _read_jest(reading: LogParse) -> None:
    seen: set[str] = set()
    for n, line in enumerate(reading.lines):
        counts = _JEST_COUNTS.match(line.text) if line.text.startswith("Tests:") else None
        if counts:
            said = {name: int(count) for count, name in _JEST_PART.findall(counts[1])}
            reading.count("jest", n, said)
            reading.take(n, n)
        match = _JEST.match(line.text) if "●" in line.text else None
        if match and reading.free(n):
            last = until(reading, n, lambda text: text.startswith(("  ● ", "Test Suites:", "FAIL ", "PASS ")))
            if match[1] not in seen:
                seen.add(match[1])
                message = next((text for k in range(n + 1, last + 1) if (text := reading.text(k).strip())), "")
                places = [place[1] for k in range(n, last + 1) if (place := _PLACE.match(reading.text(k)))]
                file = next((file for file in places if not foreign(file)), None)
                found = Finding("jest", n, last, test=match[1], status="failed", message=message, file=file)
                reading.found(with_trace(reading, n, last, found))
            reading.take(n, last)


# The final report of mocha (also under Hardhat, Truffle, Cypress): the counts, and numbered failures.

_COUNT: Final = re.compile(r"(\s{0,8})(?:[✓✔✖-] )?(\d{1,9}) (passing|failing|pending)( \(.{1,20}\))?\Z")
_NUMBERED: Final = re.compile(r"(\s{0,40})(\d{1,6})\) {1,4}(\S.*)\Z")
_FRAME: Final = re.compile(r"\s{2,40}at \S")
_NAMES: Final = {"passing": "passed", "failing": "failed", "pending": "skipped"}
_TITLES: Final = 12
"""Lines of a title: the nested suites and the test."""

_INDENTED: Final = 4
"""Minimum indentation of a failed test in the tree."""

_WITHIN: Final = 40
"""Lines of an unindented message above its stack frames, at most."""


def read_mocha(reading: LogParse) -> None:
    """Find the numbered failures after mocha's counts, or without counts in a truncated log."""
    counts: dict[str, int | float] = {}
    counted, n, tree, seen = -1, 0, 0, False
    while n < len(reading.lines):
        text = reading.text(n)
        match = _COUNT.match(text) if text.endswith(("ing", ")")) and reading.free(n) else None
        if match and (match[1] or match[4] or counted == n - 1):
            if counts and n - counted > len(_NAMES):  # another run
                reading.count("mocha", counted, counts)
                counts = {}
            counts[_NAMES[match[3]]], counted, seen = int(match[2]), n, True
            reading.take(n, n)
            if match[3] == "failing":
                numbers = _numbers(reading, tree, n)
                last, found = _failures(reading, n + 1)
                for k in numbers if not found else ():  # the failures themselves are cut off
                    _add_failure(reading, k, k, _NUMBERED.sub(r"\3", reading.text(k)))
                n = tree = last
                continue
        n += 1
    if counts and "failed" not in counts and not any(reading.text(k).strip() for k in range(counted + 1, n)):
        for number, k in enumerate(_numbers(reading, tree, counted), start=1):  # cut off behind what passed
            match = _NUMBERED.match(reading.text(k))
            if match and len(match[1]) >= _INDENTED and int(match[2]) == number:
                _add_failure(reading, k, k, match[3])
    if counts:
        reading.count("mocha", counted, counts)
    if not seen:
        _headless(reading)


def _headless(reading: LogParse) -> None:
    n = 0
    while n < len(reading.lines):
        text = reading.text(n)
        match = _NUMBERED.match(text) if text.endswith(":") and ") " in text[:48] and reading.free(n) else None
        said = next((words for k in (n + 1, n + 2) if (words := reading.text(k).strip())), "") if match else ""
        n = _failure(reading, n, match) if match and match[1] and thrown(said) else n + 1


def _numbers(reading: LogParse, first: int, end: int) -> list[int]:
    """Mark the numbered lines of the tree above the counts as read, and return them."""
    out = [n for n in range(first, end) if reading.free(n) and _NUMBERED.match(reading.text(n))]
    for n in out:
        reading.take(n, n)
    return out


def _failures(reading: LogParse, n: int) -> tuple[int, int]:
    """Parse the failures from line ``n`` on; return the line after them, and their number."""
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


def _failure(reading: LogParse, start: int, match: re.Match[str]) -> int:
    """Parse one failure; return the line after it."""
    titles, n = [match[3]], start
    while match[1] and not titles[-1].endswith(":") and n - start < _TITLES and reading.text(n + 1).strip():
        n += 1
        titles.append(reading.text(n).strip())
    last = _end(reading, n, int(match[2]) + 1, indented=bool(match[1]))
    _add_failure(reading, start, last, " ".join(titles).removesuffix(":").strip(), n + 1)
    return last + 1


def _end(reading: LogParse, n: int, following: int, *, indented: bool) -> int:
    """Return the last line of a failure whose title ends on line ``n``."""
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


def _frames(reading: LogParse, n: int, following: int) -> int | None:
    """Return the line of the first frame below an unindented message; None if the failure is over."""
    for k in range(n, min(n + _WITHIN, len(reading.lines))):
        text = reading.text(k)
        match = _NUMBERED.match(text)
        if (match and int(match[2]) == following) or (not text.strip() and not reading.text(k + 1).strip()):
            return None
        if _FRAME.match(text):
            return k
    return None


def _add_failure(reading: LogParse, start: int, last: int, name: str, below: int | None = None) -> None:
    below = start + 1 if below is None else below
    said = next((text for m in range(below, last + 1) if (text := reading.text(m).strip())), "")
    kind, message = thrown(said) or (None, said)
    found = Finding("mocha", start, last, test=name, status="failed")
    found = with_trace(reading, below, last, found)
    reading.found(replace(found, error_type=kind or found.error_type, message=message or found.message))
