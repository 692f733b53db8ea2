"""The working summary of a session by a model: every few turns, from the last summary and the messages since.

Every line cites its sources or is refused. The outcome is recorded with the turn that triggered it; apply replaces the
session's one summary row: no item, no delta. Without a model nothing is stored, and ``compose/session_history`` sums up
by rules on read.

A model's text may contain any word of its input, whatever sources it cites. So an outcome names everything that was
shown (``seen``) and the entry of the summary it started from (``stands_on``); an erasure follows both.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import pydantic

from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.entries import (
    ConversationRows,
    Entry,
    Outcome,
    SummaryLine,
    SummaryRow,
    TurnPayload,
    is_erased,
    payload_of,
)
from phronesis.core.ids import item_id
from phronesis.engine.handler import Outcomes, Prepare, PrepareContext, answer_outcomes
from phronesis.log.payloads import fit, load_listed, message_text
from phronesis.models.structured_client import StructuredClient, Task, drop_invalid, prompt
from phronesis.store.lane_view import LaneView

ROLE: Final = "summarise"
SUMMARY: Final = "summary"
ANSWERS: Final = "summary_answer"
"""Roles of outcomes: the accepted lines, and the model's answers."""

PROMPT_VERSION: Final = "summarise/2"
"""Version of ``prompts/summarise.md``, recorded with every outcome."""

RULES_VERSION: Final = "summary-rules/1"
"""Name of the summary by rules, used where no model is."""

MAX_SHOWN: Final = 12_000
"""Maximum characters of messages shown to the model, the newest first."""

MAX_MESSAGE: Final = 2_000
"""Maximum characters shown of one message: its beginning says what it is about."""

MAX_LINES: Final = 40
MAX_LINE: Final = 400
MAX_SOURCES: Final = 40
"""Bounds of an answer."""


class ProposedLine(pydantic.BaseModel):
    """A line as a model gives it, and the numbers of the texts that it stands on."""

    model_config = pydantic.ConfigDict(extra="ignore")

    text: Annotated[str, pydantic.Field(min_length=1, max_length=MAX_LINE)]
    of: Annotated[list[Annotated[int, pydantic.Field(ge=0, le=100_000)]], pydantic.Field(max_length=MAX_SOURCES)] = []


class SummaryAnswer(pydantic.BaseModel, title="Lines"):
    """The answer asked for."""

    model_config = pydantic.ConfigDict(extra="ignore", defer_build=True)

    lines: Annotated[list[ProposedLine], drop_invalid(ProposedLine), pydantic.Field(max_length=MAX_LINES)]


@dataclass(frozen=True, slots=True)
class _Text:
    """One text shown to the model: a line of the last summary, or a message."""

    words: str
    role: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Window:
    """Input of a summary: the texts by number, and the summary it starts from."""

    turn: int
    texts: Sequence[_Text]
    previous: SummaryRow | None


