"""Importers for the session transcripts of coding agents: Claude Code, Codex and Cursor, one JSON object a line.

A session becomes turns with their tool calls under its own id, and each command that failed, or worked after it had
failed, an experience under the name that the hooks give it: what a hook recorded is not recorded again. What a
sub-agent was told is no word of the user: of its transcript only the experience is taken. Private spans are left out.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from phronesis.core.data_delimiters import is_off_record, strip_private_values
from phronesis.errors import InputError
from phronesis.importers.import_call import (
    Format,
    ImportCall,
    SkippedObject,
    Step,
    json_or_none,
    mapping_or_empty,
    mark_progress,
    name_of,
    objects,
    present_fields,
    turn_of,
)

MAX_OUTPUT: Final = 2_000
"""Characters kept of a tool's output: its end, where errors are."""

MAX_LINE: Final = 64 << 20
"""Longest line in bytes; a longer one is skipped."""


@dataclass(slots=True)
class _Session:
    """The state of a session while its transcript is read."""

    host: str
    session_id: str
    title: str = ""
    project: str = "default"
    of_subagent: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: str = ""
    failed_programs: set[str] = field(default_factory=set)

    def turn(self) -> Iterator[Step]:
        """Yield the turn that was gathered, and begin the next one."""
        messages, calls = self.messages, list(self.calls.values())
        self.messages, self.calls = [], {}
        if not messages:
            return
        ref = f"{self.session_id}#{messages[0]['id']}"
        if self.of_subagent:
            yield SkippedObject(ref, "said to or by a sub-agent")
            return
        if any(one["role"] == "user" and is_off_record(one["content"]) for one in messages):
            yield SkippedObject(ref, "off the record")
            return
        about = {"host": self.host, "project": self.project, "title": self.title, "imported": True}
        yield turn_of(self.session_id, messages, agent_id=self.host, about=about, tool_calls=calls)

    def set_facts(self, session_id: Any, folder: Any, *, of_subagent: bool = False) -> Iterator[Step]:
        """Take facts about the session; yield the turn that a sub-agent's first words end."""
        self.session_id = str(session_id or self.session_id)
        self.project = project_of(str(folder)) if folder else self.project
        if of_subagent and not self.of_subagent:
            yield from self.turn()
            self.of_subagent = True

    def say(self, role: str, text: str, identity: Any, at: str | None = None) -> Iterator[Step]:
        """Take a message; yield the turn that it ends."""
        if role == "user" and any(one["role"] != "user" for one in self.messages):
            yield from self.turn()
        message = {"role": role, "content": text, "id": str(identity), "created_at": at}
        self.messages.append({name: value for name, value in message.items() if value})
        self.asked = text if role == "user" else self.asked

    def call(self, identity: str, name: str, arguments: Any, at: str | None = None) -> None:
        """Take a tool call."""
        given = {"id": identity, "name": name, "args": arguments, "created_at": at}
        self.calls[identity] = present_fields(given)

    def result(self, identity: str, output: str, *, failed: bool | None) -> Iterator[Step]:
        """Take a call's first result, and whether it failed (None: nothing says so); yield its experience."""
        call = self.calls.get(identity, {"result": None})
        if "result" not in call:
            call["result"] = output = output.strip()[-MAX_OUTPUT:]
            if failed is not None:
                call["status"] = "error" if failed else "ok"
            yield from self._experience(call, identity, output, failed=failed)

    def _experience(
        self, call: Mapping[str, Any], identity: str, output: str, *, failed: bool | None
    ) -> Iterator[Step]:
        """Yield the experience of a tool call that failed, or that worked after the same program had failed."""
        command = command_of(call["args"])
        program = _program(command)
        if failed:
            self.failed_programs.add(program)
        elif failed is None or not command or program not in self.failed_programs:
            return
        attempt = command or f"{call['name']} {json.dumps(call['args'], ensure_ascii=False)}"
        name = name_of(f"{self.session_id}#{identity}")
        nei = {
            "situation": f"{call['name']} in {self.project}",
            "goal": self.asked[:500],
            "attempt": attempt[:MAX_OUTPUT],
            "result": output,
            "label": "failure" if failed else "success",
            "source_type": "run",
            "source_ref": f"{self.host}:{self.session_id}#{identity}",
            "episode_id": self.session_id,
            "occurred_at": call.get("created_at"),
            "external_id": name,
        }
        arguments = {"nei": {key: value for key, value in nei.items() if value}}
        yield ImportCall("ingest", f"{self.session_id}#{identity}", arguments, namespace=self.project)


Parser = Callable[[Mapping[str, Any], _Session], Iterator[Step]]
"""Gives a session what a line of its transcript says, and yields the steps that this ends."""


