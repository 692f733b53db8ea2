"""Build drafts from the findings in a log: one per failure, and one for what succeeded."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Generic, TypeVar

from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.laws.outcome_labels import label_of
from phronesis.experience.sources.log.findings import (
    MAX_FRAMES,
    CommandEnd,
    Finding,
    LogParse,
    Summary,
    bare_test,
    foreign,
    test_in_words,
)

MAX_RESULT: Final = 300
"""Characters of a result: an error's type and the first line of its message."""

_BUILDERS: Final = frozenset(
    """
    gcc clang cl javac rustc tsc go compiler linker cmake swiftc kotlinc scalac csc ghc
    """.split()
)
"""Tools that build the files they report on."""

T = TypeVar("T")

_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]{1,16}|\d{1,20}")
_TOOL_WORDS: Final = frozenset(
    (
        *("pytest", "unittest", "cargo", "npm", "pip", "make", "go", "node", "mvn", "gradle", "tsc", "rustc", "gcc"),
        *("docker", "git", "ruff", "flake8", "pylint", "eslint", "mypy", "clang", "javac", "java", "cmake", "jest"),
        "vitest",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The lines from one command to the next, with their findings."""

    first: int
    last: int
    command: str | None
    errors: Sequence[Finding]
    summaries: Sequence[Summary]
    endings: Sequence[CommandEnd]
    facts: Sequence[str]
    tools: Sequence[str]
    target: str | None
    warnings: int

    @property
    def exit_code(self) -> int | None:
        """The last exit code in the part."""
        return next((one.exit_code for one in reversed(self.endings) if one.exit_code is not None), None)


def drafts_of(reading: LogParse) -> Iterator[Draft]:
    """Yield the drafts of a log in line order."""
    for part in _parts(reading):
        yield from _of_part(reading, part)


def in_short(error_type: str | None, message: str) -> str:
    """Return an error as ``Type: message``, in one line."""
    line = message.strip().partition("\n")[0].strip()
    words = f"{error_type}: {line}" if error_type and line else error_type or line
    return words[:MAX_RESULT]


def _parts(reading: LogParse) -> Iterator[Part]:
    """Yield the parts of a log, split at commands and at repeated test sessions."""
    marks = sorted(reading.commands)
    bounds = sorted({0, *marks, *_sessions(reading.starts, marks)})
    errors = _LineIndex(reading.findings, lambda one: one.first)
    summaries = _LineIndex(reading.summaries, lambda one: one.line)
    endings = _LineIndex(reading.endings, lambda one: one.line)
    facts, tools, targets = (
        _LineIndex(said, lambda one: one[0]) for said in (reading.facts, reading.tools, reading.targets)
    )
    warnings = _LineIndex(reading.warnings, lambda n: n)
    for start, end in zip(bounds, [*bounds[1:], len(reading.lines)], strict=True):
        built = targets.between(start, end)
        yield Part(
            first=start,
            last=_last_line(reading, start, end),
            command=reading.commands.get(start),
            errors=errors.between(start, end),
            summaries=summaries.between(start, end),
            endings=endings.between(start, end),
            facts=_distinct(facts.between(start, end)),
            tools=_distinct(tools.between(start, end)),
            target=built[0][1] if built else None,
            warnings=len(warnings.between(start, end)),
        )


class _LineIndex(Generic[T]):
    """Objects ordered by line, with lookup by range."""

    def __init__(self, things: Sequence[T], line: Callable[[T], int]) -> None:
        self._things = sorted(things, key=line)
        self._lines = [line(one) for one in self._things]

    def between(self, start: int, end: int) -> list[T]:
        """Return the objects on lines from ``start`` to before ``end``."""
        return self._things[bisect_left(self._lines, start) : bisect_left(self._lines, end)]


def _distinct(said: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words for _, words in said))


def _sessions(starts: Sequence[int], marks: Sequence[int]) -> list[int]:
    """Return the starts of test sessions that do not follow a command."""
    return [start for before, start in pairwise(starts) if bisect_left(marks, before) == bisect_left(marks, start)]


def _last_line(reading: LogParse, start: int, end: int) -> int:
    return next((n for n in range(end - 1, start, -1) if reading.text(n).strip()), start)


def _of_part(reading: LogParse, part: Part) -> Iterator[Draft]:
    errors = [one for one in part.errors if not one.follows] or list(part.errors[:1])
    if errors:
        groups: dict[tuple[Any, ...], list[Finding]] = {}
        for one in errors:
            groups.setdefault(_same(one), []).append(one)
        for same in groups.values():
            yield _failure(reading, part, same)
    elif part.summaries or part.endings or part.command is not None or part.facts or part.tools:
        yield _whole(reading, part)


def _same(one: Finding) -> tuple[Any, ...]:
    """Return the key by which two findings are the same error: all but numbers and the line."""
    if one.test is not None:
        return ("test", one.tool, one.suite, one.test)
    return (one.tool, one.suite, one.error_type, one.file, _NUMBER.sub("#", one.message[:MAX_RESULT]))


def _failure(reading: LogParse, part: Part, same: Sequence[Finding]) -> Draft:
    one = same[0]
    places = {found.place for found in same}
    count = len(same) if None in places else len(places)  # Maven tells each error twice
    observed: dict[str, Any] = {"status": one.status} if one.test is not None else {}
    observed |= {
        "error_type": one.error_type,
        "exit_code": part.exit_code,
        "seconds": one.seconds,
        "frames": list(one.frames[:MAX_FRAMES]),
        "causes": list(one.causes),
        "line": one.place,
        "count": count if count > 1 else None,
        "warnings": part.warnings or None,
        "suite": _counted(part.summaries) or None,
    }
    observed = {name: value for name, value in observed.items() if value not in (None, [])}
    result = in_short(one.error_type, one.message)
    if one.test is not None:
        judged = label_of({"status": one.status, "exit_code": observed.get("exit_code") or None})
    else:
        judged = label_of(
            [
                {"exit_code": observed.get("exit_code"), "error_type": one.error_type},
                {"error": None if one.error_type else result},
            ]
        )
    command = part.command if one.test is None else None
    return Draft(
        attempt=one.test or command or _did(one, part),
        situation=_situation(part, one.tool, command=part.command if one.test is not None else None, suite=one.suite),
        goal=test_in_words(one.test) if one.test is not None else _goal(part),
        result=result or one.status,
        label=judged.label,
        signals=judged.signals,
        confidence=judged.confidence,
        field_origin=_by_rule(result=result or one.status),
        observations=observed,
        artifacts=_about(one, part),
        **_stands(reading, one.first, one.last),
    )


def _stands(reading: LogParse, first: int, last: int) -> dict[str, Any]:
    """Return the span of lines in the source, and the time of the first."""
    begin, end = reading.lines[first], reading.lines[last]
    if end.number < begin.number:  # the reader put the lines in another order: ``go test -json``
        begin, end = end, begin
    return {"lines": (begin.number + 1, end.number + 1), "span": (begin.start, end.end), "occurred_at": begin.at}


def _by_rule(**_texts: str) -> dict[str, Any]:
    return dict.fromkeys(("situation", "goal", "attempt", "result"), "rule")


def _did(one: Finding, part: Part) -> str:
    """Return what was done, if the log does not show the command."""
    if one.ran:
        return f"run {one.ran}"
    if one.tool in _BUILDERS:
        what = part.target or one.file
        return f"build {what}" if what else f"run {one.tool}"
    return f"run {part.tools[0]}" if part.tools else f"run {one.tool}"


def _goal(part: Part) -> str:
    return f"build {part.target}" if part.target else ""


def _situation(part: Part, tool: str, *, command: str | None, suite: str | None = None) -> str:
    known = [*part.facts, *([f"package {suite}"] if suite else [])]
    if tool not in {"log", "shell", "ci"} and not any(fact.lower().startswith(tool.lower()) for fact in known):
        known.insert(0, tool)
    words = ", ".join(known)
    return f"{words}; ran: {command}" if command and words else words or (f"ran: {command}" if command else "")


def _about(one: Finding, part: Part) -> list[Artifact]:
    out = [Artifact("file", one.file)] if one.file and not foreign(one.file) else []
    out += [Artifact("error_type", one.error_type)] if one.error_type else []
    out += [Artifact("concept", bare_test(one.test))] if one.test is not None and bare_test(one.test) else []
    return list(dict.fromkeys([*out, *(Artifact("concept", tool) for tool in _tools(part, one.tool))]))


def _tools(part: Part, tool: str | None) -> list[str]:
    first = _first_word(part.command)
    named = [tool, *part.tools[:3], *(end.tool for end in part.endings)]
    vague = {"log", "shell", "ci", *(("linter", "compiler") if first else ())}
    if tool is None or tool in vague:
        named = [first, *named]
    return list(dict.fromkeys(name for name in named if name and name not in vague))


def _first_word(command: str | None) -> str | None:
    """Return the tool that a command calls, if it is a known one."""
    words = (command or "").replace("-m ", "").split()[:3]
    return next((word for word in words if word in _TOOL_WORDS), None)


def _counted(summaries: Sequence[Summary]) -> dict[str, Any]:
    """Return the sums of a part's summaries."""
    out: dict[str, Any] = {}
    for summary in summaries:
        for name, count in summary.counts.items():
            out[name] = round(out.get(name, 0) + count, 3)
    return out


def _whole(reading: LogParse, part: Part) -> Draft:
    """Return the draft of a command, suite or build in which no single error was found."""
    counts = _counted(part.summaries)
    endings = [end for end in part.endings if end.well is not None or end.exit_code is not None]
    said: list[Mapping[str, Any]] = [counts]
    said += [{"exit_code": part.exit_code}]
    said += [{"status": "success" if end.well else "failure"} for end in endings[-1:] if end.well is not None]
    judged = label_of(said)
    observed = {**counts, "exit_code": part.exit_code, "warnings": part.warnings or None}
    tool = part.summaries[-1].tool if part.summaries else next((end.tool for end in endings if end.tool), None)
    tools = _tools(part, tool)
    result = _result(counts) or (endings[-1].text if endings else "")
    return Draft(
        attempt=part.command or (f"run {tools[0]}" if tools else "run the command"),
        situation=_situation(part, tools[0], command=None) if tools else ", ".join(part.facts),
        goal=_goal(part),
        result=result[:MAX_RESULT],
        label=judged.label,
        signals=judged.signals,
        confidence=judged.confidence,
        field_origin=_by_rule(result=result),
        observations={name: value for name, value in observed.items() if value is not None},
        artifacts=[Artifact("concept", name) for name in tools],
        **_stands(reading, part.first, part.last),
    )


def _result(counts: Mapping[str, Any]) -> str:
    told = [f"{counts[name]} {name}" for name in ("failed", "errors", "passed", "skipped") if counts.get(name)]
    return ", ".join(told)
