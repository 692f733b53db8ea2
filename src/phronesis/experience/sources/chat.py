"""The source ``chat``: attempts of an assistant, labelled by the replies of the user and of tools."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from phronesis.core.ids import derived_id
from phronesis.core.relations import Origin
from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.laws.outcome_labels import OutcomeLabel, is_question, label_of, reasons, said_outcome
from phronesis.experience.sources.port import SOURCES, LineIndex, RawText, Source, is_json, storable_drafts
from phronesis.experience.sources.transcripts import Message, Transcript, transcripts

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
    found = transcripts(raw)
    if not found:
        return
    index, made = LineIndex(raw.text), derived_id("chat", raw.text.encode(errors="replace").decode())
    for k, transcript in enumerate(found):
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
    judged = said_outcome(text)
    if judged.signals:
        last.result, last.result_origin, last.end = text[:_RESULT], "human", message.end
        last.judged = judged
        episode.failed = last if judged.label == "failure" else episode.failed
        last.artifacts += [Artifact("error_type", name.rpartition(".")[2]) for name in _ERROR.findall(text[:_RESULT])]
    why = reasons(text)
    if why:
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
    attempt = episode.waiting.pop(first, None)
    if attempt is None:
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
    if words[:1] in {"{", "["}:
        try:
            given = json.loads(words)
        except (ValueError, RecursionError):
            given = None
        if given is not None:
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
    origins: dict[str, Origin] = {"goal": "human", "attempt": "model"}
    if attempt.situation:
        origins["situation"] = "human"
    if attempt.result:
        origins["result"] = attempt.result_origin
    if attempt.reflection:
        origins["reflection"] = attempt.reflection_origin
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