def read_transcripts(path: Path, host: str, parse: Parser) -> Iterator[Step]:
    """Yield the calls of each transcript in a folder, or of one file. InputError: there is none."""
    done = 0
    for file in transcript_files(path):
        session = _Session(host, file.stem, of_subagent="subagents" in file.parts)
        session.title = _title_of(file) if host == "claude-code" else ""
        for n, (line, size) in enumerate(_lines(file), start=1):
            done += size
            skipped = SkippedObject(f"{file.name}, line {n}", "not a JSON object")
            is_object = isinstance(line, dict)
            steps = parse({**strip_private_values(line), "_line": n}, session) if is_object else [skipped]
            yield from mark_progress(steps, done)
        yield from mark_progress(session.turn(), done)


def transcript_files(path: Path) -> list[Path]:
    """Return the transcripts of a folder, oldest first, or the one file. InputError: there is none."""
    if path.is_file():
        return [path]
    found = sorted((one for one in path.rglob("*.jsonl") if one.is_file()), key=lambda one: (one.stat().st_mtime, one))
    if not found:
        raise InputError(f"path: there is no transcript (*.jsonl) at {path}", field="path")
    return found


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in transcript_files(path))


def _lines(file: Path) -> Iterator[tuple[Any, int]]:
    """Yield the value of each line, and its length; None for one that is no JSON."""
    with file.open("rb") as stream:
        while line := stream.readline(MAX_LINE):
            yield json_or_none(line) if line.strip() else {}, len(line)


def project_of(folder: str) -> str:
    """Return the name of a project's folder, as an id."""
    name = folder.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in name) or "default"


def command_of(arguments: Any) -> str:
    """Return the command line of a tool's arguments; empty if the tool runs none."""
    given = mapping_or_empty(arguments)
    command = given.get("command", given.get("cmd", mapping_or_empty(given.get("action")).get("command")))
    if isinstance(command, list):
        shell = len(command) > 2 and command[-2] in {"-c", "-lc"}  # noqa: PLR2004 - a shell, its option, the command
        command = command[-1] if shell else shlex.join(map(str, command))
    return command.strip() if isinstance(command, str) else ""


def _program(command: str) -> str:
    return command.split(maxsplit=1)[0] if command else ""


# Claude Code: ~/.claude/projects/<folder>/<session>.jsonl.

_ENVELOPES: Final = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "<task-notification>")
"""Beginnings of texts that Claude Code writes under the user's name."""


def parse_claude_code(line: Mapping[str, Any], session: _Session) -> Iterator[Step]:
    """Yield what a line of a transcript of Claude Code says."""
    message = mapping_or_empty(line.get("message"))
    role = message.get("role")
    if line.get("type") not in {"user", "assistant"} or role not in {"user", "assistant"} or line.get("isMeta"):
        return
    at = line.get("timestamp") if isinstance(line.get("timestamp"), str) else None
    yield from session.set_facts(line.get("sessionId"), line.get("cwd"), of_subagent=bool(line.get("isSidechain")))
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    texts = [one["text"] for one in blocks if one.get("type") == "text" and isinstance(one.get("text"), str)]
    text = "\n".join(one for one in texts if one.strip() and not one.startswith(_ENVELOPES))
    if text:
        speaker = "system" if line.get("isCompactSummary") else str(role)
        yield from session.say(speaker, text, line.get("uuid") or line["_line"], at)
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("id") and block.get("name"):
            session.call(str(block["id"]), str(block["name"]), block.get("input") or {}, at)
        elif block.get("type") == "tool_result" and block.get("tool_use_id"):
            output, detail = block.get("content"), line.get("toolUseResult")
            if not isinstance(output, str):
                output = "\n".join(str(one.get("text") or "") for one in objects(output))
            stopped = mapping_or_empty(detail).get("interrupted") or (isinstance(detail, str) and "rejected" in detail)
            failed = None if stopped else bool(block.get("is_error"))
            yield from session.result(str(block["tool_use_id"]), output, failed=failed)


def _title_of(file: Path) -> str:
    """Return the title of a session, which stands anywhere in its file: the user's own, else the latest summary."""
    own = summary = ""
    with file.open("rb") as stream:
        for line in stream:
            if b'-title"' in line[:80] or b'"summary"' in line[:40]:
                row = mapping_or_empty(json_or_none(line))
                own = str(row.get("customTitle") or own)
                summary = str(row.get("aiTitle") or row.get("summary") or summary)
    return own or summary


# Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl.


