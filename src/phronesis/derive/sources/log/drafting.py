"""What was found in a log, told as drafts: one for each thing that failed, one for what went well."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.experience.drafts import Artifact, Draft
from phronesis.core.experience.labelling import label_of
from phronesis.derive.sources.log.findings import (
    MAX_FRAMES,
    Ending,
    Finding,
    Reading,
    Summary,
    bare_test,
    foreign,
    test_in_words,
)

MAX_DRAFTS: Final = 2_000
"""Drafts of one text: what a person or a model could still look through. The last one says how many were left out."""

MAX_RESULT: Final = 300
"""Characters of a result: an error's type and the first line of its message."""

_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]{1,16}|\d{1,20}")
_TOOL_WORDS: Final = ("pytest", "unittest", "cargo", "npm", "pip", "make", "go", "node", "mvn", "gradle", "tsc", "rustc",
                      "gcc", "docker", "git")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """The lines from one command to the next, and what was found on them."""

    first: int
    last: int
    command: str | None
    errors: Sequence[Finding]
    summaries: Sequence[Summary]
    endings: Sequence[Ending]
    facts: Sequence[str]
    tools: Sequence[str]
    target: str | None
    warnings: int

    @property
    def exit_code(self) -> int | None:
        """The last exit code that was told."""
        return next((one.exit_code for one in reversed(self.endings) if one.exit_code is not None), None)


def drafts_of(reading: Reading) -> list[Draft]:
    """Give the drafts of a log in the order of its lines."""
    out = [draft for part in _parts(reading) for draft in _of_part(reading, part)]
    if len(out) > MAX_DRAFTS:
        left_out = len(out) - MAX_DRAFTS
        out = out[:MAX_DRAFTS]
        out[-1] = _with(out[-1], left_out=left_out)
    return out


def in_short(error_type: str | None, message: str) -> str:
    """Give an error as ``Type: message``, in one line."""
    line = message.strip().partition("\n")[0].strip()
    words = f"{error_type}: {line}" if error_type and line else error_type or line
    return words[:MAX_RESULT]


def _with(draft: Draft, **more: Any) -> Draft:
    body = {**draft.to_body(), "observations": {**draft.observations, **more}}
    return Draft.from_body(body)


def _parts(reading: Reading) -> Iterator[Part]:
    """Part a log at its commands, and at a second session of tests without a command between."""
    marks = sorted(reading.commands)
    bounds = sorted({0, *marks, *_sessions(reading.starts, marks)})
    lists = [reading.findings, reading.summaries, reading.endings, reading.facts, reading.tools, reading.targets]
    keys = [lambda one: one.first, lambda one: one.line, lambda one: one.line, *[lambda one: one[0]] * 3]
    pointers = [0] * len(lists)
    ordered = [sorted(found, key=key) for found, key in zip(lists, keys, strict=True)]
    warnings = sorted(reading.warnings)
    warned = 0
    for start, end in zip(bounds, [*bounds[1:], len(reading.lines)], strict=True):
        slices: list[list[Any]] = []
        for which, found in enumerate(ordered):
            begin = pointers[which]
            while pointers[which] < len(found) and keys[which](found[pointers[which]]) < end:
                pointers[which] += 1
            slices.append(found[begin : pointers[which]])
        before = warned
        while warned < len(warnings) and warnings[warned] < end:
            warned += 1
        errors, summaries, endings, facts, tools, targets = slices
        yield Part(
            start, _last_line(reading, start, end), reading.commands.get(start), errors, summaries, endings,
            tuple(dict.fromkeys(fact for _, fact in facts)), tuple(dict.fromkeys(tool for _, tool in tools)),
            targets[0][1] if targets else None, warned - before,
        )  # fmt: skip


def _sessions(starts: Sequence[int], marks: Sequence[int]) -> list[int]:
    """Give the beginnings of test sessions that no command stands before since the last one."""
    out: list[int] = []
    for before, start in zip(starts, starts[1:], strict=False):
        if not any(before < mark < start for mark in marks[:10_000]):
            out.append(start)
    return out


