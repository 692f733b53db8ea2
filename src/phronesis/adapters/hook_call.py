"""What a hook of a coding agent is given: the event, whose memory is meant, and the fields of each host's JSON."""

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final

from phronesis.core.data_delimiters import strip_private_spans
from phronesis.errors import InputError

LONGEST_OUTPUT: Final = 2_000
"""Characters of a command's output that are recorded: its end, where errors are."""

_TAIL_BYTES: Final = 256 * 1024
"""Bytes at the end of a transcript among which the last reply is looked for."""

_EXIT_LINE: Final = re.compile(r"^\(?Command exited with code (\d+)\)?\s*$", re.MULTILINE)
"""The line in which hosts that give a tool's output as text name the exit code."""

EVENT_NAMES: Final = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "post-tool": "PostToolUse",
    "pre-compact": "PreCompact",
    "stop": "Stop",
}
"""The host's own names of the events, where its input does not say them."""

EVENTS: Final = tuple(EVENT_NAMES)


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a hook: the event, the host, whose memory is meant, and the host's input.

    ``namespace`` holds what is learned from tools; None: the name of the project's folder.
    """

    event: str
    host: str = "claude-code"
    user_id: str | None = None
    namespace: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, message: Mapping[str, Any]) -> "HookCall":
        """Return the call that a message describes. InputError names a wrong field."""
        if message.get("event") not in EVENTS:
            raise InputError(f"event must be one of {', '.join(EVENTS)}", field="event")
        if not isinstance(message.get("payload", {}), dict):
            raise InputError("payload must be an object: the JSON that the host gives its hooks", field="payload")
        return cls(**{name: message[name] for name in cls.__dataclass_fields__ if name in message})

    def text(self, *names: str) -> str:
        """Return the first of the payload's fields that is a text; private spans are left out."""
        found = next((one for name in names if isinstance(one := self.payload.get(name), str) and one), "")
        return strip_private_spans(found)

    @property
    def session_id(self) -> str:
        """The host's session."""
        return self.text("session_id", "conversation_id", "sessionId")[:200] or "unnamed"

    @property
    def source(self) -> str:
        """The source of what is learned in this session."""
        return f"{self.host}:{self.session_id}"

    @property
    def project(self) -> str:
        """The name under which a project's experience is kept."""
        roots = self.payload.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        return self.namespace or project_name(self.text("cwd") or root)

    @property
    def scope(self) -> dict[str, Any]:
        """The scope of reads and of what is said: the user's memory, and the project's experience."""
        return {"user_id": self.user_id, "namespace": self.project}


def project_name(folder: str) -> str:
    """Return the name of the folder that holds a repository, or of the folder itself."""
    if not folder:
        return "default"
    path = Path(folder)
    root = next((one for one in (path, *path.parents) if (one / ".git").exists()), path)
    return re.sub(r"[^\w.-]", "-", PurePath(root).name) or "default"


def attempt_of(call: HookCall) -> str:
    """Return what a tool was asked to do: its command, or its name and arguments."""
    given = call.payload.get("tool_input", call.payload.get("tool_args", {}))
    if isinstance(given, dict):
        command = given.get("command", given.get("cmd"))
        if isinstance(command, list):
            command = shlex.join(map(str, command))
        if isinstance(command, str) and command.strip():
            return strip_private_spans(command.strip())[:LONGEST_OUTPUT]
    name = call.text("tool_name")
    return strip_private_spans(f"{name} {json.dumps(given, ensure_ascii=False)}")[:LONGEST_OUTPUT] if name else ""


def output_of(call: HookCall) -> str:
    """Return the end of a tool's output."""
    given = call.payload.get("error") or call.payload.get("error_message") or _response(call)
    if isinstance(given, dict):
        streams = [given.get(name) for name in ("stdout", "output", "stderr", "error", "message")]
        given = "\n".join(one for one in streams if isinstance(one, str) and one) or given
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return strip_private_spans(_EXIT_LINE.sub("", text).strip())[-LONGEST_OUTPUT:]


def _response(call: HookCall) -> Any:
    """Return what a tool gave, which Cursor writes as JSON within a text."""
    given = call.payload.get("tool_response", call.payload.get("tool_output", ""))
    if isinstance(given, str) and given.startswith("{"):
        with suppress(ValueError):
            return json.loads(given)
    return given


def has_failed(call: HookCall) -> bool | None:
    """Return whether a tool failed, by the fields in which hosts say so; None: the user stopped it, or nothing says."""
    said, response = call.payload, _response(call)
    fields = response if isinstance(response, dict) else {}
    if said.get("is_interrupt") or fields.get("interrupted"):
        return None
    if said.get("error") or said.get("error_message") or fields.get("is_error") or fields.get("success") is False:
        return True
    names = ("exit_code", "exitCode", "returncode")
    codes = [given[name] for given in (fields, said) for name in names if isinstance(given.get(name), int)]
    if isinstance(response, str):
        codes += map(int, _EXIT_LINE.findall(response)[-1:])
    if not codes and call.host == "codex":  # it gives its hooks no exit code
        code = _recorded_exit_code(call)
        return None if code is None else code != 0
    return any(codes)


def _recorded_exit_code(call: HookCall) -> int | None:
    """Return the exit code of a call in the transcript of Codex; None if it names none."""
    own_id = call.text("tool_use_id")
    for line in reversed(_tail(call.text("transcript_path"))):
        if own_id and own_id.encode() in line and b'"exit_code"' in line:
            item = (json.loads(line).get("payload") or {}).get("item") or {}
            if item.get("id") == own_id and isinstance(item.get("exit_code"), int):
                return int(item["exit_code"])
    return None


def program_of(command: str) -> str:
    """Return the program that a command runs."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return words[0] if words else ""


def last_reply(path: str) -> str:
    """Return the text of the last reply in a transcript of JSON lines; empty if it cannot be read."""
    return next(filter(None, map(_reply_text, reversed(_tail(path)))), "")


def _tail(path: str) -> list[bytes]:
    """Return the last lines of a file; none if it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _TAIL_BYTES))
            return file.read().splitlines()
    except OSError:
        return []


def _reply_text(line: bytes) -> str:
    try:
        row = json.loads(line)
    except ValueError:
        return ""
    message = row.get("message") if isinstance(row, dict) else None
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return ""
    content = message.get("content")
    parts = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))
