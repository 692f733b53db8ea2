"""Parse JUnit XML, in the dialects of pytest, Maven, Gradle, googletest, Catch2, Node and others, into drafts.

A document type declaration is refused, and with it all entities. A suite that lists no case fails by its counts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final
from xml.parsers import expat

from phronesis.experience.laws.event_draft import Draft, is_error_name
from phronesis.experience.laws.outcome_labels import label_of
from phronesis.experience.sources.log.findings import (
    Finding,
    LogParse,
    artifacts_of,
    bare_test,
    in_short,
    lines_of,
    moment,
    short_type,
    test_in_words,
)
from phronesis.experience.sources.log.go_test import said_by_go
from phronesis.experience.sources.log.traces import block_error, read_traces, split_error
from phronesis.experience.sources.port import LineIndex, RawText

KEPT: Final = 20_000
"""Characters of a failure's text that are kept."""

FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_FAILED: Final = ("failure", "error", "rerunFailure", "rerunError")
_OUTPUT: Final = ("system-out", "system-err")
_FLAKY: Final = ("flakyFailure", "flakyError")
"""Surefire's elements for a failed try before a passing one."""

_STATUSES: Final = {
    "failure": "failed failure fail",
    "error": "error errored",
    "skipped": "notrun disabled skipped suppressed ignored pending",
}
_STATUS: Final = {word: status for status, words in _STATUSES.items() for word in words.split()}
"""Meaning of the attributes ``status`` and ``result`` of a case without such an element."""

_VERSIONS: Final = {"java.version": "java", "python.version": "Python", "os.name": "", "node.version": "node"}


class RefusedError(Exception):
    """The document has a document type declaration."""


@dataclass(slots=True)
class Case:
    """A test case: its span in the text, its status, and the text of its failures."""

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
class Suite:
    """A suite: ``listed`` counts its failed cases, ``unlisted`` the failures that it counts without a case."""

    name: str
    attributes: Mapping[str, str]
    begin: int
    end: int | None = None
    counts: dict[str, Any] = field(
        default_factory=lambda: dict.fromkeys(("tests", "passed", "failed", "errors", "skipped"), 0)
    )
    facts: list[str] = field(default_factory=list)
    failing: list[Case] = field(default_factory=list)
    flaky: int = 0
    listed: int = 0
    unlisted: int = 0


class Report:
    """Parses a report into suites and cases."""

    def __init__(self, text: str) -> None:
        self.suites: list[Suite] = []
        self.name = ""
        self.broken = False
        self._data = text.removeprefix("\ufeff").encode()
        self._shift = len(text) - len(text.removeprefix("\ufeff"))
        self._open: list[Suite] = []
        self._case: Case | None = None
        self._of_suite = False
        self._top: Suite | None = None
        self._inside = ""
        self._seen = (0, 0)
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def parse(self) -> None:
        """Parse the report as far as it is well-formed."""
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError:
            self.broken = True
            while self._open:  # what broke off declared its failures at its beginning
                self._close_suite(self._open.pop())

    def _refuse(self, *_declared: object) -> None:
        raise RefusedError

    def _position(self, *, after: bool = False) -> int:
        """Return the parser's position in characters, or the end of the tag that begins there."""
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
            self._top = Suite(self.name, attributes, self._position())
            self._open.append(self._top)  # cases may stand here, outside of every suite
        elif name in {"testsuite", "testsuites"}:
            suite = Suite(attributes.get("name", ""), attributes, self._position())
            self.suites.append(suite)
            self._open.append(suite)
        elif name == "testcase" and self._open:
            self._case = Case(attributes.get("name", ""), attributes.get("classname", ""), attributes, self._position())
        elif name == "property" and self._open:
            self._property(attributes)
        elif name in _FAILED and self._case is None and self._open:  # of a whole suite
            self._case = Case(self._open[-1].name, "", {}, self._position())
            self._of_suite = True
            self._fault(name, attributes)
        elif name in _OUTPUT and not self._inside:
            self._inside = name
        elif self._case is not None:
            self._fault(name, attributes)

    def _fault(self, name: str, attributes: Mapping[str, str]) -> None:
        """Record an element in a case; a failure takes precedence over skipped."""
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
        if case is not None and self._inside and case.kept < KEPT:
            (case.text if self._inside in _FAILED else case.output).append(text[:KEPT])
            case.kept += len(text)

    def _end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        inside = name == self._inside
        self._inside = "" if inside else self._inside
        if self._case is not None and (self._of_suite if inside else name == "testcase"):
            case, self._case, self._of_suite = self._case, None, False
            self._count_case(case)
        elif name in {"testsuite", "testsuites"} and self._open:
            suite = self._open.pop()
            suite.end = self._position(after=True)
            self._close_suite(suite)

    def _count_case(self, case: Case) -> None:
        suite = self._open[-1]
        told = [_STATUS.get(case.attributes.get(name, "").lower()) for name in ("status", "result")]
        case.status = case.status or next((one for one in told if one), None)
        name = {"failure": "failed", "error": "errors", "skipped": "skipped"}.get(case.status or "", "passed")
        suite.counts["tests"] += 1
        suite.counts[name] += 1
        suite.flaky += case.flaky
        if name in {"failed", "errors"}:
            suite.listed += 1
            case.end = self._position(after=True)
            suite.failing.append(case)

    def _close_suite(self, suite: Suite) -> None:
        """Record failures that a suite counts without listing them, less those of nested suites."""
        given = [suite.attributes.get(name, "") for name in ("failures", "errors")]
        declared = sum(int(one) for one in given if re.fullmatch(r"\d{1,9}", one))
        suite.unlisted = 0 if suite.listed else declared
        if self._open:
            self._open[-1].listed += suite.listed + suite.unlisted
        if suite is self._top and (suite.counts["tests"] or suite.unlisted):
            self.suites.insert(0, suite)


