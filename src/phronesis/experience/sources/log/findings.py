"""Findings of log parsers (failures, summaries and exit statuses), and the drafts built of them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.laws.outcome_labels import label_of
from phronesis.experience.sources.log.log_lines import Line

MAX_FRAMES: Final = 20
"""Stack frames that are kept, the innermost."""

_FOREIGN: Final = tuple(
    """
    site-packages dist-packages /lib/python <frozen <string> <stdin> node_modules node: (internal/ internal/ java.
    javax. jdk. sun. kotlin. org.junit org.opentest4j org.gradle org.apache.maven scala. org.scalatest. sbt. /rustc/
    /usr/local/go/ <anonymous> System. Microsoft.
    """.split()
)
_INSIDE: Final = tuple(
    """
    site-packages dist-packages /lib/python node_modules /rustc/ /usr/local/go/ /go/src/testing/ /go/src/runtime/
    /src/runtime/panic.go
    """.split()
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One failure, on the lines ``first`` to ``last`` (from 0, inclusive).

    ``test`` is the id of the failed test, ``status`` the tool's word, ``suite`` its suite (a package of Go). ``place``
    is the line of ``file``. ``follows``: it only reports a consequence of an earlier failure (``make: *** … Error 1``),
    and counts only if nothing else was found.
    """

    tool: str
    first: int
    last: int
    message: str = ""
    error_type: str | None = None
    file: str | None = None
    test: str | None = None
    status: str = "error"
    frames: Sequence[str] = ()
    causes: Sequence[str] = ()
    seconds: float | None = None
    follows: bool = False
    ran: str | None = None
    suite: str | None = None
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a suite on a line: passed, failed, errors, skipped, seconds."""

    tool: str
    line: int
    counts: Mapping[str, int | float]


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a command on a line: its exit code, or whether it succeeded; ``target`` is what was to be built."""

    line: int
    exit_code: int | None = None
    well: bool | None = None
    text: str = ""
    tool: str | None = None
    target: str | None = None


@dataclass(slots=True)
class LogParse:
    """The lines of a log, which of them were parsed, and the findings. Each parser adds to it."""

    lines: Sequence[Line]
    taken: bytearray = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    endings: list[CommandEnd] = field(default_factory=list)
    commands: dict[int, str] = field(default_factory=dict)
    facts: list[tuple[int, str]] = field(default_factory=list)
    tools: list[tuple[int, str]] = field(default_factory=list)
    targets: list[tuple[int, str]] = field(default_factory=list)
    warnings: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.taken = bytearray(len(self.lines))

    def text(self, n: int) -> str:
        """Return the content of a line; empty past the end."""
        return self.lines[n].text if 0 <= n < len(self.lines) else ""

    def take(self, first: int, last: int) -> None:
        """Mark lines as parsed: other parsers skip them."""
        self.taken[first : last + 1] = b"\1" * (last + 1 - first)

    def free(self, n: int) -> bool:
        """Return whether a line exists and has not been parsed."""
        return 0 <= n < len(self.lines) and not self.taken[n]

    def called(self, n: int, tool: str) -> None:
        """Note that a line shows a tool at work."""
        self.tools.append((n, tool))
        self.known.add(tool)

    def count(self, tool: str, n: int, counts: Mapping[str, int | float]) -> None:
        """Add the counts of a suite on a line."""
        self.summaries.append(Summary(tool, n, counts))

    def found(self, finding: Finding) -> None:
        """Add a finding and mark its lines."""
        self.findings.append(finding)
        self.take(finding.first, finding.last)


def short_type(name: str) -> str:
    """Return an error's name without its module or package."""
    return name.rpartition(".")[2] or name


def foreign(frame: str) -> bool:
    """Return whether a frame is in a library or the language runtime."""
    words = frame.removeprefix("at ").removeprefix("async ")
    return (
        words.startswith(_FOREIGN)
        or any(mark in words for mark in _INSIDE)
        or "(node:" in words
        or "(internal/" in words
    )


_PARAMETERS: Final = re.compile(r"\[.{0,300}\]\Z", re.DOTALL)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def bare_test(name: str) -> str:
    """Return a test's own name: without file, class, module and parameters."""
    name = _PARAMETERS.sub("", name[:600])
    if is_file(name):
        return name
    for mark in ("::", "."):
        if " " not in name and mark in name:
            own = name.rpartition(mark)[2]
            name = own if own and not own[0].isdigit() else name
    return name


def is_file(name: str) -> bool:
    """Return whether the failure is a whole test file that could not be loaded."""
    return name.endswith((".py", ".js", ".ts")) and "::" not in name


def test_in_words(name: str) -> str:
    """Return a test's name as words: ``test_total_adds_prices`` is "total adds prices"."""
    if is_file(name):
        return ""
    name = bare_test(name)
    for before in ("DISABLED_", "test_", "Test", "test"):
        if name.startswith(before) and len(name) > len(before):
            name = name[len(before) :]
            break
    return " ".join(_CAMEL.sub(" ", name.replace("_", " ").replace("/", " ")).lower().split())


# Drafts: one per failure, and one for what succeeded.

MAX_RESULT: Final = 300
"""Characters of a result: an error's type and the first line of its message."""

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


def in_short(error_type: str | None, message: str) -> str:
    """Return an error as ``Type: message``, in one line."""
    line = message.strip().partition("\n")[0].strip()
    words = f"{error_type}: {line}" if error_type and line else error_type or line
    return words[:MAX_RESULT]


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
    if one.ran:
        return f"run {one.ran}"
    what = next(iter(part.targets), one.file)
    if one.tool in _BUILDERS and what:
        return f"build {what}"
    return f"run {one.tool if one.tool in _BUILDERS or not part.tools else part.tools[0]}"


def _situation(part: Part, tool: str, *, command: str | None, suite: str | None = None) -> str:
    known = [*part.facts, *([f"package {suite}"] if suite else [])]
    if tool not in {"log", "shell", "ci"} and not any(fact.lower().startswith(tool.lower()) for fact in known):
        known.insert(0, tool)
    words = ", ".join(known)
    return f"{words}; ran: {command}" if command and words else words or (f"ran: {command}" if command else "")


def _artifacts_of(one: Finding, part: Part) -> list[Artifact]:
    out = [Artifact("file", one.file)] if one.file and not foreign(one.file) else []
    out += [Artifact("error_type", one.error_type)] if one.error_type else []
    out += [Artifact("concept", bare_test(one.test))] if one.test is not None and bare_test(one.test) else []
    return list(dict.fromkeys([*out, *(Artifact("concept", tool) for tool in _tools(part, one.tool))]))


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
        artifacts=[Artifact("concept", name) for name in tools],
        **_span_of(reading, part.first, last),
    )
