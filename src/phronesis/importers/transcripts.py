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

from phronesis.core.data_delimiters import is_off_record, without_private_values
from phronesis.errors import InputError
from phronesis.importers.import_call import Format, ImportCall, SkippedObject, Step, mapping_or_empty, name_of, objects

MAX_OUTPUT: Final = 2_000
"""Characters kept of a tool's output: its end, where errors are."""

MAX_LINE: Final = 64 << 20
"""Longest line in bytes; a longer one is skipped."""


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """A message of a transcript."""

    role: str
    text: str
    id: str
    at: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call of a transcript."""

    id: str
    name: str
    arguments: Any
    at: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call: its text, and whether it failed; None: the transcript does not say."""

    id: str
    output: str
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Facts about the session: its id, title, folder, and whether a sub-agent speaks."""

    session_id: str = ""
    title: str = ""
    folder: str = ""
    of_subagent: bool | None = None


Event = TranscriptMessage | ToolCall | ToolResult | SessionFacts


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

    def turn(self, done: int) -> Iterator[Step]:
        """Yield the turn that was gathered, and begin the next one."""
        messages, calls = self.messages, list(self.calls.values())
        self.messages, self.calls = [], {}
        if not messages:
            return
        if self.of_subagent:
            yield SkippedObject(f"{self.session_id}#{messages[0]['id']}", "said to or by a sub-agent", done)
            return
        if any(one["role"] == "user" and is_off_record(one["content"]) for one in messages):
            yield SkippedObject(f"{self.session_id}#{messages[0]['id']}", "off the record", done)
            return
        about = {"host": self.host, "project": self.project, "title": self.title, "imported": True}
        events: dict[str, Any] = {
            "messages": messages,
            "tool_calls": calls,
            "session_metadata": {name: value for name, value in about.items() if value},
        }
        events = {name: value for name, value in events.items() if value}
        arguments = {"session_id": self.session_id, "turn_events": events, "agent_id": self.host}
        yield ImportCall("commit_turn", f"{self.session_id}#{messages[0]['id']}", arguments, done=done)

    def experience(self, call: Mapping[str, Any], result: ToolResult, done: int) -> Iterator[Step]:
        """Yield the experience of a tool call that failed, or that worked after the same program had failed."""
        command = command_of(call["args"])
        program = _program(command)
        if result.failed:
            self.failed_programs.add(program)
        elif result.failed is None or not command or program not in self.failed_programs:
            return
        attempt = command or f"{call['name']} {json.dumps(call['args'], ensure_ascii=False)}"
        name = name_of(f"{self.session_id}#{result.id}")
        nei = {
            "situation": f"{call['name']} in {self.project}",
            "goal": self.asked[:500],
            "attempt": attempt[:MAX_OUTPUT],
            "result": result.output,
            "label": "failure" if result.failed else "success",
            "source_type": "run",
            "source_ref": f"{self.host}:{self.session_id}#{result.id}",
            "episode_id": self.session_id,
            "occurred_at": call.get("created_at"),
            "external_id": name,
        }
        arguments = {"nei": {key: value for key, value in nei.items() if value}}
        yield ImportCall("ingest", f"{self.session_id}#{result.id}", arguments, done=done, namespace=self.project)


def read_transcripts(path: Path, host: str, parse: Callable[[Mapping[str, Any]], Iterator[Event]]) -> Iterator[Step]:
    """Yield the calls of each transcript in a folder, or of one file. InputError: there is none."""
    done = 0
    for file in transcript_files(path):
        session = _Session(host, file.stem, of_subagent="subagents" in file.parts)
        titles = _titles(file) if host == "claude-code" else SessionFacts()
        session.title = titles.title
        for n, (line, size) in enumerate(_lines(file), start=1):
            done += size
            if not isinstance(line, dict):
                yield SkippedObject(f"{file.name}, line {n}", "not a JSON object", done)
                continue
            for event in parse({**without_private_values(line), "_line": n}):
                yield from _take(session, event, done)
        yield from session.turn(done)


def _take(session: _Session, event: Event, done: int) -> Iterator[Step]:
    if isinstance(event, SessionFacts):
        session.session_id = event.session_id or session.session_id
        session.title = event.title or session.title
        session.project = project_of(event.folder) if event.folder else session.project
        if event.of_subagent is not None and event.of_subagent != session.of_subagent:
            yield from session.turn(done)
            session.of_subagent = event.of_subagent
    elif isinstance(event, TranscriptMessage):
        if event.role == "user" and any(one["role"] != "user" for one in session.messages):
            yield from session.turn(done)
        message = {"role": event.role, "content": event.text, "id": event.id, "created_at": event.at}
        session.messages.append({name: value for name, value in message.items() if value})
        session.asked = event.text if event.role == "user" else session.asked
    elif isinstance(event, ToolCall):
        call = {"id": event.id, "name": event.name, "args": event.arguments, "created_at": event.at}
        session.calls[event.id] = {name: value for name, value in call.items() if value is not None}
    elif "result" not in (known := session.calls.get(event.id, {"result": None})):
        known["result"] = event.output
        if event.failed is not None:
            known["status"] = "error" if event.failed else "ok"
        yield from session.experience(known, event, done)


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
            try:
                value = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                value = None
            yield value, len(line)


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


def _end(text: str) -> str:
    return text.strip()[-MAX_OUTPUT:]


# Claude Code: ~/.claude/projects/<folder>/<session>.jsonl.

_ENVELOPES: Final = ("<command-", "<local-command-", "<bash-", "<system-reminder>", "<task-notification>")
"""Beginnings of texts that Claude Code writes under the user's name."""