_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PYTEST_SETUP: Final = re.compile(r'\Afailed on (?:setup|teardown) with "(.*)"\Z', re.DOTALL)
_MESSAGES: Final = 3
_PLACED: Final = re.compile(r"((?:[A-Za-z]:)?[\w./\\@-]{1,200}\.\w{1,8}):\d{1,9}(?::\d{1,9})?:? ?(.*)\Z")
_LABELS: Final = frozenset({"failed", "failure", "error", "fail", "test failed", "test failure", "assertion failed"})
"""Messages that only repeat the element's name; the text then has the message."""

_IN_ONE_LINE: Final = re.compile(r"\b((?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Warning))\b:? ?")


def read_junit(raw: RawText) -> list[Draft]:
    """Return a draft for each failed case, and one for each suite without failures."""
    text = FORBIDDEN.sub(" ", raw.text)
    report, index = Report(text), LineIndex(raw.text)
    try:
        report.parse()
    except RefusedError:
        return []
    out: list[Draft] = []
    for suite in report.suites:
        tool = "pytest" if suite.name == "pytest" or report.name.startswith("pytest") else "junit"
        out += [_case_draft(raw, index, suite, case, tool) for case in suite.failing]
        if suite.unlisted or (suite.counts["tests"] and not suite.listed):
            out.append(_suite_draft(raw, index, suite, tool))
    return out


def _draft(
    raw: RawText, index: LineIndex, suite: Suite, tool: str, *, case: Case | None = None, **fields: Any
) -> Draft:
    """Return the draft of a failed case, or of a suite."""
    begin, end = (suite.begin, suite.end) if case is None else (case.begin, case.end)
    name = [f"suite {suite.name}"] if suite.name and suite.name != tool else []
    stamps = [one.attributes.get("timestamp", "") for one in (case, suite) if one is not None]
    return Draft(
        situation=", ".join(filter(None, [tool, *name, *suite.facts])),
        field_origin=dict.fromkeys(("situation", "attempt", "result", *(() if case is None else ("goal",))), "rule"),
        **index.place(begin, len(raw.text) if end is None else end),
        occurred_at=next(filter(None, (raw.past(moment(stamp)) for stamp in stamps)), None),
        **fields,
    )


