"""What runners of tests print whose reports are short: unittest, cargo test, Maven."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from phronesis.derive.sources.log.findings import Finding, Reading, Summary
from phronesis.derive.sources.log.traces import read_traces

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


def read_suites(reading: Reading) -> None:
    """Find the failing tests of each runner, and what it counts."""
    for read in (_read_unittest, _read_cargo, _read_maven):
        read(reading)


def traced(reading: Reading, first: int, last: int, found: Finding) -> Finding:
    """Give a failing test with the error that the stack trace on its lines is of."""
    inner = Reading(reading.lines[first : last + 1])
    read_traces(inner)
    if not inner.findings:
        return found
    error = inner.findings[-1]
    return replace(
        found, error_type=error.error_type or found.error_type, message=error.message or found.message,
        file=error.file or found.file, frames=error.frames, causes=error.causes,
    )  # fmt: skip


def _read_unittest(reading: Reading) -> None:
    n = 0
    while n < len(reading.lines):
        text = reading.text(n)
        match = _UNITTEST.match(text) if text.startswith(("FAIL: ", "ERROR: ")) else None
        if match and reading.text(n - 1).startswith("======"):
            last = until(reading, n, lambda line: line.startswith("======") or bool(_RAN.match(line)))
            name = match[3] if match[3].rpartition(".")[2] == match[2] else f"{match[3]}.{match[2]}"
            found = Finding(tool="unittest", first=n, last=last, test=f"{name}{match[4]}",
                            status="failed" if match[1] == "FAIL" else "error")  # fmt: skip
            reading.found(traced(reading, n, last, found))
            n = last
        elif text.startswith("Ran "):
            _count_unittest(reading, n)
        n += 1


def _count_unittest(reading: Reading, n: int) -> None:
    ran = _RAN.match(reading.text(n))
    verdict = next((match for k in range(n + 1, n + 4) if (match := _VERDICT.match(reading.text(k)))), None)
    if ran is None:
        return
    reading.called(n, "unittest")
    if verdict is None:
        return
    parts = {name: int(count) for name, count in _PART.findall(verdict[1] or "")}
    failed, errors, skipped = parts.get("failures", 0), parts.get("errors", 0), parts.get("skipped", 0)
    failed += parts.get("unexpected successes", 0)
    counts = {"tests": int(ran[1]), "passed": max(0, int(ran[1]) - failed - errors - skipped), "failed": failed,
              "errors": errors, "skipped": skipped, "seconds": float(ran[2])}  # fmt: skip
    reading.summaries.append(Summary(tool="unittest", line=n + 2, counts=counts))
    reading.take(n, n + 2)


def _read_cargo(reading: Reading) -> None:
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
                reading.summaries.append(Summary(tool="cargo test", line=n, counts={**said, **seconds}))
                reading.take(n, n)
        elif text.startswith("---- "):
            match = _CARGO_BLOCK.match(text)
            if match:
                last = until(reading, n, lambda said: said.startswith(("---- ", "failures:", "test result:")))
                found = Finding(tool="cargo test", first=n, last=last, test=match[1], status="failed")
                reading.found(traced(reading, n, last, found))
                shown.add(match[1])
    for test, n in named.items():
        if test not in shown:
            reading.found(Finding(tool="cargo test", first=n, last=n, test=test, status="failed"))


def _read_maven(reading: Reading) -> None:
    """Read what surefire and failsafe print: the methods that failed, and the counts of all classes."""
    total = -1
    for n, line in enumerate(reading.lines):
        match = _MAVEN_METHOD.match(line.text) if "<<< " in line.text else None
        if match and reading.free(n):
            last = until(reading, n, lambda said: said.startswith("[") or "<<< " in said or not said.strip())
            name = f"{match[2]}.{match[1]}" if match[2] else match[1]
            found = Finding(tool="surefire", first=n, last=last, test=name, seconds=float(match[3].replace(",", ".")),
                            status="failed" if match[4] == "FAILURE" else "error")  # fmt: skip
            reading.found(traced(reading, n + 1, last, found))
        elif "Tests run: " in line.text and _MAVEN_COUNTS.search(line.text):
            reading.take(n, n)
            reading.called(n, "maven")
            if "Time elapsed" not in line.text:
                total = n
    counts = _MAVEN_COUNTS.search(reading.text(total))
    if counts:  # the last line counts all classes
        ran, failed, errors, skipped = (int(count or 0) for count in counts.groups())
        said = {"tests": ran, "passed": max(0, ran - failed - errors - skipped), "failed": failed, "errors": errors,
                "skipped": skipped}  # fmt: skip
        reading.summaries.append(Summary(tool="surefire", line=total, counts=said))


def until(reading: Reading, start: int, ends: Callable[[str], bool]) -> int:
    """Give the last line after ``start`` that is not empty, before one that ends the block; rules do not count."""
    last = start
    for n in range(start + 1, len(reading.lines)):
        text = reading.text(n)
        if ends(text):
            break
        if text.strip("-=_ "):
            last = n
    return last
