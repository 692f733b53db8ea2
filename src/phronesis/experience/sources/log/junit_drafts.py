"""Build drafts from JUnit XML reports in the dialects of pytest, Maven, Gradle, googletest, Catch2, Node and others.

A case fails by its ``failure`` or ``error`` element or by its status; a suite by its counts if it lists no case.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from phronesis.core.timestamps import FUTURE_TOLERANCE
from phronesis.experience.laws.event_draft import Artifact, Draft, is_error_name
from phronesis.experience.laws.outcome_labels import label_of
from phronesis.experience.sources.log.draft_building import in_short
from phronesis.experience.sources.log.findings import (
    Finding,
    LogParse,
    bare_test,
    lines_of,
    moment,
    short_type,
    test_in_words,
)
from phronesis.experience.sources.log.go_test import said_by_go
from phronesis.experience.sources.log.junit_xml import FORBIDDEN, KEPT, Case, RefusedError, Report, Suite
from phronesis.experience.sources.log.pytest_output import block_error, split_error
from phronesis.experience.sources.log.traces import read_traces
from phronesis.experience.sources.port import LineIndex, RawText

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
    own = None if case is None else _moment(raw, case.attributes)
    return Draft(
        situation=_situation(suite, tool),
        field_origin=dict.fromkeys(("situation", "attempt", "result", *(() if case is None else ("goal",))), "rule"),
        **index.place(begin, len(raw.text) if end is None else end),
        occurred_at=own or _moment(raw, suite.attributes),
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
    artifacts = [Artifact("file", error.file)] if error.file else []
    artifacts += [Artifact("error_type", error.error_type)] if error.error_type else []
    artifacts += [Artifact("concept", bare_test(case.name) or name), Artifact("concept", tool)]
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
        artifacts=list(dict.fromkeys(artifacts)),
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
        artifacts=[Artifact("concept", tool)],
    )


def _error(case: Case) -> Finding:
    """Return the error of a failed case, from its ``message``, its text, and its ``type`` if that is an error name."""
    text = "".join(case.text)[:KEPT]
    lines = [line for line in text.splitlines() if line.strip() and not _is_title(line, case)]
    said = [_PYTEST_SETUP.sub(r"\1", message).strip() for message in case.messages if message.strip()]
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
        "junit",
        0,
        0,
        message=words.strip(": "),
        error_type=kind
        or block_type
        or (named if is_error_name(named) else None)
        or (trace.error_type if trace else None),
        file=file or (trace.file if trace else None) or case.attributes.get("file"),
        frames=trace.frames if trace else (),
        causes=trace.causes if trace else (),
    )


def _is_title(line: str, case: Case) -> bool:
    """Return whether a line of a failure's text only names the test, as in PHPUnit and Jest."""
    bare = line.strip()
    return bare.startswith("● ") or bare in {
        case.name,
        f"{case.classname}::{case.name}",
        f"{case.attributes.get('class')}::{case.name}",
    }


def _typed(message: str) -> tuple[str | None, str]:
    """Return the type and text of a message: of a trace those of its error, else of its first line."""
    first = message.partition("\n")[0]
    if not first.startswith("Traceback (most recent call last)"):
        told = first.rpartition(" E   ")[2].strip()  # pytest's lines, made one
        kind, words = split_error(told)
        return (kind, words) if kind and is_error_name(kind) else (None, first)
    trace = _trace(message)
    if trace and trace.error_type:
        return trace.error_type, trace.message
    last = None
    for match in _IN_ONE_LINE.finditer(message[:KEPT]):  # a parser has made blanks of its line ends
        last = match
    return (short_type(last[1]), message[last.end() : KEPT].strip()) if last else split_error(first)


def _trace(text: str) -> Finding | None:
    reading = LogParse(lines_of(RawText(text=text[:KEPT], recorded_at=_NEVER)))
    read_traces(reading)
    return reading.findings[-1] if reading.findings else None


def _situation(suite: Suite, tool: str) -> str:
    name = f"suite {suite.name}" if suite.name and suite.name != tool else ""
    return ", ".join(word for word in (tool, name, *suite.facts) if word)


def _seconds(attributes: Mapping[str, str]) -> float | None:
    given = attributes.get("time", "").replace(",", "")[:20]
    return float(given) if re.fullmatch(r"\d{1,9}(?:\.\d{0,9})?", given) else None


def _moment(raw: RawText, attributes: Mapping[str, str]) -> Any:
    told = moment(attributes["timestamp"]) if attributes.get("timestamp") else None
    return told if told is not None and told - raw.recorded_at <= FUTURE_TOLERANCE else None