def _case_draft(raw: RawText, index: LineIndex, suite: Suite, case: Case, tool: str) -> Draft:
    name = f"{case.classname}.{case.name}" if case.classname else case.name
    error = _error(case)
    status = case.status or "failure"
    observed = {
        "status": status,
        "seconds": _seconds(case.attributes),
        "error_type": error.error_type,
        "frames": list(error.frames),
        "causes": list(error.causes),
        "suite": dict(suite.counts),
    }
    return _draft(
        raw,
        index,
        suite,
        tool,
        case=case,
        attempt=name or "a test case",
        goal=test_in_words(case.name),
        result=in_short(error.error_type, error.message) or status,
        **label_of({"status": status}).fields,
        observations={key: value for key, value in observed.items() if value not in (None, [])},
        artifacts=artifacts_of(error.file, error.error_type, [bare_test(case.name) or name, tool]),
    )


def _suite_draft(raw: RawText, index: LineIndex, suite: Suite, tool: str) -> Draft:
    """Return the draft of a suite without a listed failure: unknown if it is cut off, failed if it counts failures."""
    counts, observed = suite.counts, dict(suite.counts)
    if suite.unlisted:
        judged = label_of({"failed": suite.unlisted})
        result = f"{suite.unlisted} failed; the report counts them and lists no case"
        observed["failed"] = suite.unlisted
    else:
        judged = label_of(None if suite.end is None else counts)
        result = ", ".join(f"{counts[key]} {key}" for key in ("passed", "skipped") if counts[key])
        took = _seconds(suite.attributes)
        observed |= ({} if took is None else {"seconds": took}) | ({"flaky": suite.flaky} if suite.flaky else {})
    return _draft(
        raw,
        index,
        suite,
        tool,
        attempt=suite.name or f"run {tool}",
        result=result,
        **judged.fields,
        observations=observed,
        artifacts=artifacts_of(None, None, [tool]),
    )


def _error(case: Case) -> Finding:
    """Return the error of a failed case, from its ``message``, its text, and its ``type`` if that is an error name."""
    text = "".join(case.text)[:KEPT]
    lines = [line for line in text.splitlines() if line.strip() and not _is_title(line, case)]
    said = [_PYTEST_SETUP.sub(r"\1", message).strip() for message in case.messages if message.strip()]
    said = [message for message in said if message.casefold() not in _LABELS] if lines else said
    parts = [_split_message(message) for message in said]
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
        given, first = _split_message("\n".join(lines).strip())
        words = told or block_message or (trace.message if trace else "") or first
        kind, file = kind or given, file or place
    elif kind is None and trace is None and lines and (placed := _PLACED.match(lines[0].strip())):
        words, file = f"{words}: {lines[0].strip()}" if placed[2] else words, file or placed[1]
    named = short_type(case.error_type.replace("\\", ".")) if case.error_type else ""
    trace = trace or Finding("junit", 0, 0)
    kind = kind or block_type or (named if is_error_name(named) else None) or trace.error_type
    file = file or trace.file or case.attributes.get("file")
    return replace(trace, message=words.strip(": "), error_type=kind, file=file)


def _is_title(line: str, case: Case) -> bool:
    """Return whether a line of a failure's text only names the test, as in PHPUnit and Jest."""
    names = (case.name, f"{case.classname}::{case.name}", f"{case.attributes.get('class')}::{case.name}")
    return line.strip().startswith("● ") or line.strip() in names


def _split_message(message: str) -> tuple[str | None, str]:
    """Return the type and text of a message: of a trace those of its error, else of its first line."""
    first = message.partition("\n")[0]
    if not first.startswith("Traceback (most recent call last)"):
        told = first.rpartition(" E   ")[2].strip()  # pytest's lines, made one
        kind, words = split_error(told)
        return (kind, words) if kind and is_error_name(kind) else (None, first)
    trace = _trace(message)
    if trace and trace.error_type:
        return trace.error_type, trace.message
    errors = [*_IN_ONE_LINE.finditer(message[:KEPT])]  # a parser has made blanks of its line ends
    if not errors:
        return split_error(first)
    return short_type(errors[-1][1]), message[errors[-1].end() : KEPT].strip()


def _trace(text: str) -> Finding | None:
    reading = LogParse(lines_of(RawText(text=text[:KEPT], recorded_at=_NEVER)))
    read_traces(reading)
    return reading.findings[-1] if reading.findings else None


def _seconds(attributes: Mapping[str, str]) -> float | None:
    given = attributes.get("time", "").replace(",", "")[:20]
    return float(given) if re.fullmatch(r"\d{1,9}(?:\.\d{0,9})?", given) else None
