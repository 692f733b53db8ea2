"""Parse the output of unittest, cargo test, Maven, ``node --test``, TAP, Jest and mocha."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from phronesis.experience.sources.log.findings import Finding, LogParse, is_library_frame
from phronesis.experience.sources.log.traces import parse_exception_line, read_traces

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


def add_trace(reading: LogParse, first: int, last: int, found: Finding) -> Finding:
    """Return a failed test with the error of the stack trace on its lines."""
    inner = LogParse(reading.lines[first : last + 1])
    read_traces(inner)
    if not inner.findings:
        return found
    error = inner.findings[-1]
    told = {name: getattr(error, name) or getattr(found, name) for name in ("error_type", "message", "file")}
    return replace(found, frames=error.frames, causes=error.causes, **told)


def _add_failed(reading: LogParse, tool: str, first: int, last: int, test: str, **fields: Any) -> None:
    """Add a failed test with the error that its lines show."""
    reading.add_finding(add_trace(reading, first, last, Finding(tool, first, last, test=test, **fields)))


def _counts(tests: int, failed: int, errors: int, skipped: int) -> dict[str, int]:
    passed = max(0, tests - failed - errors - skipped)
    return {"tests": tests, "passed": passed, "failed": failed, "errors": errors, "skipped": skipped}


def _read_unittest(reading: LogParse) -> None:
    for n, match in reading.matches(_UNITTEST):
        if reading.text(n - 1).startswith("======"):
            last = reading.until(n, lambda line: line.startswith("======") or bool(_RAN.match(line)))
            name = match[3] if match[3].rpartition(".")[2] == match[2] else f"{match[3]}.{match[2]}"
            status = "failed" if match[1] == "FAIL" else "error"
            _add_failed(reading, "unittest", n, last, f"{name}{match[4]}", status=status)
    for n, ran in reading.matches(_RAN):
        reading.note_tool(n, "unittest")
        verdicts = (_VERDICT.match(reading.text(k)) for k in range(n + 1, n + 4))
        if verdict := next(filter(None, verdicts), None):
            parts = {name: int(count) for name, count in _PART.findall(verdict[1] or "")}
            failed = parts.get("failures", 0) + parts.get("unexpected successes", 0)
            counts = _counts(int(ran[1]), failed, parts.get("errors", 0), parts.get("skipped", 0))
            reading.count("unittest", n + 2, {**counts, "seconds": float(ran[2])})
            reading.take(n, n + 2)


def _read_cargo(reading: LogParse) -> None:
    shown: set[str] = set()
    for n, match in reading.matches(_CARGO_BLOCK):
        last = reading.until(n, lambda said: said.startswith(("---- ", "failures:", "test result:")))
        _add_failed(reading, "cargo test", n, last, match[1], status="failed")
        shown.add(match[1])
    for n, match in reading.matches(_CARGO_TEST):
        if match[1] not in shown:
            reading.add_finding(Finding("cargo test", n, n, test=match[1], status="failed"))
            shown.add(match[1])
    for n, match in reading.matches(_CARGO_COUNTS):
        counts = {"passed": int(match[1]), "failed": int(match[2]), "skipped": int(match[3])}
        reading.count("cargo test", n, counts | ({"seconds": float(match[4])} if match[4] else {}))


def _read_maven(reading: LogParse) -> None:
    """Parse surefire and failsafe output: the failed methods, and the counts of all classes."""
    for n, match in reading.matches(_MAVEN_METHOD):
        last = reading.until(n, lambda said: said.startswith("[") or "<<< " in said or not said.strip())
        name = f"{match[2]}.{match[1]}" if match[2] else match[1]
        status = "failed" if match[4] == "FAILURE" else "error"
        found = Finding("surefire", n, last, test=name, seconds=float(match[3].replace(",", ".")), status=status)
        reading.add_finding(add_trace(reading, n + 1, last, found))
    total = None
    for n, text in reading.free_lines():
        if counts := _MAVEN_COUNTS.search(text):
            reading.note_tool(n, "maven")
            reading.take(n, n)
            total = total if "Time elapsed" in text else (n, counts)
    if total is not None:  # the last line counts all classes
        reading.count("surefire", total[0], _counts(*(int(count or 0) for count in total[1].groups())))


# JavaScript: TAP and the spec reporter of ``node --test``, Jest.

_TAP: Final = re.compile(r"\s{0,40}(not ok|ok) \d{1,9}(?: -)? (.{1,300})\Z")
_TAP_ERROR: Final = re.compile(r"\s{1,40}(error|name|message): ['\"|]?[-]?\s?(.{0,300}?)['\"]?\Z")
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
    seen: set[str] = set()
    for n, match in reading.matches(_SPEC):
        last = reading.until(n, lambda said: said.lstrip().startswith(("✖ ", "✔ ", "ℹ ", "▶ ", "test at ")))
        if match[1] not in seen:  # they are repeated at the end
            found = Finding("node --test", n, last, test=match[1], status="failed")
            reading.add_finding(add_trace(reading, n + 1, last, found))
        seen.add(match[1])
        reading.take(n, last)
    counts: dict[str, int] = {}
    last = 0
    for last, match in reading.matches(_SPEC_COUNT):
        counts[{"pass": "passed", "fail": "failed"}.get(match[1], match[1])] = int(match[2])
        reading.take(last, last)
    if counts:
        reading.count("node --test", last, counts)


def _read_tap(reading: LogParse) -> None:
    if not any(line.text.startswith("TAP version ") for line in reading.lines):
        return
    counts = {"passed": 0, "failed": 0}
    n = 0
    for n, match in reading.matches(_TAP):
        counts["passed" if match[1] == "ok" else "failed"] += 1
        reading.take(n, n)
        if match[1] == "ok":
            continue
        last = n
        if reading.text(n + 1).strip() == "---":
            last = reading.until(n, lambda said: said.strip() == "...")
            last += reading.text(last + 1).strip() == "..."
        reading.add_finding(_tap_failure(reading, n, last, match[2]))
    reading.count("node --test", n, counts)


def _tap_failure(reading: LogParse, first: int, last: int, name: str) -> Finding:
    told: dict[str, str] = {}
    for n in range(first + 1, last + 1):
        if match := _TAP_ERROR.match(reading.text(n)):
            told.setdefault(match[1], match[2].strip() or reading.text(n + 1).strip())
    message, kind = told.get("error") or told.get("message", ""), told.get("name")
    return Finding("node --test", first, last, test=name, status="failed", message=message, error_type=kind)


def _read_jest(reading: LogParse) -> None:
    for n, counts in reading.matches(_JEST_COUNTS):
        reading.count("jest", n, {name: int(count) for count, name in _JEST_PART.findall(counts[1])})
    seen: set[str] = set()
    for n, match in reading.matches(_JEST):
        last = reading.until(n, lambda text: text.startswith(("  ● ", "Test Suites:", "FAIL ", "PASS ", "Tests: ")))
        if match[1] not in seen:
            message = next((text for k in range(n + 1, last + 1) if (text := reading.text(k).strip())), "")
            places = [place[1] for k in range(n, last + 1) if (place := _PLACE.match(reading.text(k)))]
            file = next((file for file in places if not is_library_frame(file)), None)
            _add_failed(reading, "jest", n, last, match[1], status="failed", message=message, file=file)
        seen.add(match[1])
        reading.take(n, last)


# The final report of mocha (also under Hardhat, Truffle, Cypress): the counts, and numbered failures.

_COUNT: Final = re.compile(r"(\s{0,8})(?:[✓✔✖-] )?(\d{1,9}) (passing|failing|pending)( \(.{1,20}\))?\Z")
_NUMBERED: Final = re.compile(r"(\s{0,40})(\d{1,6})\) {1,4}(\S.*)\Z")
_FRAME: Final = re.compile(r"\s{2,40}at \S")
_NAMES: Final = {"passing": "passed", "failing": "failed", "pending": "skipped"}
_TITLES: Final = 12
"""Lines of a title: the nested suites and the test."""

_WITHIN: Final = 40
"""Lines of an unindented message above its stack frames, at most."""


def read_mocha(reading: LogParse) -> None:
    """Find mocha's counts, and the numbered failures after them."""
    counts: dict[str, int] = {}
    counted = -1
    for n, match in reading.matches(_COUNT):
        if not (match[1] or match[4] or counted == n - 1):
            continue
        if counts and n - counted > len(_NAMES):  # another run
            reading.count("mocha", counted, counts)
            counts = {}
        counts[_NAMES[match[3]]], counted = int(match[2]), n
        reading.take(n, n)
        if match[3] == "failing":
            _read_failures(reading, n + 1)
    ends_there = not any(reading.text(n).strip() for n in range(counted + 1, len(reading.lines)))
    # Numbers in the tree of tests, which is indented, are failures: they are counted below what passed.
    if ends_there and "failed" not in counts and any(m[1] for n, m in reading.matches(_NUMBERED) if n < counted):
        return
    if counts:
        reading.count("mocha", counted, counts)


