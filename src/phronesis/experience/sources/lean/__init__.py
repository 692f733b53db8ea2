"""The source ``lean``: output of the Lean 4 compiler, lake and the REPL, parsed into attempts."""

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.lean.attempts import drafts_of
from phronesis.experience.sources.lean.messages import (
    FAILURES,
    Form,
    Line,
    Message,
    Position,
    Unit,
    ends_message,
    facts_of,
    is_sorry,
    normal_file,
    read_job,
    read_message,
    split_lines,
)
from phronesis.experience.sources.lean.syntax import Program, is_hypothesis, read_program
from phronesis.experience.sources.port import RawText, Source, number_episodes, storable_drafts

_DECODER: Final = json.JSONDecoder()
_COMMANDS: Final = ("cmd", "tactic", "path")
_REFUSED: Final = ("Lean error", "Unknown proof state", "Unknown environment")
_SEVERITIES: Final = {"information": "info", "info": "info", "warning": "warning", "error": "error"}
_LONGEST: Final = 1e9
"""Seconds of a reply at most; larger values are not times."""
_INNER: Final = ("response", "result", "results", "responses")


def decode(text: str) -> Iterator[tuple[Mapping[str, Any], int, int]]:
    """Yield the JSON objects at the start of a text, with the lines (from 0) on which each begins and ends.

    Wrappers of a harness (a list, ``{"response": …}``) are removed. Text that is not JSON ends the sequence.
    """
    at, line = 0, 0
    while at < len(text) and text[at] in "{[":
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        last = line + text.count("\n", at, end)
        for one in _iterate_objects(value):
            yield one, line, last
        rest = len(text[end : end + 200]) - len(text[end : end + 200].lstrip(" \n,"))
        line, at = last + text.count("\n", end, end + rest), end + rest


def _iterate_objects(value: object) -> Iterator[Mapping[str, Any]]:
    waiting = deque([value])
    while waiting:
        one = waiting.popleft()
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            inner = [one[name] for name in _INNER if isinstance(one.get(name), dict | list)]
            if not inner or any(isinstance(one.get(name), str) for name in _COMMANDS):
                yield one
            waiting.extendleft(reversed(inner))


def as_message(value: object, first: int, last: int) -> Message | None:
    """Return a message of ``lean --json`` or of a reply; None for other values."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), str):
        return None
    if (severity := _SEVERITIES.get(str(value.get("severity")))) is None:
        return None
    data = value["data"]
    if data.startswith("<input>:"):  # a parse error inside a tactic repeats its place: <input>:1:5: unknown tactic
        data = data.partition(": ")[2]
    return Message(
        severity=severity,
        text=data,
        first=first,
        last=last,
        position=_place(value.get("pos")),
        end=_place(value.get("endPos")),
        file=normal_file(_text(value, "fileName")),
    )


def is_command(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a command for the REPL."""
    return any(isinstance(value.get(name), str) for name in _COMMANDS)


def is_answer(value: Mapping[str, Any], *, asked: bool) -> bool:
    """Return whether an object is a reply of the REPL; ``asked``: a command awaits one."""
    refused = value.get("message")
    if isinstance(refused, str):
        return asked or refused.startswith(_REFUSED)
    if is_command(value):
        return isinstance(value.get("messages"), list) or isinstance(value.get("sorries"), list)
    return (
        _number(value.get("env")) is not None
        or (_number(value.get("proofState")) is not None and isinstance(value.get("goals"), list))
        or any(as_message(one, 0, 0) is not None for one in _dicts(value, "messages"))
    )