def parse_claude_code(line: Mapping[str, Any]) -> Iterator[Event]:
    """Yield what a line of a transcript of Claude Code says."""
    message = mapping_or_empty(line.get("message"))
    role = message.get("role")
    if line.get("type") not in {"user", "assistant"} or role not in {"user", "assistant"} or line.get("isMeta"):
        return
    at = line.get("timestamp") if isinstance(line.get("timestamp"), str) else None
    yield SessionFacts(
        str(line.get("sessionId") or ""), "", str(line.get("cwd") or ""), bool(line.get("isSidechain")) or None
    )
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    texts = [one["text"] for one in blocks if one.get("type") == "text" and isinstance(one.get("text"), str)]
    text = "\n".join(one for one in texts if one.strip() and not one.startswith(_ENVELOPES))
    if text:
        speaker = "system" if line.get("isCompactSummary") else str(role)
        yield TranscriptMessage(speaker, text, str(line.get("uuid") or line["_line"]), at)
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("id") and block.get("name"):
            yield ToolCall(str(block["id"]), str(block["name"]), block.get("input") or {}, at)
        elif block.get("type") == "tool_result" and block.get("tool_use_id"):
            yield _claude_result(block, line.get("toolUseResult"))


def _claude_result(block: Mapping[str, Any], detail: Any) -> ToolResult:
    content = block.get("content")
    texts = [content] if isinstance(content, str) else [str(one.get("text") or "") for one in objects(content)]
    stopped = mapping_or_empty(detail).get("interrupted") or (isinstance(detail, str) and "rejected" in detail)
    failed = None if stopped else bool(block.get("is_error"))
    return ToolResult(str(block["tool_use_id"]), _end("\n".join(texts)), failed)


def _titles(file: Path) -> SessionFacts:
    """Return the title of a session, which stands anywhere in its file: the user's own, else the latest summary."""
    own = summary = ""
    with file.open("rb") as stream:
        for line in stream:
            if b'-title"' in line[:80] or b'"summary"' in line[:40]:
                try:
                    row = mapping_or_empty(json.loads(line))
                except (ValueError, RecursionError):
                    continue
                own = str(row.get("customTitle") or own)
                summary = str(row.get("aiTitle") or row.get("summary") or summary)
    return SessionFacts(title=own or summary)


# Codex: ~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl.


