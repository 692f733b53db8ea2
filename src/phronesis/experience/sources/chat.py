"""The source ``chat``: read transcripts, and label the attempts of an assistant by the replies of users and tools."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from phronesis.core.ids import derived_id
from phronesis.core.relations import Origin
from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.laws.outcome_labels import OutcomeLabel, is_question, label_of, outcome_in_text, reasons
from phronesis.experience.sources.port import (
    SOURCES,
    STAMP,
    JsonSpan,
    LineIndex,
    RawText,
    Source,
    describe_arguments,
    documents,
    elements,
    is_json,
    load_json,
    member,
    moment_of,
    placed_lines,
    storable_drafts,
    text_of,
)

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


def _of_json(raw: RawText) -> Iterator[Transcript]:
    loose: list[JsonSpan] = []
    for one in documents(raw.text):
        parts = list(elements(raw.text, one)) if isinstance(one.value, list) else [one]
        nested = [(part.value, inner) for part in parts if (inner := _list_in(raw.text, part))]
        for said, inner in nested:
            given = next((said[key] for key in ("id", "conversation_id", "session_id") if said.get(key)), None)
            name = str(given) if isinstance(given, str | int) else None
            yield Transcript(name, tuple(messages_in(raw, list(elements(raw.text, inner)))))
        if not nested and isinstance(one.value, list):
            yield Transcript(None, tuple(messages_in(raw, parts)))
        elif not nested:  # a message on a line of its own
            loose.append(one)
    if loose:
        yield Transcript(None, tuple(messages_in(raw, loose)))


def _list_in(text: str, placed: JsonSpan) -> JsonSpan | None:
    if not isinstance(placed.value, Mapping):
        return None
    name = next((name for name in _LISTS if isinstance(placed.value.get(name), list)), None)
    return member(text, placed, name) if name is not None else None


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


def _of_text(raw: RawText) -> Iterator[Message]:
    """Yield the turns of a text in which each begins with its speaker."""
    turns: list[tuple[Role, int, int, list[str], datetime | None]] = []
    for start, end, line in placed_lines(raw.text):
        match = _SPEAKER.match(line[:_LINE]) or _HEADING.match(line[:_LINE])
        role = _ROLES.get(match[1].strip().casefold()) if match else None
        if match and role:
            words = line[match.start(2) :].strip() if match.re is _SPEAKER else ""
            stamp = STAMP.search(line[: match.start(1)])
            turns.append((role, start, end, [words], moment_of(raw, stamp[0]) if stamp else None))
        elif turns and line.strip():
            before = turns[-1]
            before[3].append(line.rstrip())
            turns[-1] = (before[0], before[1], end, before[3], before[4])
        elif turns:
            turns[-1][3].append("")
    for role, begin, end, said, at in turns:
        if told := "\n".join(said).strip():
            yield Message(role=role, text=told, start=begin, end=end, at=at)


_RESULT: Final = 500
_CONTINUES: Final = re.compile(
    r"\s{0,9}(?:try|instead|what about|how about|and (?:if|what)|rather|no[,.]|not |use |please (?:use"
    r"|try)|again|same|再|换|试试|那就|不是|不要)",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"[^.!?\n。！？]{1,600}[?？]")
_ERROR: Final = re.compile(r"\b((?:[A-Za-z_]\w{0,40}\.){0,5}[A-Z]\w{0,60}(?:Error|Exception))\b")
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class _Attempt:
    text: str
    start: int
    end: int
    at: datetime | None
    situation: str
    tool: str | None = None
    result: str = ""
    result_origin: Origin = "rule"
    judged: OutcomeLabel = OutcomeLabel("unknown")  # noqa: RUF009 - frozen
    reflection: str = ""
    reflection_origin: Origin = "human"
    observations: dict[str, Any] = field(default_factory=dict)
    artifacts: list[Artifact] = field(default_factory=list)


@dataclass(slots=True)
class _Episode:
    """One request, and the attempts at it."""

    request: str
    attempts: list[_Attempt] = field(default_factory=list)
    situation: str = ""
    failed: _Attempt | None = None
    waiting: dict[str, _Attempt] = field(default_factory=dict)
    asked_back: bool = False
    closed: bool = False


_REMEDY: Final = (
    "a conversation is a list of messages with role and content, or from and value, in which a user asks and an"
    " assistant answers"
)


class ChatSource(Source):
    """Reads transcripts, as JSON or as text."""

    source_type = "chat"
    version = "chat/3"

    def read(self, raw: RawText) -> Sequence[Draft]:
        """Return the attempts at each request; none for a text without requests and answers."""
        return storable_drafts(_drafts(raw))

    def refusal(self, raw: RawText) -> str:
        """Return why a text cannot be read: JSON without a conversation."""
        if not is_json(raw.text) or transcripts(raw):
            return ""
        return f"JSON in which no conversation is found, which the source 'chat' does not read; {_REMEDY}"


def _drafts(raw: RawText) -> Iterator[Draft]:
    index, made = LineIndex(raw.text), derived_id("chat", raw.text.encode(errors="replace").decode())
    for k, transcript in enumerate(transcripts(raw)):
        name = transcript.id or (f"{made}.{k}" if k else made)
        for n, episode in enumerate(_episodes(transcript), start=1):
            for seq, attempt in enumerate(episode.attempts, start=1):
                yield _draft(attempt, episode.request, f"{name}#{n}", seq, index)


def _episodes(transcript: Transcript) -> list[_Episode]:
    """Return the episodes of a conversation."""
    episodes: list[_Episode] = []
    setting = ""
    for message in transcript.messages:
        now = episodes[-1] if episodes and not episodes[-1].closed else None
        if message.role == "system":
            setting = message.text.strip()[:_RESULT]
        elif message.role == "user":
            following = _process_user(now, message) if now is not None else message.text.strip()
            if following:
                episodes.append(_Episode(following, situation=setting))
        elif now is not None and message.role == "assistant":
            _process_assistant(now, message)
        elif now is not None:
            _process_result(now, message)
    return [episode for episode in episodes if episode.attempts]


def _process_user(episode: _Episode, message: Message) -> str:
    """Process a user message after attempts: a verdict on the last one, and perhaps the next request."""
    text = message.text.strip()
    if not episode.attempts:
        if not episode.asked_back:
            episode.request = f"{episode.request}\n{text}"
        episode.asked_back = False
        return ""
    last = episode.attempts[-1]
    judged = outcome_in_text(text)
    if judged.signals:
        last.result, last.result_origin, last.end = text[:_RESULT], "human", message.end
        last.judged = judged
        episode.failed = last if judged.label == "failure" else episode.failed
        last.artifacts += [Artifact("error_type", name.rpartition(".")[2]) for name in _ERROR.findall(text[:_RESULT])]
    if why := reasons(text):
        last.reflection, last.reflection_origin = why, "human"
    episode.situation = text[:_RESULT]
    if judged.label == "success":
        episode.closed = True
        question = _QUESTION.search(text[:2_000])
        return question[0].strip() if question else ""
    if judged.signals or episode.asked_back or _CONTINUES.match(text):
        episode.asked_back = False
        return ""
    episode.closed = True
    return text


def _process_assistant(episode: _Episode, message: Message) -> None:
    """Process an assistant message and its tool calls."""
    text = message.text.strip()
    why = reasons(text)
    before = episode.failed
    if why and before is not None and not before.reflection:
        before.reflection, before.reflection_origin = why, "model"
    episode.asked_back = not message.calls and is_question(text)
    for n, call in enumerate(message.calls):
        words = f"{call.name}: {call.arguments}" if call.arguments else call.name
        made = _Attempt(words, message.start, message.end, message.at, episode.situation, tool=call.name)
        episode.attempts.append(made)
        episode.waiting[call.id or f"{len(episode.attempts)}.{n}"] = made
    if text and not message.calls and not episode.asked_back:
        episode.attempts.append(_Attempt(text, message.start, message.end, message.at, episode.situation))


def _process_result(episode: _Episode, message: Message) -> None:
    """Assign a tool result to the call that it answers, else to the first open one."""
    first = message.answers or next(iter(episode.waiting), "")
    if (attempt := episode.waiting.pop(first, None)) is None:
        return
    attempt.end = message.end
    judged, result, told = tool_outcome(message.text, failed=message.failed)
    attempt.judged = judged
    episode.failed = attempt if judged.label == "failure" else episode.failed
    attempt.result = result[:_RESULT]
    attempt.observations = dict(told.observations) if told is not None else {}
    attempt.artifacts += list(told.artifacts) if told is not None else []


def tool_outcome(text: str, *, failed: bool | None = None) -> tuple[OutcomeLabel, str, Draft | None]:
    """Return the label of a tool result, its short form, and the draft of a log that it contains."""
    words = text.strip()
    if (given := load_json(words)) is not None:
        return label_of(given, {"is_error": failed} if failed else None), words, None
    logs = SOURCES.get("log")  # a plug-in: without it, the words of the result decide
    drafts = () if logs is None else logs.read(RawText(text=text, recorded_at=_NEVER))
    bad = next((draft for draft in drafts if draft.label == "failure"), None)
    best = bad or next((draft for draft in drafts if draft.label == "success"), None)
    if failed:
        told = label_of({"is_error": True})
        return told, best.result if bad and best else words, bad
    if best is not None:
        return OutcomeLabel(best.label, tuple(best.signals), best.confidence), best.result or words, best
    return label_of(words[:_RESULT]), words, None


def _draft(attempt: _Attempt, request: str, episode: str, seq: int, index: LineIndex) -> Draft:
    told: dict[str, Origin] = {"situation": "human", "result": attempt.result_origin}
    told["reflection"] = attempt.reflection_origin
    origins: dict[str, Origin] = {"goal": "human", "attempt": "model"}
    origins |= {name: origin for name, origin in told.items() if getattr(attempt, name)}
    tools = [Artifact("concept", attempt.tool)] if attempt.tool else []
    return Draft(
        attempt=attempt.text,
        situation=attempt.situation,
        goal=request,
        result=attempt.result,
        reflection=attempt.reflection,
        **attempt.judged.fields,
        field_origin=origins,
        observations=attempt.observations,
        artifacts=list(dict.fromkeys([*attempt.artifacts, *tools])),
        **index.place(attempt.start, attempt.end),
        occurred_at=attempt.at,
        episode_id=episode,
        seq=seq,
    )
