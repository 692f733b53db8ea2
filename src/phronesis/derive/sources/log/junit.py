"""Reports of tests in JUnit's XML, as pytest, Maven, Gradle and googletest write them.

A document type is refused, and with it every entity that a document could define: no file is opened, nothing grows. A
report that breaks off gives the test cases before that place.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from xml.parsers import expat

from phronesis.core.experience.drafts import Artifact, Draft
from phronesis.core.experience.labelling import label_of
from phronesis.core.instants import FUTURE_TOLERANCE
from phronesis.derive.sources.log.drafting import in_short
from phronesis.derive.sources.log.findings import Finding, Reading, bare_test, short_type, test_in_words
from phronesis.derive.sources.log.lines import lines_of, moment
from phronesis.derive.sources.log.pytest_output import block_error, typed
from phronesis.derive.sources.log.traces import read_traces
from phronesis.derive.sources.places import LineIndex
from phronesis.derive.sources.port import Raw

_HEAD: Final = 2_000
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KEPT: Final = 20_000
"""Characters of a failure's text that are looked at."""

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_PYTEST_SETUP: Final = re.compile(r'failed on (?:setup|teardown) with "(.*)"\Z', re.DOTALL)
_FAILED: Final = ("failure", "error", "rerunFailure")
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
    message: str = ""
    error_type: str | None = None
    text: list[str] = field(default_factory=list)
    kept: int = 0


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


def is_junit(text: str) -> bool:
    """Tell whether a text is such a report by how it begins."""
    head = text[:_HEAD].lstrip("\ufeff \t\r\n")
    return head.startswith("<") and ("<testsuite" in head or "<!DOCTYPE" in head)


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
        elif suite.counts["tests"]:
            out.append(_suite_draft(raw, index, suite, pytest=pytest))
    return out


class _Report:
    """Walks over a report and keeps what its suites and cases say."""

    def __init__(self, text: str) -> None:
        self.suites: list[_Suite] = []
        self.name = ""
        self._data = text.removeprefix("\ufeff").encode()
        self._shift = len(text) - len(text.removeprefix("\ufeff"))
        self._open: list[_Suite] = []
        self._case: _Case | None = None
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
            return

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

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "testsuites":
            self.name = attributes.get("name", "")
        elif name == "testsuite":
            suite = _Suite(attributes.get("name", ""), attributes, self._here())
            self.suites.append(suite)
            self._open.append(suite)
        elif name == "testcase" and self._open:
            self._case = _Case(attributes.get("name", ""), attributes.get("classname", ""), attributes, self._here())
        elif name == "property" and self._open:
            self._property(attributes)
        elif self._case is not None and name in (*_FAILED, "skipped"):
            self._inside = name
            if self._case.status is None:
                self._case.status = "failure" if name == "rerunFailure" else name
                self._case.message = attributes.get("message", "")
                self._case.error_type = attributes.get("type") or None

    def _property(self, attributes: Mapping[str, str]) -> None:
        before = _VERSIONS.get(attributes.get("name", ""))
        if before is not None and len(self._open[-1].facts) < len(_VERSIONS):
            self._open[-1].facts.append(f"{before} {attributes.get('value', '')[:60]}".strip())

    def _characters(self, text: str) -> None:
        if self._case is not None and self._inside in _FAILED and self._case.kept < _KEPT:
            self._case.text.append(text[:_KEPT])
            self._case.kept += len(text)

    def _end(self, name: str) -> None:
        if name == self._inside:
            self._inside = ""
        elif name == "testcase" and self._case is not None:
            case, self._case = self._case, None
            self._counted(case)
        elif name == "testsuite" and self._open:
            self._open.pop().end = self._here(after=True)

    def _counted(self, case: _Case) -> None:
        suite = self._open[-1]
        notrun = case.attributes.get("status") in {"notrun", "disabled"} or case.attributes.get("result") == "skipped"
        status = case.status or ("skipped" if notrun else None)
        name = {"failure": "failed", "error": "errors", "skipped": "skipped"}.get(status or "", "passed")
        suite.counts["tests"] += 1
        suite.counts[name] += 1
        if status in {"failure", "error"}:
            case.end = self._here(after=True)
            suite.failing.append(case)


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
    """Give the error of a failing case: from its text, its ``type`` and its ``message``."""
    text = "".join(case.text)[:_KEPT]
    setup = _PYTEST_SETUP.match(case.message)
    message = setup[1] if setup else case.message
    first = message.strip().partition("\n")[0]
    kind, words = typed(first) if first else (None, "")
    named = short_type(case.error_type) if case.error_type else None
    block_type, block_message, file = block_error(text.splitlines())
    reading = Reading(lines_of(Raw(text=text, recorded_at=_NEVER)))
    read_traces(reading)
    trace = reading.findings[-1] if reading.findings else None
    return Finding(
        tool="junit", first=0, last=0,
        message=words or block_message or (trace.message if trace else "") or text.strip().partition("\n")[0],
        error_type=kind or block_type or named or (trace.error_type if trace else None),
        file=file or (trace.file if trace else None) or case.attributes.get("file"),
        frames=trace.frames if trace else (), causes=trace.causes if trace else (),
    )  # fmt: skip


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
        observations={**counts, **({"seconds": took} if (took := _seconds(suite.attributes)) is not None else {})},
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