@dataclass(frozen=True, slots=True)
class SessionSummarizer:
    """Prepares a turn as ``before`` does, and a summary every ``every_turns`` turns of a session.

    ``suspicious`` returns a finding for a text that reads like an order to a model, which no line of a summary may be.
    A text that ``hides`` matches is neither shown to the model nor accepted as a line.
    """

    before: Prepare
    asker: StructuredClient
    every_turns: int = 8
    max_tokens: int = 400
    suspicious: Callable[[str], object | None] = lambda _text: None
    hides: Callable[[str], bool] = lambda _text: False

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcomes of both, renumbered within a role."""
        prepared = list(self.before(bench, entry))
        for outcome in self.prepare_summary(bench, entry):
            taken = sum(one.role == outcome.role for one in prepared)
            prepared.append(dataclasses.replace(outcome, n=taken))
        return prepared

    def prepare_summary(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the summary due at this turn and the model's answers; empty when none is due."""
        with bench.view() as view:
            window = self._due(view, entry)
        if window is None:
            return ()
        data = f"At most {self.max_tokens} tokens.\n{_fenced(entry, window.texts)}"
        answer = self.asker.ask(bench.tenant, Task(prompt(ROLE), data, SummaryAnswer))
        said = answer_outcomes(ROLE, answer, model=self.asker.name, by=RULES_VERSION, kept_as=ANSWERS)
        if answer.value is None:
            return said
        lines, refused = self._gated(answer.value, window)
        body = {
            "turn": window.turn,
            "lines": lines,
            "refused": refused,
            "seen": list(dict.fromkeys(one for text in window.texts for one in text.ids)),
            "stands_on": [] if window.previous is None else [window.previous.entry_id],
        }
        return [*said, Outcome(role=SUMMARY, made_by=f"{self.asker.name} {PROMPT_VERSION}", body=body)]

    def _due(self, view: LaneView, entry: Entry) -> _Window | None:
        """Return the input of a summary if this entry is a session's n-th turn, else None."""
        session_id = payload_of(entry, TurnPayload).get("session_id")
        session = view.session(session_id) if session_id is not None else None
        turn = 1 if session is None else session.turn_count + 1
        if session_id is None or turn % self.every_turns:
            return None
        rows = view.turns(session_id)
        if any(row.entry_id == entry.id for row in rows):
            return None  # rederived with later turns present: the summary is that of the end
        previous = view.summary(session_id)
        since = [row.entry_id for row in rows if previous is None or row.number > previous.turn]
        entries = load_listed(view.log or view.unit, view.lane, since)
        messages = [text for one in since if one in entries for text in _messages(entries[one])]
        held = view.items([text.ids[0] for text in messages])
        messages = [text for text in messages if text.ids[0] in held and held[text.ids[0]].live]
        lines = () if previous is None else previous.lines
        shown = [text for text in (*messages, *_messages(entry)) if not self.hides(text.words)]
        told = [_Text(line.text, "summary", line.of) for line in lines if not self.hides(line.text)]
        texts = told + _newest(shown)
        return _Window(turn, texts, previous) if texts else None

    def _gated(self, answer: SummaryAnswer, window: _Window) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Separate the lines with valid sources from the others, and from those that read like orders."""
        taken: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        room = self.max_tokens
        for line in answer.lines:
            text = " ".join(fit(line.text).split())
            tokens = self.asker.counter.count(text)
            faults = {
                "it says nothing": not text,
                "it stands on nothing": not line.of,
                "there is no such text": any(n >= len(window.texts) for n in line.of),
                "it reads like an order": self.suspicious(text) is not None,
                "it speaks of a sensitive matter": self.hides(text),
                "the summary is long enough without it": tokens > room,
            }
            why = next((name for name, holds in faults.items() if holds), None)
            if why is not None:
                refused.append({"text": text, "of": line.of, "why": why})
                continue
            room -= tokens
            ids = dict.fromkeys(one for n in line.of for one in window.texts[n].ids)
            taken.append({"text": text, "of": list(ids)[-MAX_SOURCES:]})
        return taken, refused


def add_summary(
    view: LaneView, entry: Entry, outcomes: Outcomes, rows: ConversationRows | None
) -> ConversationRows | None:
    """Return the rows with the session's new summary, if one was prepared for this turn and still fits.

    It does not fit when it started from another summary than the stored one, which then stays.
    """
    prepared = next((outcome.body for outcome in outcomes.get(SUMMARY, ())), None)
    if rows is None or prepared is None:
        return rows
    before = view.summary(rows.session.session_id)
    if prepared["stands_on"] != ([] if before is None else [before.entry_id]):
        return rows
    own = {item_id(entry.id, "message", str(n)) for n in range(len(payload_of(entry, TurnPayload).get("messages", ())))}
    prepared_lines = [SummaryLine(line["text"], tuple(line["of"])) for line in prepared["lines"]]
    known = own | set(view.items(sorted({one for line in prepared_lines for one in line.of} - own)))
    lines = tuple(line for line in prepared_lines if known.issuperset(line.of))
    if not lines:
        return rows
    summary = SummaryRow(
        session_id=rows.session.session_id,
        entry_id=entry.id,
        turn=rows.turn.number,
        position=rows.session.message_count,
        recorded_at=entry.recorded_at,
        lines=lines,
    )
    return dataclasses.replace(rows, summary=summary)


def _messages(entry: Entry) -> list[_Text]:
    out = []
    for n, message in enumerate(payload_of(entry, TurnPayload).get("messages", ())):
        words = "" if is_erased(message) else fit(message_text(message)).strip()
        if words:
            role = message.get("role")
            role = role if role in ("user", "assistant", "tool") else "other"
            out.append(_Text(words[:MAX_MESSAGE], role, (item_id(entry.id, "message", str(n)),)))
    return out


def _newest(messages: Sequence[_Text]) -> list[_Text]:
    """Return the newest messages that fit, in order."""
    used = itertools.accumulate(len(text.words) for text in reversed(messages))
    count = sum(size <= MAX_SHOWN for size in used)
    return list(messages[len(messages) - count :])


def _fenced(entry: Entry, texts: Sequence[_Text]) -> str:
    boundary = choose_boundary(entry.id, [text.words for text in texts])
    return "\n".join(boundary.turn(f'n="{n}" role="{text.role}"', text.words) for n, text in enumerate(texts))
