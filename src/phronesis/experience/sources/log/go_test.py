"""Parse ``go test`` output, with or without ``-v``, sequential or parallel; ``-json`` is read as its text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.experience.sources.log.findings import Finding, Line, LogParse, moment
from phronesis.experience.sources.log.traces import go_panic
from phronesis.experience.sources.port import RawText

_MARK: Final = re.compile(r"\x16?=== (RUN|CONT|NAME|PAUSE) {1,4}(\S{1,400})")
_RESULT: Final = re.compile(r"--- (FAIL|PASS|SKIP|BENCH): (\S{1,400})(?: \((\d{1,9}\.\d{1,3}) ?(?:s|seconds)\))?\Z")
_DONE: Final = re.compile(
    r"(ok|FAIL|\?)[ \t]{1,20}(\S{1,300})[ \t]{1,20}"
    r"(\d{1,9}\.\d{1,3}s|\(cached\)|\[(?:build|setup) failed\]|\[no test files\]|\[no tests to run\])"
)
_SAID: Final = re.compile(r"\s{1,80}([^\s:]{1,200}\.go):(\d{1,9}): ?(.*)\Z")
_TESTIFY: Final = re.compile(r"\s{1,80}Error:\s{1,40}(\S.*)\Z")
_RUNNING: Final = re.compile(r"\t(\S{1,400}) \([\dhms.]{1,20}\)\Z")
_CRASH: Final = ("panic: ", "fatal error: ")
_QUIET: Final = ("FAIL", "PASS", "ok", "coverage: ", "goos: ", "goarch: ", "pkg: ", "cpu: ", "testing: ")

_MESSAGES: Final = 3
"""Messages of one test in its result: the text does not show which is the failure and which a note."""


_MOST_RUNNING: Final = 100
"""Running tests that are read from a time-out's list."""


@dataclass(slots=True)
class _Test:
    """A test: the lines it wrote, and its status."""

    name: str
    output: list[int] = field(default_factory=list)
    status: str = ""
    seconds: float | None = None
    end: int = -1


@dataclass(slots=True)
class _Package:
    """The tests of a package, other lines of it, and the line on which it ended."""

    tests: dict[str, _Test] = field(default_factory=dict)
    loose: list[int] = field(default_factory=list)
    name: str | None = None
    status: str = ""
    verdict: str = ""
    end: int = -1
    crash: int = -1
    crashed: str | None = None

    def test(self, name: str) -> _Test:
        return self.tests.setdefault(name, _Test(name))


def read_go_test(reading: LogParse) -> None:
    """Find failed tests, packages that failed without one, and the number of passed tests."""
    packages = list(_packages(reading))
    headers = [line.text.split()[1:3] for line in reading.lines if line.text.startswith("# ")]
    built = {word.strip("[]").removesuffix(".test").removesuffix("_test") for header in headers for word in header}
    found = [one for package in packages for one in _failures(reading, package, built)]
    for one in found:
        reading.add_finding(one)
    if packages:
        tests = [test for package in packages for test in package.tests.values()]
        counts = {
            "passed": sum(test.status == "PASS" for test in tests),
            "failed": sum(one.test is not None for one in found),
            "skipped": sum(test.status == "SKIP" for test in tests),
        }
        good = sum(package.status == "ok" for package in packages)
        if good and not counts["passed"] and not counts["failed"]:
            counts = {"passed": good}
        reading.count("go test", max(package.end for package in packages), counts)


def _packages(reading: LogParse) -> Iterator[_Package]:
    """Yield the packages, split at their verdicts, with each line assigned to the test that wrote it."""
    package, now, under, depth = _Package(), None, None, 0
    for n in range(len(reading.lines)):
        text = reading.text(n)
        mark = _MARK.match(text) if "=== " in text[:5] else None
        result = _result(text) if "--- " in text else None
        done = _DONE.match(text) if text.startswith(("ok", "FAIL", "?")) else None
        if mark:
            now, under = (None if mark[1] == "PAUSE" else package.test(mark[2])), None
            package.end = n
            reading.take(n, n)
        elif result:
            under, depth = package.test(result[1]), result[0]
            under.status, under.seconds, under.end = result[2], result[3], n
            now, package.end = None, n
            reading.take(n, n)
        elif done:
            package.status, package.name, package.verdict, package.end = done[1], done[2], done[3], n
            reading.note_tool(n, "go test")
            reading.take(n, n)
            yield package
            package, now, under = _Package(), None, None
        elif text.startswith(_CRASH) and package.crash < 0:
            last = max(package.tests.values(), key=lambda one: one.end, default=None)
            owner = now or under or (last if last and last.status == "FAIL" else None)
            package.crash, package.crashed = n, owner.name if owner else None
        elif under is not None and len(text) - len(text.lstrip()) > depth:
            under.output.append(n)
        elif now is not None:
            now.output.append(n)
        elif text.strip():
            under = None
            package.loose.append(n)
    if package.tests:
        yield package


