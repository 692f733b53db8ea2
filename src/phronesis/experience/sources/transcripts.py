"""Parse conversation messages from chat-completion JSON, or from text with a speaker before each turn."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.timestamps import parse_moment
from phronesis.errors import InputError
from phronesis.experience.sources.port import JsonSpan, RawText, documents, elements, member

Role = Literal["user", "assistant", "tool", "system"]

_SPEAKERS: Final[dict[Role, str]] = {
    "user": "user|human|customer|用户|人类|客户|用戶",
    "assistant": "assistant|ai|bot|gpt|chatgpt|claude|agent|model|助手|助理|机器人|智能体|function_call|tool_call",
    "system": "system|developer|系统",
    "tool": "tool|function|tool result|工具|ipython|observation|tool_response|function_response",
}
_ROLES: Final[dict[str, Role]] = {word: role for role, words in _SPEAKERS.items() for word in words.split("|")}
_LISTS: Final = ("messages", "conversation", "conversations", "turns", "chat", "history", "dialogue")
_TIMES: Final = ("created_at", "timestamp", "time", "date", "create_time")
_SPEAKER: Final = re.compile(
    r"[\s>*_-]{0,8}(?:\[[^\]\n]{1,40}\]\s?)?[*_]{0,3}([A-Za-z]{2,10}(?: result)?"
    r"|[\u4e00-\u9fff]{2,3})(?:\s?[(（][^)）\n]{1,40}[)）])?[*_]{0,3}\s?[:：][*_]{0,3}\s?(.*)\Z"
)
_HEADING: Final = re.compile(r"#{1,6}\s{1,3}[*_]{0,3}([A-Za-z]{2,10}|[\u4e00-\u9fff]{2,3})[*_]{0,3}\s?[:：]?\s{0,3}\Z")
_STAMP: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?")
_LINE: Final = 2_000
_CONTENTS: Final = ("content", "value", "text", "parts", "output")
_ITEMS: Final = {"function_call": "function_call", "function_call_output": "tool"}
"""Items of OpenAI's responses that have a type instead of a role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call in a message."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: the speaker, the text, the tool calls; [``start``, ``end``) is its span."""

    role: Role
    text: str
    start: int
    end: int
    calls: tuple[ToolCall, ...] = ()
    answers: str | None = None
    failed: bool | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation: its id, if given, and its messages in order."""

    id: str | None
    messages: tuple[Message, ...]


def transcripts(raw: RawText) -> list[Transcript]:
    """Return the conversations in a text in which both sides speak."""
    found = list(_of_json(raw)) or [Transcript(None, tuple(_of_text(raw)))]
    return [one for one in found if {"user", "assistant"} <= {message.role for message in one.messages}]


def moment_of(raw: RawText, said: object) -> datetime | None:
    """Return a complete time that is not after the text was recorded; else None."""
    if not isinstance(said, str) or not _STAMP.match(said.strip()):
        return None
    try:
        return raw.past(parse_moment(said, field="at"))
    except InputError:
        return None


def _of_json(raw: RawText) -> Iterator[Transcript]:
    loose: list[JsonSpan] = []
    for one in documents(raw.text):
        if isinstance(one.value, list):
            inner = list(elements(raw.text, one))
            nested = [part for part in inner if _list_in(raw.text, part)]
            if not nested:
                yield Transcript(None, tuple(messages_in(raw, inner)))
            for part in nested:
                yield from _conversation(raw, part)
        elif _list_in(raw.text, one):
            yield from _conversation(raw, one)
        else:  # a message on a line of its own
            loose.append(one)
    if loose:
        yield Transcript(None, tuple(messages_in(raw, loose)))


def _list_in(text: str, placed: JsonSpan) -> JsonSpan | None:
    if not isinstance(placed.value, Mapping):
        return None
    name = next((name for name in _LISTS if isinstance(placed.value.get(name), list)), None)
    return member(text, placed, name) if name is not None else None


def _conversation(raw: RawText, placed: JsonSpan) -> Iterator[Transcript]:
    inner = _list_in(raw.text, placed)
    if inner is not None:
        given = next(
            (placed.value[key] for key in ("id", "conversation_id", "session_id") if placed.value.get(key)), None
        )
        name = str(given) if isinstance(given, str | int) else None
        yield Transcript(name, tuple(messages_in(raw, list(elements(raw.text, inner)))))


def messages_in(raw: RawText, placed: list[JsonSpan]) -> Iterator[Message]:
    """Return the messages of JSON values: forms of OpenAI, Anthropic, Google, and ShareGPT's ``from`` and ``value``."""
    for one in placed:
        said = one.value
        if not isinstance(said, Mapping):
            continue
        given = said.get("role") or said.get("from") or said.get("speaker") or _ITEMS.get(str(said.get("type")))
        role = _ROLES.get(given.strip().casefold()) if isinstance(given, str) else None
        if role is None:
            continue
        at = next((moment for key in _TIMES if (moment := moment_of(raw, said.get(key)))), None)
        content = next((said[key] for key in _CONTENTS if said.get(key) is not None), None)
        parts = content if isinstance(content, list) else []
        text = content if isinstance(content, str) else text_of(parts)
        place: dict[str, Any] = {"start": one.start, "end": one.end, "at": at}
        if role == "tool":
            yield _result(text, _answered_call(said), said, place)
            continue
        for part in parts:
            if isinstance(part, Mapping) and part.get("type") == "tool_result":
                yield _result(text_of(part.get("content")), part.get("tool_use_id"), part, place)
        calls = tuple(_calls(said, parts))
        if text.strip() or calls:
            yield Message(role=role, text=text, calls=calls, **place)