def _last_line(reading: Reading, start: int, end: int) -> int:
    return next((n for n in range(end - 1, start, -1) if reading.text(n).strip()), start)


def _of_part(reading: Reading, part: Part) -> Iterator[Draft]:
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
    """What two findings share when they are the same error again: all but numbers, and the line it stands on."""
    if one.test is not None:
        return ("test", one.tool, one.test)
    return (one.tool, one.error_type, one.file, _NUMBER.sub("#", one.message[:MAX_RESULT]))


def _failure(reading: Reading, part: Part, same: Sequence[Finding]) -> Draft:
    one = same[0]
    observed: dict[str, Any] = {"status": one.status} if one.test is not None else {}
    observed |= {
        "error_type": one.error_type, "exit_code": part.exit_code, "seconds": one.seconds,
        "frames": list(one.frames[:MAX_FRAMES]), "causes": list(one.causes),
        "count": len(same) if len(same) > 1 else None, "warnings": part.warnings or None,
        "suite": _counted(part.summaries) or None,
    }  # fmt: skip
    observed = {name: value for name, value in observed.items() if value not in (None, [])}
    result = in_short(one.error_type, one.message)
    if one.test is not None:
        judged = label_of({"status": one.status, "exit_code": observed.get("exit_code") or None})
    else:
        judged = label_of([{"exit_code": observed.get("exit_code"), "error_type": one.error_type},
                           {"error": None if one.error_type else result}])  # fmt: skip
    command = part.command if one.test is None else None
    return Draft(
        attempt=one.test or command or _did(one, part),
        situation=_situation(part, one.tool, command=part.command if one.test is not None else None),
        goal=test_in_words(one.test) if one.test is not None else _goal(part),
        result=result or one.status,
        label=judged.label,
        signals=judged.signals,
        confidence=judged.confidence,
        field_origin=_by_rule(result=result or one.status),
        observations=observed,
        artifacts=_about(one, part),
        lines=(one.first + 1, one.last + 1),
        span=(reading.lines[one.first].start, reading.lines[one.last].end),
        occurred_at=reading.lines[one.first].at,
    )


def _by_rule(**_texts: str) -> dict[str, Any]:
    return {name: "rule" for name in ("situation", "goal", "attempt", "result")}


def _did(one: Finding, part: Part) -> str:
    """Say what was done where the log does not show the command."""
    if one.tool in {"gcc", "clang", "cl", "javac", "rustc", "tsc", "go", "compiler", "linker", "cmake", "swiftc"}:
        what = part.target or one.file
        return f"build {what}" if what else f"run {one.tool}"
    if one.ran:
        return f"run {one.ran}"
    return f"run {part.tools[0]}" if part.tools else f"run {one.tool}"


def _goal(part: Part) -> str:
    return f"build {part.target}" if part.target else ""


def _situation(part: Part, tool: str, *, command: str | None) -> str:
    known = list(part.facts)
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
    if tool in {None, "log", "shell"}:
        named = [first, *named]
    return list(dict.fromkeys(name for name in named if name and name not in {"log", "shell", "ci"}))


def _first_word(command: str | None) -> str | None:
    """Give the tool that a command calls, where it is one of those known by name."""
    words = (command or "").replace("-m ", "").split()[:3]
    return next((word for word in words if word in _TOOL_WORDS), None)


def _counted(summaries: Sequence[Summary]) -> dict[str, Any]:
    """Add up what a part's summaries count."""
    out: dict[str, Any] = {}
    for summary in summaries:
        for name, count in summary.counts.items():
            out[name] = round(out.get(name, 0) + count, 3)
    return out


def _whole(reading: Reading, part: Part) -> Draft:
    """Tell how a command, a suite or a build went in which no single error was found."""
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
        lines=(part.first + 1, part.last + 1),
        span=(reading.lines[part.first].start, reading.lines[part.last].end),
        occurred_at=reading.lines[part.first].at,
    )


def _result(counts: Mapping[str, Any]) -> str:
    told = [f"{counts[name]} {name}" for name in ("failed", "errors", "passed", "skipped") if counts.get(name)]
    return ", ".join(told)
