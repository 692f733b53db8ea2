"""Reports of tests in JUnit's XML, in the dialects of pytest, Maven, Gradle, googletest, Catch2, Node and others.

What failed is never a success: a case fails by its ``failure`` or ``error``, whatever stands beside it, by a status
that says so, and a suite by what it counts where it does not list it. A document type is refused, and with it every
entity that a document could define: no file is opened, nothing grows. A report that breaks off gives the test cases
before that place.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from xml.parsers import expat

from phronesis.core.experience.artifacts import is_error_name
from phronesis.core.experience.drafts import Artifact, Draft
from phronesis.core.experience.labelling import label_of
from phronesis.core.instants import FUTURE_TOLERANCE
from phronesis.derive.sources.log.drafting import in_short
from phronesis.derive.sources.log.findings import Finding, Reading, bare_test, short_type, test_in_words
from phronesis.derive.sources.log.go_test import said_by_go
from phronesis.derive.sources.log.lines import lines_of, moment
from phronesis.derive.sources.log.pytest_output import block_error, typed
from phronesis.derive.sources.log.traces import read_traces
from phronesis.derive.sources.places import LineIndex
from phronesis.derive.sources.port import Raw

_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT: Final = 20_000
"""Characters of a failure's text that are looked at."""

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_PYTEST_SETUP: Final = re.compile(r'failed on (?:setup|teardown) with "(.*)"\Z', re.DOTALL)
_FAILED: Final = ("failure", "error", "rerunFailure", "rerunError")
_OUTPUT: Final = ("system-out", "system-err")
_FLAKY: Final = ("flakyFailure", "flakyError")
"""Surefire's names for a try that failed before one that passed."""

_STATUS: Final = {
    "failed": "failure", "failure": "failure", "fail": "failure", "error": "error", "errored": "error",
    "notrun": "skipped", "disabled": "skipped", "skipped": "skipped", "suppressed": "skipped", "ignored": "skipped",
    "pending": "skipped",
}  # fmt: skip
"""What the attributes ``status`` and ``result`` of a case say, where no element does."""

_MESSAGES: Final = 3
_PLACED: Final = re.compile(r"((?:[A-Za-z]:)?[\w./\\@-]{1,200}\.\w{1,8}):\d{1,9}(?::\d{1,9})?:? ?(.*)\Z")
_LABELS: Final = frozenset({"failed", "failure", "error", "fail", "test failed", "test failure", "assertion failed"})
"""Messages that repeat the element's name: the text says what failed."""

_IN_ONE_LINE: Final = re.compile(r"\b((?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Warning))\b:? ?")
_VERSIONS: Final = {"java.version": "java", "python.version": "Python", "os.name": "", "node.version": "node"}


class _RefusedError(Exception):
    """The document declares a type."""


@dataclass(slots=True)
class _Case:
    name: str
    classname: str
    attributes: Mapping[str, str]
    begin: int
    end: int = 0
    status: str | None = None
    messages: list[str] = field(default_factory=list)
    error_type: str | None = None
    text: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    kept: int = 0
    flaky: bool = False


@dataclass(slots=True)
class _Suite:
    name: str
    attributes: Mapping[str, str]
    begin: int
    end: int | None = None
    counts: dict[str, Any] = field(
        default_factory=lambda: dict.fromkeys(("tests", "passed", "failed", "errors", "skipped"), 0)
    )
    facts: list[str] = field(default_factory=list)
    failing: list[_Case] = field(default_factory=list)
    flaky: int = 0
    listed: int = 0
    unlisted: int = 0


_PROLOG: Final = re.compile(r"\s+|<\?[^>]{0,2000}>|<!--")
_ROOT: Final = re.compile(r"<(!DOCTYPE|(?:[\w.-]{1,60}:)?[A-Za-z][\w.-]{0,80})")


def root_of(text: str) -> str:
    """Give the name of an XML text's first element without its prefix, or ``!DOCTYPE``; empty for other texts."""
    n = 1 if text.startswith("\ufeff") else 0
    while match := _PROLOG.match(text, n):
        n = match.end()
        if match[0] == "<!--":
            n = text.find("-->", n)
            if n < 0:
                return ""
            n += len("-->")
    root = _ROOT.match(text, n)
    return root[1].rpartition(":")[2] if root else ""


def is_junit(text: str) -> bool:
    """Tell whether a text is such a report by its first element."""
    return root_of(text) in {"testsuites", "testsuite"}