def parse_codex(line: Mapping[str, Any]) -> Iterator[Event]:
    """Yield what a line of a rollout of Codex says."""
    payload, at = mapping_or_empty(line.get("payload")), line.get("timestamp")
    kind, at = payload.get("type"), at if isinstance(at, str) else None
    if line.get("type") == "session_meta":
        source = mapping_or_empty(payload.get("source"))
        spawned = bool(payload.get("parent_thread_id")) or "subagent" in source
        yield SessionFacts(str(payload.get("id") or ""), "", str(payload.get("cwd") or ""), spawned or None)
    elif line.get("type") == "compacted" and isinstance(payload.get("message"), str) and payload["message"]:
        yield TranscriptMessage("system", payload["message"], str(line["_line"]), at)
    elif line.get("type") == "event_msg":
        item = mapping_or_empty(payload.get("item"))
        ran = payload if kind == "exec_command_end" else item if item.get("type") == "CommandExecution" else {}
        if isinstance(ran.get("exit_code"), int):
            output = ran.get("aggregated_output") or f"{ran.get('stdout') or ''}{ran.get('stderr') or ''}"
            yield ToolResult(str(ran.get("call_id") or ran.get("id")), _end(str(output)), ran["exit_code"] != 0)
    elif line.get("type") == "response_item":
        yield from _codex_item(payload, kind, str(line["_line"]), at)


def _codex_item(payload: Mapping[str, Any], kind: Any, place: str, at: str | None) -> Iterator[Event]:
    call_id = str(payload.get("call_id") or payload.get("id") or place)
    if kind == "message" and payload.get("role") in {"user", "assistant"}:
        texts = [str(one.get("text") or "") for one in objects(payload.get("content"))]
        text = "\n".join(one for one in texts if one.strip() and not _is_scaffolding(one))
        if text:
            yield TranscriptMessage(str(payload["role"]), text, str(payload.get("id") or place), at)
    elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
        given = payload.get("arguments", payload.get("input", {"action": payload.get("action")}))
        yield ToolCall(call_id, str(payload.get("name") or "shell"), _parsed(given), at)
    elif kind in {"function_call_output", "custom_tool_call_output"}:
        yield _codex_output(call_id, payload.get("output"))


def _is_scaffolding(text: str) -> bool:
    """Return whether a text under the user's name was written by Codex: instructions and facts of the environment."""
    return text.startswith(("<environment_context>", "<user_instructions>", "<permissions", "# AGENTS.md", "<turn_"))


def _codex_output(call_id: str, given: Any) -> ToolResult:
    read = _parsed(given)
    fields = mapping_or_empty(read)
    code = mapping_or_empty(fields.get("metadata")).get("exit_code")
    text = fields.get("output", fields.get("content", given))
    if isinstance(text, str) and code is None:
        code, text = _exit_code(text)
    failed = not fields["success"] if isinstance(fields.get("success"), bool) else None if code is None else code != 0
    return ToolResult(call_id, _end(text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)), failed)


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
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return {"input": given}


# Cursor: ~/.cursor/projects/<folder>/agent-transcripts/<session>/<session>.jsonl. It holds no results and no times.


def parse_cursor(line: Mapping[str, Any]) -> Iterator[Event]:
    """Yield what a line of an agent transcript of Cursor says."""
    role, content = line.get("role"), mapping_or_empty(line.get("message")).get("content")
    if role not in {"user", "assistant"}:
        return
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    texts = [_query(str(one.get("text") or "")) for one in blocks if one.get("type") == "text"]
    text = "\n".join(one for one in texts if one.strip())
    if text:
        yield TranscriptMessage(str(role), text, str(line["_line"]))
    for n, block in enumerate(blocks):
        if block.get("type") == "tool_use" and block.get("name"):
            yield ToolCall(f"{line['_line']}.{n}", str(block["name"]), block.get("input") or {})


def _query(text: str) -> str:
    """Return the user's own words of a text in which Cursor wraps them."""
    _, begin, rest = text.partition("<user_query>")
    return rest.partition("</user_query>")[0].strip() if begin else text


def _format(
    host: str,
    parse: Callable[[Mapping[str, Any]], Iterator[Event]],
    fits: Callable[[Mapping[str, Any]], bool],
) -> Format:
    return Format(lambda path: read_transcripts(path, host, parse), _size, f"session transcripts of {host}", fits=fits)


CLAUDE_CODE: Final = _format("claude-code", parse_claude_code, lambda given: "sessionId" in given and "type" in given)
CODEX: Final = _format(
    "codex", parse_codex, lambda given: isinstance(given.get("payload"), Mapping) and "type" in given
)
CURSOR: Final = _format(
    "cursor", parse_cursor, lambda given: "role" in given and isinstance(given.get("message"), Mapping)
)
