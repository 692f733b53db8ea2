"""The source ``log``: detect the kind of output, run the parsers for it, and build drafts of what they find."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.laws.outcome_labels import label_of
from phronesis.experience.sources.log.build_tools import read_compilers, read_sbt
from phronesis.experience.sources.log.commands import read_commands, read_endings, replace_error_records
from phronesis.experience.sources.log.findings import (
    MAX_FRAMES,
    MAX_RESULT,
    CommandEnd,
    Finding,
    LogParse,
    artifacts_of,
    bare_test,
    in_short,
    is_library_frame,
    lines_of,
    test_in_words,
)
from phronesis.experience.sources.log.go_test import event_lines, read_go_test
from phronesis.experience.sources.log.junit import SUITES, RefusedError, read_junit, read_xml, suites_of
from phronesis.experience.sources.log.test_runners import read_javascript_tests, read_mocha, read_suites
from phronesis.experience.sources.log.traces import read_pytest, read_traces
from phronesis.experience.sources.port import RawText, Source, load_json, storable_drafts

_BUILDERS: Final = frozenset(
    "gcc clang cl javac rustc tsc go compiler linker cmake swiftc kotlinc scalac csc ghc".split()
)
"""Tools that build the files they report on."""

_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]{1,16}|\d{1,20}")
_TOOL_WORDS: Final = frozenset(
    """
    pytest unittest cargo npm pip make go node mvn gradle tsc rustc gcc docker git ruff flake8 pylint eslint mypy clang
    javac java cmake jest vitest
    """.split()
)
_BY_RULE: Final[dict[str, Any]] = dict.fromkeys(("situation", "goal", "attempt", "result"), "rule")


@dataclass(slots=True)
class Part:
    """The lines from one command up to the next, with their findings in line order."""

    first: int
    end: int
    command: str | None
    errors: list[Finding] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)
    """The sums of its summaries."""
    suites: list[str] = field(default_factory=list)
    """The tools of its summaries."""
    endings: list[CommandEnd] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    warnings: int = 0

    @property
    def exit_code(self) -> int | None:
        """The last exit code in the part."""
        return next((one.exit_code for one in reversed(self.endings) if one.exit_code is not None), None)

    @property
    def goal(self) -> str:
        """What was to be built."""
        return f"build {self.targets[0]}" if self.targets else ""


def drafts_of(reading: LogParse) -> Iterator[Draft]:
    """Yield the drafts of a log in line order."""
    for part in _parts(reading):
        errors = [one for one in part.errors if not one.follows] or part.errors[:1]
        groups: dict[tuple[Any, ...], list[Finding]] = {}
        for one in errors:
            groups.setdefault(_identity_of(one), []).append(one)
        for same in groups.values():
            yield _failure(reading, part, same)
        if not errors and (part.suites or part.endings or part.command is not None or part.facts or part.tools):
            yield _draft_of_part(reading, part)


def _parts(reading: LogParse) -> list[Part]:
    """Return the parts of a log, split at commands and at repeated test sessions."""
    marks = sorted(reading.commands)
    starts = pairwise(reading.starts)  # a session after another one that no command separates from it
    again = [start for before, start in starts if bisect_left(marks, before) == bisect_left(marks, start)]
    bounds = sorted({0, *marks, *again})
    ends = [*bounds[1:], len(reading.lines)]
    parts = [Part(start, end, reading.commands.get(start)) for start, end in zip(bounds, ends, strict=True)]

    def at(line: int) -> Part:
        return parts[bisect_right(bounds, line) - 1]

    for error in sorted(reading.findings, key=lambda one: one.first):
        at(error.first).errors.append(error)
    for summary in sorted(reading.summaries, key=lambda one: one.line):
        part = at(summary.line)
        part.suites.append(summary.tool)
        for name, count in summary.counts.items():
            part.counts[name] = round(part.counts.get(name, 0) + count, 3)
    for ending in sorted(reading.endings, key=lambda one: one.line):
        at(ending.line).endings.append(ending)
    for kind in ("facts", "tools", "targets"):
        for line, words in sorted(getattr(reading, kind), key=lambda one: one[0]):
            known = getattr(at(line), kind)
            if words not in known:
                known.append(words)
    for line in reading.warnings:
        at(line).warnings += 1
    return parts


def _identity_of(one: Finding) -> tuple[Any, ...]:
    """Return the key by which two findings are the same error: all but numbers and the line."""
    if one.test is not None:
        return ("test", one.tool, one.suite, one.test)
    return (one.tool, one.suite, one.error_type, one.file, _NUMBER.sub("#", one.message[:MAX_RESULT]))


def _failure(reading: LogParse, part: Part, same: Sequence[Finding]) -> Draft:
    one = same[0]
    places = {found.place for found in same}
    count = len(same) if None in places else len(places)  # Maven tells each error twice
    observed = {
        "status": one.status if one.test is not None else None,
        "error_type": one.error_type,
        "exit_code": part.exit_code,
        "seconds": one.seconds,
        "frames": list(one.frames[:MAX_FRAMES]),
        "causes": list(one.causes),
        "line": one.place,
        "count": count if count > 1 else None,
        "warnings": part.warnings or None,
        "suite": part.counts or None,
    }
    result = in_short(one.error_type, one.message)
    if one.test is not None:
        judged = label_of({"status": one.status, "exit_code": part.exit_code or None})
        attempt, goal = one.test, test_in_words(one.test)
    else:
        said = {"exit_code": part.exit_code, "error_type": one.error_type}
        judged = label_of([said, {"error": None if one.error_type else result}])
        attempt, goal = part.command or _did(one, part), part.goal
    command = part.command if one.test is not None else None
    return Draft(
        attempt=attempt,
        situation=_situation(part, one.tool, command=command, suite=one.suite),
        goal=goal,
        result=result or one.status,
        **judged.fields,
        field_origin=_BY_RULE,
        observations={name: value for name, value in observed.items() if value not in (None, [])},
        artifacts=_artifacts_of(one, part),
        **_span_of(reading, one.first, one.last),
    )


def _span_of(reading: LogParse, first: int, last: int) -> dict[str, Any]:
    """Return the span of lines in the source, and the time of the first."""
    begin, end = reading.lines[first], reading.lines[last]
    if end.number < begin.number:  # the reader put the lines in another order: ``go test -json``
        begin, end = end, begin
    return {"lines": (begin.number + 1, end.number + 1), "span": (begin.start, end.end), "occurred_at": begin.at}


def _did(one: Finding, part: Part) -> str:
    """Return what was done, if the log does not show the command."""
    builds, what = one.tool in _BUILDERS, next(iter(part.targets), one.file)
    if builds and what and not one.ran:
        return f"build {what}"
    return f"run {one.ran or (one.tool if builds or not part.tools else part.tools[0])}"


def _situation(part: Part, tool: str, *, command: str | None, suite: str | None = None) -> str:
    known = [*part.facts, *([f"package {suite}"] if suite else [])]
    if tool not in {"log", "shell", "ci"} and not any(fact.lower().startswith(tool.lower()) for fact in known):
        known.insert(0, tool)
    words = ", ".join(known)
    return f"{words}; ran: {command}" if command and words else words or (f"ran: {command}" if command else "")


def _artifacts_of(one: Finding, part: Part) -> list[Artifact]:
    test = [] if one.test is None else [bare_test(one.test)]
    file = one.file if one.file and not is_library_frame(one.file) else None
    return artifacts_of(file, one.error_type, [*test, *_tools(part, one.tool)])


def _tools(part: Part, tool: str | None) -> list[str]:
    words = (part.command or "").replace("-m ", "").split()[:3]
    first = next((word for word in words if word in _TOOL_WORDS), None)
    named = [tool, *part.tools[:3], *(end.tool for end in part.endings)]
    vague = {"log", "shell", "ci", *(("linter", "compiler") if first else ())}
    if tool is None or tool in vague:
        named = [first, *named]
    return list(dict.fromkeys(name for name in named if name and name not in vague))


def _draft_of_part(reading: LogParse, part: Part) -> Draft:
    """Return the draft of a command, suite or build in which no single error was found."""
    endings = [end for end in part.endings if end.well is not None or end.exit_code is not None]
    said: list[Mapping[str, Any]] = [part.counts, {"exit_code": part.exit_code}]
    said += [{"status": "success" if end.well else "failure"} for end in endings[-1:] if end.well is not None]
    observed = {**part.counts, "exit_code": part.exit_code, "warnings": part.warnings or None}
    tool = part.suites[-1] if part.suites else next((end.tool for end in endings if end.tool), None)
    tools = _tools(part, tool)
    told = [
        f"{part.counts[name]} {name}" for name in ("failed", "errors", "passed", "skipped") if part.counts.get(name)
    ]
    result = ", ".join(told) or (endings[-1].text if endings else "")
    last = next((n for n in range(part.end - 1, part.first, -1) if reading.text(n).strip()), part.first)
    return Draft(
        attempt=part.command or (f"run {tools[0]}" if tools else "run the command"),
        situation=_situation(part, tools[0], command=None) if tools else ", ".join(part.facts),
        goal=part.goal,
        result=result[:MAX_RESULT],
        **label_of(said).fields,
        field_origin=_BY_RULE,
        observations={name: value for name, value in observed.items() if value is not None},
        artifacts=artifacts_of(None, None, tools),
        **_span_of(reading, part.first, last),
    )


_READERS: Final = (
    read_sbt,
    read_commands,
    read_pytest,
    read_suites,
    read_go_test,
    read_mocha,
    read_javascript_tests,
    read_traces,
    read_compilers,
    read_endings,
)
"""The parsers in order: later ones skip what earlier ones have read. A failing test's block includes its stack
trace."""


class LogSource(Source):
    """Reads program output: test reports, consoles, stack traces, compilers, builds."""

    source_type = "log"
    version = "log/4"

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return a draft per failing test and distinct error, one for what succeeded, none for prose."""
        try:
            report = read_xml(raw.text)
        except RefusedError:
            return []
        if report is not None and report.root in SUITES:
            return storable_drafts(read_junit(raw, report))
        reading = LogParse(replace_error_records(event_lines(raw, lines_of(raw))))
        for read in _READERS:
            read(reading)
        return storable_drafts(drafts_of(reading))

    def refusal(self, raw: RawText) -> str:
        """Return why a text cannot be read: it is another kind of report."""
        found = foreign_format(raw.text)
        return f"{found}, which the source 'log' does not read; {REMEDY}" if found else ""