def is_broken(text: str) -> bool:
    """Tell whether a report is not well-formed and tells nothing of tests before its fault."""
    report = _Report(_FORBIDDEN.sub(" ", text))
    try:
        report.parse()
    except _RefusedError:
        return False
    return report.broken and not any(suite.counts["tests"] or suite.unlisted for suite in report.suites)


def read_junit(raw: Raw) -> list[Draft]:
    """Give a draft for each case that failed, and one for each suite in which none did."""
    text = _FORBIDDEN.sub(" ", raw.text)
    report, index = _Report(text), LineIndex(raw.text)
    try:
        report.parse()
    except _RefusedError:
        return []
    out: list[Draft] = []
    for suite in report.suites:
        pytest = suite.name == "pytest" or report.name.startswith("pytest")
        if suite.failing:
            out += [_case_draft(raw, index, suite, case, pytest=pytest) for case in suite.failing]
        if suite.unlisted:
            out.append(_unlisted_draft(raw, index, suite, pytest=pytest))
        elif suite.counts["tests"] and not suite.listed:
            out.append(_suite_draft(raw, index, suite, pytest=pytest))
    return out


class _Report:
    """Walks over a report and keeps what its suites and cases say."""

    def __init__(self, text: str) -> None:
        self.suites: list[_Suite] = []
        self.name = ""
        self.broken = False
        self._data = text.removeprefix("\ufeff").encode()
        self._shift = len(text) - len(text.removeprefix("\ufeff"))
        self._open: list[_Suite] = []
        self._case: _Case | None = None
        self._of_suite = False
        self._top: _Suite | None = None
        self._inside = ""
        self._seen = (0, 0)
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self) -> None:
        """Read the report as far as it is well formed."""
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError:
            self.broken = True
            while self._open:  # what broke off declared its failures at its beginning
                self._closed(self._open.pop())

    def _refuse(self, *_declared: object) -> None:
        raise _RefusedError

    def _here(self, *, after: bool = False) -> int:
        """Give the character where the parser stands, or the one after the tag that begins there."""
        byte = self._parser.CurrentByteIndex
        if after:
            close = self._data.find(b">", byte)
            byte = len(self._data) if close < 0 else close + 1
        before, characters = self._seen
        if byte >= before:  # places only go forward: each byte is decoded once
            characters += len(self._data[before:byte].decode(errors="ignore"))
            self._seen = (byte, characters)
        return characters + self._shift

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if name == "testsuites" and not self._open:
            self.name = attributes.get("name", "")
            self._top = _Suite(self.name, attributes, self._here())
            self._open.append(self._top)  # cases may stand here, outside of every suite
        elif name in {"testsuite", "testsuites"}:
            suite = _Suite(attributes.get("name", ""), attributes, self._here())
            self.suites.append(suite)
            self._open.append(suite)
        elif name == "testcase" and self._open:
            self._case = _Case(attributes.get("name", ""), attributes.get("classname", ""), attributes, self._here())
        elif name == "property" and self._open:
            self._property(attributes)
        elif name in _FAILED and self._case is None and self._open:  # of a whole suite
            self._case = _Case(self._open[-1].name, "", {}, self._here())
            self._of_suite = True
            self._fault(name, attributes)
        elif name in _OUTPUT and not self._inside:
            self._inside = name
        elif self._case is not None:
            self._fault(name, attributes)

    def _fault(self, name: str, attributes: Mapping[str, str]) -> None:
        """Take what an element in a case says: a failure outweighs that it was skipped."""
        case = self._case
        if case is None or name not in (*_FAILED, *_FLAKY, "skipped"):
            return
        if name in _FLAKY:
            case.flaky = True
        elif name == "skipped":
            case.status = case.status or "skipped"
        else:
            self._inside = name
            if case.status in {None, "skipped"}:
                case.status = "error" if name.lower().endswith("error") else "failure"
                case.error_type = attributes.get("type") or None
            case.messages.append(attributes.get("message", ""))

    def _property(self, attributes: Mapping[str, str]) -> None:
        before = _VERSIONS.get(attributes.get("name", ""))
        if before is not None and len(self._open[-1].facts) < len(_VERSIONS):
            self._open[-1].facts.append(f"{before} {attributes.get('value', '')[:60]}".strip())

    def _characters(self, text: str) -> None:
        case = self._case
        if case is None and self._inside in _OUTPUT and self._open and len(self._open[-1].failing) == 1:
            case = self._open[-1].failing[0]  # Bazel puts a test's output behind its one case
        if case is not None and self._inside and case.kept < _KEPT:
            (case.text if self._inside in _FAILED else case.output).append(text[:_KEPT])
            case.kept += len(text)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name == self._inside:
            self._inside = ""
            if self._of_suite and self._case is not None:
                case, self._case, self._of_suite = self._case, None, False
                self._counted(case)
        elif name == "testcase" and self._case is not None:
            case, self._case = self._case, None
            self._counted(case)
        elif name in {"testsuite", "testsuites"} and self._open:
            suite = self._open.pop()
            suite.end = self._here(after=True)
            self._closed(suite)

    def _counted(self, case: _Case) -> None:
        suite = self._open[-1]
        told = [_STATUS.get(case.attributes.get(name, "").lower()) for name in ("status", "result")]
        case.status = case.status or next((one for one in told if one), None)
        name = {"failure": "failed", "error": "errors", "skipped": "skipped"}.get(case.status or "", "passed")
        suite.counts["tests"] += 1
        suite.counts[name] += 1
        suite.flaky += case.flaky
        if name in {"failed", "errors"}:
            suite.listed += 1
            case.end = self._here(after=True)
            suite.failing.append(case)

    def _closed(self, suite: _Suite) -> None:
        """Note failures that a suite counts though it lists none; a suite around others counts theirs."""
        declared = sum(_number(suite.attributes.get(name)) for name in ("failures", "errors"))
        suite.unlisted = 0 if suite.listed else declared
        if self._open:
            self._open[-1].listed += suite.listed + suite.unlisted
        if suite is self._top and (suite.counts["tests"] or suite.unlisted):
            self.suites.insert(0, suite)