def _result(text: str, answers: object, said: Mapping[str, Any], place: Mapping[str, Any]) -> Message:
    """Return the message of a tool's result."""
    failed = said.get("is_error")
    return Message(
        role="tool", text=text, answers=str(answers or ""), failed=failed if isinstance(failed, bool) else None, **place
    )


def _answered_call(said: Mapping[str, Any]) -> object:
    """Return the id of the call that a tool message answers; SWE-agent lists it."""
    listed = said.get("tool_call_ids")
    return (
        said.get("tool_call_id") or said.get("call_id") or (listed[0] if isinstance(listed, list) and listed else None)
    )


def text_of(content: object) -> str:
    """Return the text of a message's content: a string, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    said = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return "\n".join(one for one in said if isinstance(one, str))


def _calls(said: Mapping[str, Any], parts: list[Any]) -> Iterator[ToolCall]:
    given = said.get("tool_calls")
    listed = given if isinstance(given, list) else []
    for call in [*listed, {"function": said.get("function_call")}]:
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield from _call(call.get("id"), function.get("name"), function.get("arguments", function.get("args")))
    for name in ("function_call", "tool_call"):  # ShareGPT's: the words are the call
        if name in {said.get("from"), said.get("role")} and isinstance(said.get("value", said.get("content")), str):
            found = documents(said.get("value", said.get("content")))
            if len(found) == 1 and isinstance(found[0].value, Mapping):
                yield from _call("", found[0].value.get("name"), found[0].value.get("arguments"))
    if said.get("type") == "function_call":
        yield from _call(said.get("call_id"), said.get("name"), said.get("arguments"))
    for part in parts:
        if isinstance(part, Mapping) and isinstance(part.get("functionCall"), Mapping):
            yield from _call("", str(part["functionCall"].get("name") or "a tool"), part["functionCall"].get("args"))
        if isinstance(part, Mapping) and part.get("type") == "tool_use":
            yield from _call(part.get("id"), part.get("name"), part.get("input"))


def _call(called: object, name: object, arguments: object) -> Iterator[ToolCall]:
    if isinstance(name, str):
        yield ToolCall(id=str(called or ""), name=name, arguments=describe_arguments(arguments))


def describe_arguments(given: object) -> str:
    """Return arguments in short: a single one unchanged, several as JSON."""
    if isinstance(given, str):
        found = documents(given) if given.lstrip()[:1] == "{" else []
        if len(found) != 1:
            return given.strip()
        given = found[0].value
    if isinstance(given, Mapping) and len(given) == 1:
        (only,) = given.values()
        if isinstance(only, str):
            return only.strip()
    return "" if given in (None, {}, []) else json.dumps(given, ensure_ascii=False)


def _of_text(raw: RawText) -> Iterator[Message]:
    """Yield the turns of a text in which each begins with its speaker."""
    text = raw.text
    turns: list[tuple[Role, int, int, list[str], datetime | None]] = []
    start = 0
    for line in text.split("\n"):
        match = _SPEAKER.match(line[:_LINE]) or _HEADING.match(line[:_LINE])
        role = _ROLES.get(match[1].strip().casefold()) if match else None
        end = start + len(line)
        if match and role:
            words = line[match.start(2) :].strip() if match.re is _SPEAKER else ""
            stamp = _STAMP.search(line[: match.start(1)])
            turns.append((role, start, end, [words], moment_of(raw, stamp[0]) if stamp else None))
        elif turns and line.strip():
            before = turns[-1]
            before[3].append(line.rstrip())
            turns[-1] = (before[0], before[1], end, before[3], before[4])
        elif turns:
            turns[-1][3].append("")
        start = end + 1
    for role, begin, end, said, at in turns:
        told = "\n".join(said).strip()
        if told:
            yield Message(role=role, text=told, start=begin, end=end, at=at)


def words_in(said: object) -> str:
    """Return a value of a record as text: its text members, else its JSON, shortened."""
    if isinstance(said, str):
        return said.strip()
    if isinstance(said, int) and not isinstance(said, bool) and abs(said) < 10**18:
        return str(said)
    return text_of(said) or compact_json(said)[:500] if isinstance(said, dict | list) and said else ""


def compact_json(value: object) -> str:
    """Return a value as JSON without spaces, its keys sorted."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def texts_in(said: object) -> list[str]:
    """Return the texts of a value: itself, or the members of a list that are texts."""
    if isinstance(said, str):
        return [said] if said.strip() else []
    return [one for one in said if isinstance(one, str) and one.strip()] if isinstance(said, list) else []
