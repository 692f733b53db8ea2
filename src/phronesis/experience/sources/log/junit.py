"""Parse JUnit XML, in the dialects of pytest, Maven, Gradle, googletest, Catch2, Node and others, into drafts.

A document type declaration is refused, and with it all entities. A suite that lists no case fails by its counts.
"""

import re
from collections.abc import Iterator, Mapping
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
from phronesis.experience.sources.log.go_test import parse_failed_test_output
from phronesis.experience.sources.log.traces import block_error, read_traces, split_error
from phronesis.experience.sources.port import LineIndex, RawText

KEPT: Final = 20_000
"""Characters of a failure's text that are kept."""

_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_BLANK: Final = "\ufeff \t\r\n"
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

SUITES: Final = ("testsuites", "testsuite")
_VERSIONS: Final = {"java.version": "java", "python.version": "Python", "os.name": "", "node.version": "node"}


class RefusedError(Exception):
    """The document has a document type declaration."""


@dataclass(slots=True)
class Element:
    """An element of a report: its span in the text (``end`` is None if it is cut off), and the text inside it."""

    tag: str
    attributes: Mapping[str, str]
    above: "Element | None"
    begin: int
    end: int | None = None
    children: list["Element"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    kept: int = 0
    holder: "Element | None" = None
    """The failure or output that has the text: the element itself, or one around it."""


@dataclass(slots=True)
class Case:
    """A test case: its status, and the text of its failures."""

    name: str
    classname: str
    element: Element
    status: str | None = None
    messages: list[str] = field(default_factory=list)
    error_type: str | None = None
    text: str = ""
    output: str = ""

    def add_fault(self, fault: Element) -> None:
        """Add a failure; it takes precedence over skipped."""
        if self.status in {None, "skipped"}:
            self.status = "error" if fault.tag.lower().endswith("error") else "failure"
            self.error_type = fault.attributes.get("type") or None
        self.messages.append(fault.attributes.get("message", ""))
        self.text += "".join(fault.texts)


@dataclass(slots=True)
class Suite:
    """A suite: ``listed`` counts its failed cases, ``unlisted`` the failures that it counts without a case."""

    name: str
    element: Element
    counts: dict[str, Any] = field(
        default_factory=lambda: dict.fromkeys(("tests", "passed", "failed", "errors", "skipped"), 0)
    )
    facts: list[str] = field(default_factory=list)
    failing: list[Case] = field(default_factory=list)
    flaky: int = 0
    listed: int = 0
    unlisted: int = 0

    def add_case(self, case: Case) -> None:
        """Count a case."""
        name = {"failure": "failed", "error": "errors", "skipped": "skipped"}.get(case.status or "", "passed")
        self.counts["tests"] += 1
        self.counts[name] += 1
        if name in {"failed", "errors"}:
            self.listed += 1
            self.failing.append(case)


class Report:
    """The elements of a report in document order, as far as it is well-formed. RefusedError: it has a document type."""

    def __init__(self, text: str) -> None:
        self.elements: list[Element] = []
        self.broken = False
        bare = text.lstrip(_BLANK)
        self._data = _FORBIDDEN.sub(" ", bare).encode()
        self._shift = len(text) - len(bare)
        self._open: list[Element] = []
        self._seen = (0, 0)
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(self._data, True)
        except expat.ExpatError:
            self.broken = True

    @property
    def root(self) -> str:
        """The name of the first element."""
        return self.elements[0].tag

    def _refuse(self, *_declared: object) -> None:
        raise RefusedError

    def _position(self, byte: int) -> int:
        """Return the position of a byte in characters."""
        before, characters = self._seen
        if byte >= before:  # places only go forward: each byte is decoded once
            characters += len(self._data[before:byte].decode(errors="ignore"))
            self._seen = (byte, characters)
        return characters + self._shift

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        above = self._open[-1] if self._open else None
        begin = self._position(self._parser.CurrentByteIndex)
        one = Element(tag.rpartition(":")[2], attributes, above, begin)
        one.holder = above.holder if above else None
        if one.holder is None and one.tag in (*_FAILED, *_OUTPUT):
            one.holder = one
        if above is not None:
            above.children.append(one)
        self.elements.append(one)
        self._open.append(one)

    def _end(self, _tag: str) -> None:
        one, byte = self._open.pop(), self._parser.CurrentByteIndex
        is_bare = one is self.elements[-1] and self._data[byte - 2 : byte] == b"/>"  # then the parser is behind it
        one.end = self._position(byte if is_bare else self._data.find(b">", byte) + 1)

    def _characters(self, text: str) -> None:
        holder = self._open[-1].holder
        if holder is not None and holder.kept < KEPT:
            holder.texts.append(text[:KEPT])
            holder.kept += len(text)


def read_xml(text: str) -> Report | None:
    """Return the elements of a text that begins as XML; None for other texts. RefusedError: it has a document type."""
    report = Report(text) if text.lstrip(_BLANK).startswith("<") else None
    return report if report is not None and report.elements else None


def suites_of(report: Report) -> list[Suite]:
    """Return the suites of a report with their cases; cases may also stand outside of every suite."""
    suites = {id(one): _suite(one) for one in report.elements if one.tag in SUITES}
    for suite in reversed(suites.values()):  # what is inside comes first
        declared = [suite.element.attributes.get(name, "") for name in ("failures", "errors")]
        suite.unlisted = 0 if suite.listed else sum(int(one) for one in declared if re.fullmatch(r"\d{1,9}", one))
        if (around := suites.get(id(suite.element.above))) is not None:
            around.listed += suite.listed + suite.unlisted
    return list(suites.values())


def _suite(element: Element) -> Suite:
    suite = Suite(element.attributes.get("name", ""), element)
    for one in element.children:
        if one.tag == "properties":
            versions = [(_VERSIONS.get(each.attributes.get("name", "")), each) for each in one.children]
            said = [f"{name} {each.attributes.get('value', '')[:60]}" for name, each in versions if name is not None]
            suite.facts += [fact.strip() for fact in said[: len(_VERSIONS)]]
        elif one.tag in _OUTPUT and len(suite.failing) == 1:
            suite.failing[0].output += "".join(one.texts)  # Bazel puts a test's output behind its one case
        elif one.tag in _FAILED and one.end is not None:  # of the whole suite
            case = Case(suite.name, "", one)
            case.add_fault(one)
            suite.add_case(case)
        elif one.tag == "testcase" and one.end is not None:
            suite.flaky += any(part.tag in _FLAKY for part in _inside(one))
            suite.add_case(_case(one))
    return suite


def _inside(element: Element) -> Iterator[Element]:
    """Yield the elements in a case, at any depth: some tools put ``<failures>`` around them. Text of theirs is read."""
    for one in element.children:
        yield one
        if one.holder is None:
            yield from _inside(one)


def _case(element: Element) -> Case:
    given = element.attributes
    case = Case(given.get("name", ""), given.get("classname", ""), element)
    for part in _inside(element):
        if part.tag in _FAILED:
            case.add_fault(part)
        elif part.tag in _OUTPUT:
            case.output += "".join(part.texts)
        elif part.tag == "skipped":
            case.status = case.status or "skipped"
    told = (_STATUS.get(given.get(name, "").lower()) for name in ("status", "result"))
    case.status = case.status or next((one for one in told if one), None)
    return case


_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PYTEST_SETUP: Final = re.compile(r'\Afailed on (?:setup|teardown) with "(.*)"\Z', re.DOTALL)
_MESSAGES: Final = 3
_PLACED: Final = re.compile(r"((?:[A-Za-z]:)?[\w./\\@-]{1,200}\.\w{1,8}):\d{1,9}(?::\d{1,9})?:? ?(.*)\Z")
_LABELS: Final = frozenset({"failed", "failure", "error", "fail", "test failed", "test failure", "assertion failed"})
"""Messages that only repeat the element's name; the text then has the message."""

_IN_ONE_LINE: Final = re.compile(r"\b((?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Warning))\b:? ?")


def read_junit(raw: RawText, report: Report) -> list[Draft]:
    """Return a draft for each failed case, and one for each suite without failures."""
    index, suites = LineIndex(raw.text), suites_of(report)
    by_pytest = any(one.name.startswith("pytest") for one in suites[:1] if one.element.tag == "testsuites")
    out: list[Draft] = []
    for suite in suites:
        tool = "pytest" if by_pytest or suite.name == "pytest" else "junit"
        out += [_case_draft(raw, index, suite, case, tool) for case in suite.failing]
        if suite.unlisted or (suite.counts["tests"] and not suite.listed):
            out.append(_suite_draft(raw, index, suite, tool))
    return out


def _draft(
    raw: RawText, index: LineIndex, suite: Suite, tool: str, *, case: Case | None = None, **fields: Any
) -> Draft:
    """Return the draft of a failed case, or of a suite."""
    element = suite.element if case is None else case.element
    name = [f"suite {suite.name}"] if suite.name and suite.name != tool else []
    stamps = [one.attributes.get("timestamp", "") for one in (element, suite.element)]
    return Draft(
        situation=", ".join(filter(None, [tool, *name, *suite.facts])),
        field_origin=dict.fromkeys(("situation", "attempt", "result", *(() if case is None else ("goal",))), "rule"),
        **index.place(element.begin, len(raw.text) if element.end is None else element.end),
        occurred_at=next(filter(None, (raw.past(moment(stamp)) for stamp in stamps)), None),
        **fields,
    )


def _case_draft(raw: RawText, index: LineIndex, suite: Suite, case: Case, tool: str) -> Draft:
    name = f"{case.classname}.{case.name}" if case.classname else case.name
    error = _error(case)
    status = case.status or "failure"
    observed = {
        "status": status,
        "seconds": _seconds(case.element),
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
        judged = label_of(None if suite.element.end is None else counts)
        result = ", ".join(f"{counts[key]} {key}" for key in ("passed", "skipped") if counts[key])
        took = _seconds(suite.element)
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
    text = case.text[:KEPT]
    lines = [line for line in text.splitlines() if line.strip() and not _is_title(line, case)]
    said = [_PYTEST_SETUP.sub(r"\1", message).strip() for message in case.messages if message.strip()]
    said = [message for message in said if message.casefold() not in _LABELS] if lines else said
    parts = [_split_message(message) for message in said]
    kind = next((kind for kind, _ in parts if kind), None)
    words = "; ".join(dict.fromkeys(message for _, message in parts[:_MESSAGES] if message))
    trace = _trace("\n".join([*said, text]))
    if trace is None and not lines and kind is None:
        trace = _trace(case.output)
        words = trace.message if trace and trace.error_type else words
    block_type, block_message, file = block_error([*"\n".join(said).splitlines(), *text.splitlines()])
    if kind is None and block_type and block_message:
        words = block_message
    place, told = parse_failed_test_output(lines)
    if not words:
        given, first = _split_message("\n".join(lines).strip())
        words = told or block_message or (trace.message if trace else "") or first
        kind, file = kind or given, file or place
    elif kind is None and trace is None and lines and (placed := _PLACED.match(lines[0].strip())):
        words, file = f"{words}: {lines[0].strip()}" if placed[2] else words, file or placed[1]
    named = short_type(case.error_type.replace("\\", ".")) if case.error_type else ""
    trace = trace or Finding("junit", 0, 0)
    kind = kind or block_type or (named if is_error_name(named) else None) or trace.error_type
    file = file or trace.file or case.element.attributes.get("file")
    return replace(trace, message=words.strip(": "), error_type=kind, file=file)


def _is_title(line: str, case: Case) -> bool:
    """Return whether a line of a failure's text only names the test, as in PHPUnit and Jest."""
    names = (case.name, f"{case.classname}::{case.name}", f"{case.element.attributes.get('class')}::{case.name}")
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


def _seconds(element: Element) -> float | None:
    given = element.attributes.get("time", "").replace(",", "")[:20]
    return float(given) if re.fullmatch(r"\d{1,9}(?:\.\d{0,9})?", given) else None