def _number(given: str | None) -> int:
    return int(given) if given and re.fullmatch(r"\d{1,9}", given) else 0


def _case_draft(raw: Raw, index: LineIndex, suite: _Suite, case: _Case, *, pytest: bool) -> Draft:
    name = f"{case.classname}.{case.name}" if case.classname else case.name
    error = _error(case)
    status = case.status or "failure"
    judged = label_of({"status": status})
    tool = "pytest" if pytest else "junit"
    result = in_short(error.error_type, error.message) or status
    observed = {
        "status": status, "seconds": _seconds(case.attributes), "error_type": error.error_type,
        "frames": list(error.frames), "causes": list(error.causes), "suite": dict(suite.counts),
    }  # fmt: skip
    artifacts = [Artifact("file", error.file)] if error.file else []
    artifacts += [Artifact("error_type", error.error_type)] if error.error_type else []
    artifacts += [Artifact("concept", bare_test(case.name) or name), Artifact("concept", tool)]
    return Draft(
        attempt=name or "a test case",
        situation=_situation(suite, tool),
        goal=test_in_words(case.name),
        result=result,
        label=judged.label,
        signals=judged.signals,
        confidence=judged.confidence,
        field_origin=dict.fromkeys(("situation", "goal", "attempt", "result"), "rule"),
        observations={key: value for key, value in observed.items() if value not in (None, [])},
        artifacts=list(dict.fromkeys(artifacts)),
        lines=index.lines(case.begin, case.end),
        span=(case.begin, case.end),
        occurred_at=_moment(raw, case.attributes) or _moment(raw, suite.attributes),
    )


def _error(case: _Case) -> Finding:
    """Give the error of a failing case: from its ``message``, its text, and its ``type`` where that names an error."""
    text = "".join(case.text)[:_KEPT]
    lines = [line for line in text.splitlines() if line.strip() and not _is_title(line, case)]
    said = [_bare(message) for message in case.messages if message.strip()]
    said = [message for message in said if message.casefold() not in _LABELS] if lines else said
    parts = [_typed(message) for message in said]
    kind = next((kind for kind, _ in parts if kind), None)
    words = "; ".join(dict.fromkeys(message for _, message in parts[:_MESSAGES] if message))
    trace = _trace("\n".join([*said, text]))
    if trace is None and not lines and kind is None:
        trace = _trace("".join(case.output))
        words = trace.message if trace and trace.error_type else words
    block_type, block_message, file = block_error([*"\n".join(said).splitlines(), *text.splitlines()])
    if kind is None and block_type and block_message:
        words = block_message
    place, told = said_by_go(lines)
    if not words:
        given, first = _typed("\n".join(lines).strip())
        words = told or block_message or (trace.message if trace else "") or first
        kind, file = kind or given, file or place
    elif kind is None and trace is None and lines and (placed := _PLACED.match(lines[0].strip())):
        words, file = f"{words}: {lines[0].strip()}" if placed[2] else words, file or placed[1]
    named = short_type(case.error_type.replace("\\", ".")) if case.error_type else ""
    return Finding(
        tool="junit", first=0, last=0, message=words.strip(": "),
        error_type=kind or block_type or (named if is_error_name(named) else None)
        or (trace.error_type if trace else None),
        file=file or (trace.file if trace else None) or case.attributes.get("file"),
        frames=trace.frames if trace else (), causes=trace.causes if trace else (),
    )  # fmt: skip


