"""Parse JSON output of Lean: messages of ``lean --json``, and commands and replies of the community REPL."""

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.experience.sources.lean.messages import Message, Position, Unit, is_sorry, normal_file, printable
from phronesis.experience.sources.lean.syntax import read_program

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
        for one in _unwrapped(value):
            yield one, line, last
        rest = len(text[end : end + 200]) - len(text[end : end + 200].lstrip(" \n,"))
        line, at = last + text.count("\n", end, end + rest), end + rest


def _unwrapped(value: object) -> Iterator[Mapping[str, Any]]:
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
    severity = _SEVERITIES.get(str(value.get("severity")))
    if severity is None:
        return None
    data = printable(value["data"])
    if data.startswith("<input>:"):  # a parse error inside a tactic repeats its place: <input>:1:5: unknown tactic
        data = data.partition(": ")[2]
    return Message(
        severity=severity,
        text=data,
        first=first,
        last=last,
        position=_place(value.get("pos")),
        end=_place(value.get("endPos")),
        file=normal_file(printable(_text(value, "fileName"))),
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
        unit = Unit(
            form="repl", first=min(begin, first), last=last, file=normal_file(printable(_text(command, "path")))
        )
        for one in _dicts(value, "messages"):
            said = as_message(one, first, last)
            if said is not None:
                unit.messages.append(said)
        if isinstance(refused, str):
            text = printable(refused).removeprefix("Lean error:").lstrip("\n ")
            unit.messages.append(Message(severity="error", text=text, first=first, last=last))
        unit.steps = list(_dicts(value, "tactics"))
        if _text(command, "cmd"):
            unit.program = read_program(printable(_text(command, "cmd")))
        unit.tactic = printable(_text(command, "tactic"))
        if (
            isinstance(seconds := value.get("time"), int | float)
            and not isinstance(seconds, bool)
            and 0 <= seconds < _LONGEST
        ):
            unit.seconds = float(seconds)
        self._take_goals(unit, command, value)
        return unit

    def _take_goals(self, unit: Unit, command: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        asked, given = _number(command.get("proofState")), _number(value.get("proofState"))
        for one in _dicts(value, "sorries"):
            goal = printable(_text(one, "goal"))
            unit.sorries.append(goal)
            if (state := _number(one.get("proofState"))) is not None:
                self._goals[state], self._roots[state] = [goal], goal
        if asked is not None:
            unit.before = self._goals.get(asked)
            unit.episode = self._roots.get(asked, "")
        if isinstance(goals := value.get("goals"), list):
            unit.after = [printable(one) for one in goals if isinstance(one, str)]
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
            unit.signal = f"proofStatus: {printable(status[:60])}"


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