def parse_codex(line: Mapping[str, Any], session: _Session) -> Iterator[Step]:
    """Yield what a line of a rollout of Codex says."""
    payload, at = mapping_or_empty(line.get("payload")), line.get("timestamp")
    kind, at = payload.get("type"), at if isinstance(at, str) else None
    if line.get("type") == "session_meta":
        source = mapping_or_empty(payload.get("source"))
        spawned = bool(payload.get("parent_thread_id")) or "subagent" in source
        yield from session.set_facts(payload.get("id"), payload.get("cwd"), of_subagent=spawned)
    elif line.get("type") == "compacted" and isinstance(payload.get("message"), str) and payload["message"]:
        yield from session.say("system", payload["message"], line["_line"], at)
    elif line.get("type") == "event_msg":
        item = mapping_or_empty(payload.get("item"))
        ran = payload if kind == "exec_command_end" else item if item.get("type") == "CommandExecution" else {}
        if isinstance(ran.get("exit_code"), int):
            output = ran.get("aggregated_output") or f"{ran.get('stdout') or ''}{ran.get('stderr') or ''}"
            failed = ran["exit_code"] != 0
            yield from session.result(str(ran.get("call_id") or ran.get("id")), str(output), failed=failed)
    elif line.get("type") == "response_item":
        yield from _take_codex_item(payload, session, str(line["_line"]), at)


def _take_codex_item(payload: Mapping[str, Any], session: _Session, place: str, at: str | None) -> Iterator[Step]:
    kind = payload.get("type")
    call_id = str(payload.get("call_id") or payload.get("id") or place)
    if kind == "message" and payload.get("role") in {"user", "assistant"}:
        texts = [str(one.get("text") or "") for one in objects(payload.get("content"))]
        text = "\n".join(one for one in texts if one.strip() and not one.startswith(_SCAFFOLDING))
        if text:
            yield from session.say(str(payload["role"]), text, payload.get("id") or place, at)
    elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
        given = payload.get("arguments", payload.get("input", {"action": payload.get("action")}))
        session.call(call_id, str(payload.get("name") or "shell"), _parsed(given), at)
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        fields = mapping_or_empty(_parsed(payload.get("output")))
        code: Any = mapping_or_empty(fields.get("metadata")).get("exit_code")
        output: Any = fields.get("output", fields.get("content", payload.get("output")))
        if isinstance(output, str) and code is None:
            code, output = _exit_code(output)
        success: Any = fields.get("success")
        failed = not success if isinstance(success, bool) else None if code is None else code != 0
        output = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        yield from session.result(call_id, output, failed=failed)


_SCAFFOLDING: Final = ("<environment_context>", "<user_instructions>", "<permissions", "# AGENTS.md", "<turn_")
"""Beginnings of texts that Codex writes under the user's name: instructions and facts of the environment."""

_EXITS: Final = ("Exit code: ", "Process exited with code ")
"""Beginnings of the line of an output that names the exit code, among the first lines."""

_HEAD_LINES: Final = 6


def _exit_code(text: str) -> tuple[int | None, str]:
    """Return the exit code that an output names in its head, and the output after the head."""
    lines = text.splitlines()
    for line in lines[:_HEAD_LINES]:
        for begin in _EXITS:
            word = line.removeprefix(begin)
            if word != line and word.lstrip("-").isdigit():
                _, mark, rest = text.partition("Output:\n")
                return int(word), rest if mark else text.partition(f"{line}\n")[2]
    return None, text


def _parsed(given: Any) -> Any:
    """Return the value of JSON in a text; the text, as an argument, if it is none."""
    found = json_or_none(given)
    return given if not isinstance(given, str) else {"input": given} if found is None else found


# Cursor: ~/.cursor/projects/<folder>/agent-transcripts/<session>/<session>.jsonl. It holds no results and no times.


def parse_cursor(line: Mapping[str, Any], session: _Session) -> Iterator[Step]:
    """Yield what a line of an agent transcript of Cursor says."""
    role, content = line.get("role"), mapping_or_empty(line.get("message")).get("content")
    if role not in {"user", "assistant"}:
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    texts = [_query(str(one.get("text") or "")) for one in blocks if one.get("type") == "text"]
    text = "\n".join(one for one in texts if one.strip())
    if text:
        yield from session.say(str(role), text, line["_line"])
    for n, block in enumerate(blocks):
        if block.get("type") == "tool_use" and block.get("name"):
            session.call(f"{line['_line']}.{n}", str(block["name"]), block.get("input") or {})


def _query(text: str) -> str:
    """Return the user's own words of a text in which Cursor wraps them."""
    _, begin, rest = text.partition("<user_query>")
    return rest.partition("</user_query>")[0].strip() if begin else text


def _format(host: str, parse: Parser, fits: Callable[[Mapping[str, Any]], bool]) -> Format:
    return Format(lambda path: read_transcripts(path, host, parse), _size, f"session transcripts of {host}", fits=fits)


CLAUDE_CODE: Final = _format("claude-code", parse_claude_code, lambda given: "sessionId" in given and "type" in given)
CODEX: Final = _format(
    "codex", parse_codex, lambda given: isinstance(given.get("payload"), Mapping) and "type" in given
)
CURSOR: Final = _format(
    "cursor", parse_cursor, lambda given: "role" in given and isinstance(given.get("message"), Mapping)
)