def _is_title(line: str, case: _Case) -> bool:
    """Tell whether a line of a failure's text only names the test, as PHPUnit and Jest begin."""
    bare = line.strip()
    return bare.startswith("● ") or bare in {case.name, f"{case.classname}::{case.name}",
                                             f"{case.attributes.get('class')}::{case.name}"}  # fmt: skip


def _bare(message: str) -> str:
    setup = _PYTEST_SETUP.match(message)
    return (setup[1] if setup else message).strip()


def _typed(message: str) -> tuple[str | None, str]:
    """Give the type and the words of a message: of a trace those of its error, else of its first line."""
    first = message.partition("\n")[0]
    if not first.startswith("Traceback (most recent call last)"):
        told = first.rpartition(" E   ")[2].strip()  # pytest's lines, made one
        kind, words = typed(told)
        return (kind, words) if kind and is_error_name(kind) else (None, first)
    trace = _trace(message)
    if trace and trace.error_type:
        return trace.error_type, trace.message
    last = None
    for match in _IN_ONE_LINE.finditer(message[:_KEPT]):  # a parser has made blanks of its line ends
        last = match
    return (short_type(last[1]), message[last.end() : _KEPT].strip()) if last else typed(first)


def _trace(text: str) -> Finding | None:
    reading = Reading(lines_of(Raw(text=text[:_KEPT], recorded_at=_NEVER)))
    read_traces(reading)
    return reading.findings[-1] if reading.findings else None


def _unlisted_draft(raw: Raw, index: LineIndex, suite: _Suite, *, pytest: bool) -> Draft:
    """Tell of the failures that a suite counts without listing their cases."""
    count = suite.unlisted
    judged = label_of({"failed": count})
    end = len(raw.text) if suite.end is None else suite.end
    tool = "pytest" if pytest else "junit"
    return Draft(
        attempt=suite.name or f"run {tool}",
        situation=_situation(suite, tool),
        result=f"{count} failed; the report counts them and lists no case",
        label=judged.label,
        signals=judged.signals,
        confidence=judged.confidence,
        field_origin=dict.fromkeys(("situation", "attempt", "result"), "rule"),
        observations={**suite.counts, "failed": count},
        artifacts=[Artifact("concept", tool)],
        lines=index.lines(suite.begin, end),
        span=(suite.begin, end),
        occurred_at=_moment(raw, suite.attributes),
    )


def _suite_draft(raw: Raw, index: LineIndex, suite: _Suite, *, pytest: bool) -> Draft:
    """Tell of a suite in which nothing failed; one that breaks off is unknown."""
    tool = "pytest" if pytest else "junit"
    whole = suite.end is not None
    judged = label_of(suite.counts if whole else None)
    counts = suite.counts
    end = len(raw.text) if suite.end is None else suite.end
    return Draft(
        attempt=suite.name or f"run {tool}",
        situation=_situation(suite, tool),
        result=", ".join(f"{counts[key]} {key}" for key in ("passed", "skipped") if counts[key]),
        label=judged.label,
        signals=judged.signals,
        confidence=judged.confidence,
        field_origin=dict.fromkeys(("situation", "attempt", "result"), "rule"),
        observations={
            **counts,
            **({"seconds": took} if (took := _seconds(suite.attributes)) is not None else {}),
            **({"flaky": suite.flaky} if suite.flaky else {}),
        },
        artifacts=[Artifact("concept", tool)],
        lines=index.lines(suite.begin, end),
        span=(suite.begin, end),
        occurred_at=_moment(raw, suite.attributes),
    )


def _situation(suite: _Suite, tool: str) -> str:
    name = f"suite {suite.name}" if suite.name and suite.name != tool else ""
    return ", ".join(word for word in (tool, name, *suite.facts) if word)


def _seconds(attributes: Mapping[str, str]) -> float | None:
    given = attributes.get("time", "").replace(",", "")[:20]
    return float(given) if re.fullmatch(r"\d{1,9}(?:\.\d{0,9})?", given) else None


def _moment(raw: Raw, attributes: Mapping[str, str]) -> Any:
    told = moment(attributes["timestamp"]) if attributes.get("timestamp") else None
    return told if told is not None and told - raw.recorded_at <= FUTURE_TOLERANCE else None