_ROOTS: Final = {
    "assemblies": "a report of xUnit.net",
    "test-run": "a report of NUnit 3",
    "test-results": "a report of NUnit 2",
    "TestRun": "a report of Visual Studio (.trx)",
    "checkstyle": "a report of Checkstyle",
    "html": "a page in HTML",
    "coverage": "a report of coverage",
}
_BROKEN: Final = "JUnit XML that is not well-formed and lists no case before its fault"
REMEDY: Final = "give JUnit XML without a document type (<testsuites>), 'go test -json', or the console's output"


def foreign_format(text: str) -> str:
    """Return the name of a text's format; empty where the source may read it."""
    try:
        report = read_xml(text)
    except RefusedError:
        return "XML or HTML with a document type, which may define entities"
    if report is not None and report.root in SUITES:
        lists = any(suite.counts["tests"] or suite.unlisted for suite in suites_of(report))
        return "" if lists or not report.broken else _BROKEN
    if report is not None:
        declared = text.lstrip("\ufeff \t\r\n").startswith(("<?xml", "<!"))
        return _ROOTS.get(report.root, f"XML whose first element is <{report.root:.40}>" if declared else "")
    value = load_json(text)  # reports of mocha, Jest, ESLint … have no lines
    event = isinstance(value, Mapping) and "Action" in value  # one line of ``go test -json``
    return "one JSON document" if value and not event else ""
