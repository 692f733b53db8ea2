"""Parse JUnit XML into suites and cases.

A document type declaration is refused, and with it all entities: no file is opened and no entity is expanded.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat

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


_PROLOG: Final = re.compile(r"\s+|<\?[^>]{0,2000}>|<!--")
_ROOT: Final = re.compile(r"<(!DOCTYPE|(?:[\w.-]{1,60}:)?[A-Za-z][\w.-]{0,80})")


def root_of(text: str) -> str:
    """Return the first element's name without prefix, or ``!DOCTYPE``; empty for other texts."""
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
    """Return whether a text is a JUnit report by its first element."""
    return root_of(text) in {"testsuites", "testsuite"}


def is_broken(text: str) -> bool:
    """Return whether a report is not well-formed and contains no test before the error."""
    report = Report(FORBIDDEN.sub(" ", text))
    try:
        report.parse()
    except RefusedError:
        return False
    return report.broken and not any(suite.counts["tests"] or suite.unlisted for suite in report.suites)


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
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
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
                self._closed(self._open.pop())

    def _refuse(self, *_declared: object) -> None:
        raise RefusedError

    def _here(self, *, after: bool = False) -> int:
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
            self._top = Suite(self.name, attributes, self._here())
            self._open.append(self._top)  # cases may stand here, outside of every suite
        elif name in {"testsuite", "testsuites"}:
            suite = Suite(attributes.get("name", ""), attributes, self._here())
            self.suites.append(suite)
            self._open.append(suite)
        elif name == "testcase" and self._open:
            self._case = Case(attributes.get("name", ""), attributes.get("classname", ""), attributes, self._here())
        elif name == "property" and self._open:
            self._property(attributes)
        elif name in _FAILED and self._case is None and self._open:  # of a whole suite
            self._case = Case(self._open[-1].name, "", {}, self._here())
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

    def _counted(self, case: Case) -> None:
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

    def _closed(self, suite: Suite) -> None:
        """Record failures that a suite counts without listing them, less those of nested suites."""
        declared = sum(_number(suite.attributes.get(name)) for name in ("failures", "errors"))
        suite.unlisted = 0 if suite.listed else declared
        if self._open:
            self._open[-1].listed += suite.listed + suite.unlisted
        if suite is self._top and (suite.counts["tests"] or suite.unlisted):
            self.suites.insert(0, suite)


def _number(given: str | None) -> int:
    return int(given) if given and re.fullmatch(r"\d{1,9}", given) else 0