def _read_failures(reading: LogParse, start: int) -> None:
    """Find the numbered failures from line ``start`` on, up to an unindented line that is no part of a message."""
    heads: list[int] = []
    n = start
    while n < len(reading.lines):
        text = reading.text(n)
        match = _NUMBERED.match(text)
        if match and int(match[2]) == len(heads) + 1:
            heads.append(n)
        elif text.strip() and not text.startswith(" ") and not _stands_above_frames(reading, n):
            break
        n += 1
    for first, end in pairwise([*heads, n]):
        _add_numbered(reading, first, end)


def _stands_above_frames(reading: LogParse, n: int) -> bool:
    for k in range(n, min(n + _WITHIN, len(reading.lines))):
        if _FRAME.match(reading.text(k)):
            return True
        if _NUMBERED.match(reading.text(k)) or not (reading.text(k).strip() or reading.text(k + 1).strip()):
            break
    return False


def _add_numbered(reading: LogParse, first: int, end: int) -> None:
    titles, n = [_NUMBERED.sub(r"\3", reading.text(first))], first
    while not titles[-1].endswith(":") and n - first < _TITLES and n + 1 < end and reading.text(n + 1).strip():
        n += 1
        titles.append(reading.text(n).strip())
    below = [k for k in range(n + 1, end) if reading.text(k).strip()]
    said, last = (reading.text(below[0]).strip(), below[-1]) if below else ("", n)
    kind, message = parse_exception_line(said) or (None, said)
    found = Finding("mocha", first, last, test=" ".join(titles).removesuffix(":").strip(), status="failed")
    found = add_trace(reading, n + 1, last, found)
    reading.add_finding(replace(found, error_type=kind or found.error_type, message=message or found.message))