class Session:
    """A REPL session: the commands without a reply, and the goals of each proof state."""

    def __init__(self) -> None:
        self._asked: deque[tuple[Mapping[str, Any], int]] = deque()
        self._goals: dict[int, list[str]] = {}
        self._roots: dict[int, str] = {}

    @property
    def waits(self) -> bool:
        """Return whether a command awaits its reply."""
        return bool(self._asked)

    def ask(self, command: Mapping[str, Any], line: int) -> None:
        """Record a command that begins on ``line``."""
        self._asked.append((command, line))

    def answer(self, value: Mapping[str, Any], first: int, last: int) -> Unit | None:
        """Return a reply as a checked unit; None for JSON that is not from Lean."""
        command, begin = self._asked.popleft() if self._asked else ({}, first)
        if is_command(value):
            command = value
        refused = value.get("message")
        if isinstance(refused, str) and not refused.startswith(_REFUSED):
            return None
        unit = Unit(form="repl", first=min(begin, first), last=last, file=normal_file(_text(command, "path")))
        told = (as_message(one, first, last) for one in _dicts(value, "messages"))
        unit.messages = [message for message in told if message is not None]
        if isinstance(refused, str):
            text = refused.removeprefix("Lean error:").lstrip("\n ")
            unit.messages.append(Message(severity="error", text=text, first=first, last=last))
        unit.steps = list(_dicts(value, "tactics"))
        if _text(command, "cmd"):
            unit.program = read_program(_text(command, "cmd"))
        unit.tactic = _text(command, "tactic")
        seconds = value.get("time")
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _LONGEST:
            unit.seconds = float(seconds)
        self._take_goals(unit, command, value)
        return unit

    def _take_goals(self, unit: Unit, command: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        asked, given = _number(command.get("proofState")), _number(value.get("proofState"))
        for one in _dicts(value, "sorries"):
            goal = _text(one, "goal")
            unit.sorries.append(goal)
            if (state := _number(one.get("proofState"))) is not None:
                self._goals[state], self._roots[state] = [goal], goal
        if asked is not None:
            unit.before = self._goals.get(asked)
            unit.episode = self._roots.get(asked, "")
        if isinstance(goals := value.get("goals"), list):
            unit.after = [one for one in goals if isinstance(one, str)]
        if given is not None:
            self._goals[given], self._roots[given] = unit.after, unit.episode
        wrong = any(one.severity == "error" for one in unit.messages)
        left = bool(unit.sorries or unit.after) or any(is_sorry(one.text) for one in unit.messages)
        status = _text(value, "proofStatus")
        if wrong:
            unit.verdict, unit.signal = "failed", "an error in the answer"
        elif not left and (not status or status == "Completed"):
            unit.verdict, unit.signal = "ok", "no goals left" if given is not None else "an environment, and no error"
        elif status:
            unit.signal = f"proofStatus: {status[:60]}"


def _place(value: object) -> Position | None:
    if not isinstance(value, dict):
        return None
    line, column = _number(value.get("line")), _number(value.get("column"))
    return None if line is None or column is None else (line, column)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _dicts(value: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    found = value.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


_JSON: Final = re.compile(r"\{ ?[\"}]|\{\s*$|\[\s*(?:\{|$)")
_LEAN: Final = re.compile(
    r"import [A-Z]|open [A-Z]|namespace [A-Z]|(?:@\[[^\]\n]{0,200}\] ?)?(?:private |protected |noncomputable ){0,3}"
    r"(?:theorem|lemma|def|instance|abbrev) [^\s(){}\[\]:]{1,200}(?: [({\[:⦃]|:| ?$)|example ?[({\[:⦃]"
)
# Lines that continue a message after an empty line.
_GOES_ON: Final = re.compile(
    r"\s|case |⊢|Note: |Hint: |Additional |Possible |use `|failed$|Error: |at case |where$|Try this"
)


class LeanOutputParser:
    """A single pass over the lines. ``units`` are in the order of their first lines; ``facts`` are of the whole run."""

    def __init__(self, lines: list[Line]) -> None:
        self.units: list[Unit] = []
        self.facts: dict[str, Any] = {}
        self._lines = lines
        self._session = Session()
        self._files: dict[tuple[str, int], Unit] = {}
        self._job: Unit | None = None
        self._program: Program | None = None
        self._programs = 0
        self._open: Message | None = None  # the message that may go on
        self._failed: set[str] = set()  # modules that lake has marked

    def run(self) -> None:
        """Process all lines."""
        at = 0
        while at < len(self._lines):
            at = self._read(at)
        self._close()

    def _read(self, at: int) -> int:
        said = self._lines[at].text
        if said.startswith("```"):
            return self._fence(at)
        if _JSON.match(said) is not None and (behind := self._json(at)) > at:
            return behind
        if (unit := read_job(said, at)) is not None:
            self._close()
            self._job = unit
            self.units.append(unit)
            if unit.verdict == "failed":
                self._failed.add(unit.module)
            return at + 1
        if (message := read_message(self._lines, at)) is not None:
            self._close()
            self._open = message
            return at + 1
        if ends_message(said):
            self._close()
            self._job = None
            self.facts.update(facts_of(said))
            if FAILURES.match(said) is not None:
                return self._failures(at)
            if said.startswith("Build completed successfully") and not self.units:
                signal = "Build completed successfully"
                self.units.append(Unit(form="lake", first=at, last=at, verdict="ok", signal=signal))
            return at + 1
        if _LEAN.match(said) is not None:
            return self._source(at)
        self._continue_message(at)
        return at + 1

    def _continue_message(self, at: int) -> None:
        said, message = self._lines[at].text, self._open
        if message is None:
            return
        blank = not self._lines[at - 1].text.strip()
        if blank and said.strip() and _GOES_ON.match(said) is None and not is_hypothesis(said):
            self._close()
            return
        self._open = replace(message, last=at)

    def _close(self) -> None:
        message, self._open = self._open, None
        if message is None:
            return
        last = message.last
        while last > message.first and not self._lines[last].text.strip():
            last -= 1
        rest = "\n".join(line.text for line in self._lines[message.first + 1 : last + 1])
        text = f"{message.text}\n{rest}" if rest else message.text
        self._add(replace(message, text=text, last=last), "lake" if message.position is None else "plain")

    def _add(self, message: Message, form: Form) -> None:
        if self._job is not None and form != "json":
            self._job.messages.append(message)
            self._job.last = max(self._job.last, message.last)
            self._job.file = self._job.file or message.file
            self._job.program = self._job.program or self._program
        elif message.position is not None and message.severity != "trace":
            if (unit := self._files.get((message.file, self._programs))) is None:
                unit = Unit(form=form, first=message.first, last=message.last, file=message.file, program=self._program)
                self._files[message.file, self._programs] = unit
                self.units.append(unit)
            unit.messages.append(message)
            unit.last = message.last

    def _fence(self, at: int) -> int:
        self._close()
        self._job = None
        if not self._lines[at].text[3:].strip().lower().startswith("lean"):
            return at + 1
        end = self._find(at + 1, lambda n: self._lines[n].text.startswith("```"))
        self._keep(at + 1, end)
        return end + 1

    def _find(self, at: int, ends: Callable[[int], bool]) -> int:
        """Return the first line from ``at`` on that ends something, or the number of lines."""
        return next((n for n in range(at, len(self._lines)) if ends(n)), len(self._lines))

    def _source(self, at: int) -> int:
        """Consume unfenced Lean source and return the first line after it."""
        self._close()
        self._job = None

        def ends(n: int) -> bool:
            said = self._lines[n].text
            plain = said.startswith("```") or ends_message(said) or _JSON.match(said) is not None
            return plain or read_message(self._lines, n) is not None or read_job(said, n) is not None

        end = self._find(at + 1, ends)
        self._keep(at, end)
        return end

    def _keep(self, first: int, end: int) -> None:
        self._program = read_program("\n".join(line.text for line in self._lines[first:end]))
        self._programs += 1

    def _json(self, at: int) -> int:
        end = self._find(at + 1, lambda n: self._lines[n].text.startswith(("{", "[")))
        behind = at
        for value, first, last in decode("\n".join(line.text for line in self._lines[at:end])):
            self._close()
            behind = at + last + 1
            self._add_object(value, at + first, at + last)
        return behind

    def _add_object(self, value: Mapping[str, Any], first: int, last: int) -> None:
        if (message := as_message(value, first, last)) is not None:
            self._add(message, "json")
            return
        if is_answer(value, asked=self._session.waits):
            if (unit := self._session.answer(value, first, last)) is not None:
                self.units.append(unit)
        elif is_command(value):
            self._session.ask(value, first)

    def _failures(self, at: int) -> int:
        """Consume lake's list of failures; a module that the log does not show otherwise is a failure too."""
        at += 1
        while at < len(self._lines) and self._lines[at].text.startswith("- "):
            module = self._lines[at].text[2:].strip()
            if module and module not in self._failed:
                self._failed.add(module)
                signal = "lake lists it among the failures"
                self.units.append(Unit(form="lake", first=at, last=at, module=module, verdict="failed", signal=signal))
            at += 1
        return at


class LeanSource(Source):
    """Reads Lean 4 output: ``lean --json``, ``lake build``, REPL replies, and plain logs of ``lean``.

    A position with errors is one failure; a file, module or command without errors a success; unknown if a sorry or
    goals are left. All texts have origin ``rule``.
    """

    source_type = "lean"
    version = "lean/1"

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return the attempts in a log."""
        lines = split_lines(raw)
        walk = LeanOutputParser(lines)
        walk.run()
        drafts = number_episodes(draft for unit in walk.units for draft in drafts_of(unit, lines))
        told = (replace(one, observations={**one.observations, **walk.facts}) for one in drafts)
        return storable_drafts(told, most=None)  # a library has thousands of modules, and the last ones may fail


__all__ = ["LeanSource"]