def _result(text: str) -> tuple[int, str, str, float | None] | None:
    """Parse ``--- FAIL: TestX (0.01s)``: its depth, the test, the status, the seconds."""
    start = text.find("--- ")
    match = _RESULT.match(text, start)
    if match is None or (text[:start].strip() and match[3] is None):  # a test's own words may stand before it
        return None
    return start if not text[:start].strip() else 0, match[2], match[1], float(match[3]) if match[3] else None


def _failures(reading: LogParse, package: _Package, built: AbstractSet[str]) -> Iterator[Finding]:
    """Yield the failures of a package's tests, or its own; ``built`` are packages whose compiler messages are there."""
    if (crash := _crash(reading, package)) is not None:
        reading.take(crash.first, crash.last)
        for name in _running_tests(reading, package, crash):
            package.test(name).status = "FAIL"
    failed = [test for test in package.tests.values() if test.status == "FAIL"]
    above = {test.name.rpartition("/")[0] for test in failed}
    for test in failed:
        found = _failure(reading, package, test)
        if crash is not None and test.name == package.crashed:
            found = replace(
                found,
                message=found.message or crash.message,
                error_type=crash.error_type,
                file=crash.file or found.file,
                frames=crash.frames,
                first=min(found.first, crash.first),
                last=max(found.last, crash.last),
                place=None if crash.file else found.place,
            )
            crash = None
        elif crash is not None and crash.message.startswith("test timed out") and not found.message:
            found = replace(found, message=crash.message, error_type="panic")
        if found.message or test.name not in above:
            yield found
    if package.status == "FAIL" and not failed:
        yield crash or _without_test(reading, package, follows=(package.name or "").removesuffix("_test") in built)
    elif crash is not None and not failed:
        yield crash


def _failure(reading: LogParse, package: _Package, test: _Test) -> Finding:
    """Return the finding of a failed test from its messages."""
    said: list[str] = []
    first, file, place = -1, None, None
    for k, n in enumerate(test.output):
        if (match := _SAID.match(reading.text(n))) is None:
            continue
        words = match[3].strip() or _message_below(reading, test.output[k + 1 : k + 20])
        if words and words not in said:
            said.append(words)
        if first < 0:
            first, file, place = n, match[1], int(match[2])
    kept = said if len(said) <= _MESSAGES else [*said[: _MESSAGES - 1], said[-1]]
    lines = [n for n in (first, test.end, *test.output[-1:]) if n >= 0] or [package.end]
    found = Finding("go test", min(lines), max(test.end, min(lines), first), test=test.name, status="failed", file=file)
    return replace(found, seconds=test.seconds, message="; ".join(kept), place=place, suite=package.name)


def parse_failed_test_output(texts: Sequence[str]) -> tuple[str | None, str]:
    """Return the file and the messages in the lines of a failed test."""
    places = [match for text in texts if (match := _SAID.match(text))]
    said = dict.fromkeys(match[3].strip() for match in places if match[3].strip())
    return (places[0][1] if places else None), "; ".join(list(said)[:_MESSAGES])


def _message_below(reading: LogParse, lines: Sequence[int]) -> str:
    """Return the message on the lines below its place; testify labels it ``Error:``."""
    first = ""
    for n in lines:
        text = reading.text(n)
        if match := _TESTIFY.match(text):
            return match[1].strip()
        if _SAID.match(text):
            break
        first = first or text.strip()
    return "" if first.startswith("Error Trace:") else first


def _crash(reading: LogParse, package: _Package) -> Finding | None:
    if package.crash < 0:
        return None
    if (found := go_panic(reading, package.crash)) is None:
        kind, _, message = reading.text(package.crash).partition(": ")
        found = Finding("go", package.crash, package.crash, error_type=kind, message=message)
    return replace(found, tool="go test", suite=package.name, ran=f"go test {package.name}" if package.name else None)


def _running_tests(reading: LogParse, package: _Package, crash: Finding) -> list[str]:
    """Return the tests that a crash ended: those listed by a time-out, else the running one."""
    n = crash.first + 1
    if reading.text(n).startswith("running tests"):
        listed = list[str]()
        while len(listed) < _MOST_RUNNING and (match := _RUNNING.match(reading.text(n + 1))):
            listed.append(match[1])
            n += 1
        if listed:
            package.crashed = listed[-1]
            return [name for name in listed if not any(other.startswith(f"{name}/") for other in listed)]
    return [package.crashed] if package.crashed else []


def _without_test(reading: LogParse, package: _Package, *, follows: bool) -> Finding:
    """Return the finding of a package that failed without a failed test: not built, or crashed."""
    follows = follows and package.verdict.endswith("failed]")
    words = [text for n in package.loose if not (text := reading.text(n).strip()).startswith(_QUIET)]
    ended = next((text for text in reversed(words) if not text.startswith("exit status ")), "")
    message = package.verdict.strip("[]") if package.verdict.endswith("]") else ended or (words or ["failed"])[-1]
    found = Finding("go test", package.end, package.end, message=f"error: {message}", follows=follows)
    return replace(found, suite=package.name, ran=f"go test {package.name}")


class _Stream:
    """The lines of one package, assembled from events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[Line] = []
        self._rest: dict[str, str] = {}
        self._test = ""
        self._ended: set[str] = set()
        self._verdict: list[Line] = []

    def output(self, words: str, test: str, line: Line) -> None:
        """Append output; an event may contain part of a line."""
        *whole, rest = (self._rest.pop(test, "") + words).split("\n")
        if rest:
            self._rest[test] = rest
        for text in whole:
            self._write(text, test, line)

    def event(self, action: str, test: str, seconds: float, line: Line) -> None:
        """Add the end of a test, or of the package (``test`` empty), if the output does not show it."""
        for name in (test, *([] if test else list(self._rest))):
            if rest := self._rest.pop(name, ""):
                self._write(rest, name, line)
        if action not in {"pass", "fail", "skip"}:
            return
        if test and test not in self._ended:
            self._write(f"--- {action.upper()}: {test} ({seconds:.2f}s)", test, line)
        elif not test:
            verdict = {"pass": "ok  ", "fail": "FAIL"}.get(action)
            if verdict and not self._verdict:
                self._write(f"{verdict}\t{self.name}\t{seconds:.3f}s", "", line)
            self.close()

    def close(self) -> None:
        """Move the package's verdict after its tests, whose ends follow it after a panic."""
        self.lines += self._verdict
        self._verdict, self._test = [], ""
        self._ended.clear()

    def _write(self, text: str, test: str, line: Line) -> None:
        result, mark, done = _result(text) if "--- " in text else None, _MARK.match(text), _DONE.match(text)
        if done:
            self._verdict = [replace(line, text=text)]
            return
        if result:
            self._ended.add(result[1])
        elif test != self._test and mark is None:
            told = f"=== NAME  {test}" if test else "=== PAUSE  package"
            self.lines.append(replace(line, text=told))
        self._test = "" if result else test
        self.lines.append(replace(line, text=text))


def event_lines(raw: RawText, lines: list[Line]) -> list[Line]:
    """Return the lines of the text output behind ``go test -json``, by package; other texts unchanged."""
    out: list[Line] = []
    streams: dict[tuple[str, str], _Stream] = {}
    for line in lines:
        if (event := _event(raw, line)) is None:
            if line.text.startswith(("$ ", "##[group]")):
                out += _join_streams(streams)
                streams = {}
            out.append(line)
            continue
        built = event["Action"].startswith("build-")
        name = str(event.get("ImportPath" if built else "Package") or "")
        stream = streams.setdefault(("build" if built else "", name), _Stream(name))
        at = moment(event["Time"]) if isinstance(event.get("Time"), str) else None
        placed = replace(line, at=raw.past(at) or line.at)
        test, words, took = (event.get(key) for key in ("Test", "Output", "Elapsed"))
        if event["Action"] in {"output", "build-output"} and isinstance(words, str):
            stream.output(words, str(test or ""), placed)
        elif event["Action"] == "build-fail" and not any("# " not in one.text for one in stream.lines):
            stream.lines.append(replace(placed, text=f"FAIL\t{name} [build failed]"))
        else:
            seconds = float(took) if isinstance(took, int | float) else 0.0
            stream.event(event["Action"], str(test or ""), seconds, placed)
    return out + _join_streams(streams)


def _join_streams(streams: Mapping[tuple[str, str], _Stream]) -> list[Line]:
    for stream in streams.values():
        stream.close()
    return [line for stream in streams.values() for line in stream.lines]


def _event(raw: RawText, line: Line) -> Mapping[str, Any] | None:
    if not line.text.startswith("{") or '"Action"' not in raw.text[line.start : line.end]:
        return None
    start = raw.text.find("{", line.start, line.end)
    try:
        value = json.loads(raw.text[start : line.end])
    except (ValueError, RecursionError):
        return None
    known = isinstance(value, dict) and isinstance(value.get("Action"), str)
    return value if known and ("Package" in value or "ImportPath" in value or "Test" in value) else None
