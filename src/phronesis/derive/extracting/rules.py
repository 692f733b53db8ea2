"""Proposals by rules: what the messages of an entry say, in English and Chinese."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Any, Final

from phronesis.core.calendar import find_times
from phronesis.core.entries import Entry, is_erased
from phronesis.core.instants import parse_moment
from phronesis.core.proposals import USER, Proposal, Refusal
from phronesis.derive.extracting.cast import Cast
from phronesis.derive.extracting.clauses import MAX_READ, is_chinese
from phronesis.derive.extracting.gate import MAX_REFUSALS, Gate, refusal
from phronesis.derive.extracting.memory_types import MemoryTypes, compared, load_memory_types
from phronesis.derive.extracting.reading import Reading
from phronesis.derive.extracting.tables import Language, load_language

RULES_VERSION: Final = "extract-rules/2"
"""Rises when the tables or the rules change what they find: it stands with every outcome."""

LANGUAGES: Final = ("en", "zh")

_TITLES: Final = (
    "title",
    "summary",
    "event",
    "appointment",
    "meeting",
    "flight",
    "name",
    "subject",
    "事项",
    "标题",
    "名称",
    "日程",
    "活动",
)
_STARTS: Final = (
    "start",
    "starts_at",
    "start_time",
    "starts",
    "date",
    "when",
    "time",
    "datetime",
    "departure",
    "at",
    "时间",
    "开始时间",
    "开始",
    "日期",
)
"""Fields of a calendar's answer: what it is, and when."""

_MAX_EVENTS: Final = 20


@cache
def known_languages() -> Mapping[str, Language]:
    """Give the tables of the languages: they never change, and compiling them takes a quarter of a second."""
    return {code: load_language(code) for code in LANGUAGES}


@dataclass(frozen=True, slots=True)
class Rules:
    """Reads the messages of an entry."""

    types: MemoryTypes = field(default_factory=load_memory_types)
    gate: Gate = field(default_factory=Gate)

    def propose(self, entry: Entry, texts: Mapping[int, str]) -> tuple[list[Proposal], list[Refusal]]:
        """Give what the messages of an entry say, and what of them is refused, by number of the message."""
        proposals: list[Proposal] = []
        refusals: list[Refusal] = []
        for n, text in texts.items():
            message = entry.payload["messages"][n]
            if not text.strip() or is_erased(message):
                continue
            given = message.get("created_at") or entry.payload.get("occurred_at")
            at = entry.recorded_at if given is None else parse_moment(given, field="created_at")
            found, refused = self.read(n, message, text, at)
            proposals += found
            refusals += refused
        return proposals, refusals

    def read(self, n: int, message: Mapping[str, Any], text: str, at: datetime) -> tuple[list[Proposal], list[Refusal]]:
        """Give what one message says, and what of it is refused and why."""
        role = message["role"]
        if role == "assistant":
            return [], [refusal(n, text, "assistant")]
        if role not in {"user", "tool"}:
            return [], [refusal(n, text, "operator")]
        languages = known_languages()
        cast = Cast(speaker=(message.get("name") if role == "user" else None) or USER)
        reading = Reading(n, text, at, self.types, languages, cast)
        if role == "tool":
            self._answered(reading, languages)
        else:
            reading.read()
        kept: list[Proposal] = []
        doubtful: list[Proposal] = []
        for one in reading.proposals:
            (kept if self.gate.passes(one.basis, one.confidence) else doubtful).append(self._compared(one, at))
        refused = reading.refusals + [refusal(n, one.quote, "low_confidence") for one in doubtful[:1]]
        if not kept and not refused:
            refused = [refusal(n, text, reading.rule or "chit_chat")]
        return kept, refused[:MAX_REFUSALS]

    def _compared(self, one: Proposal, at: datetime) -> Proposal:
        row = self.types.find(one.key, one.kind)
        return one if row is None or one.value is None else replace(one, compared=compared(row, one.value, at=at))

    def _answered(self, reading: Reading, languages: Mapping[str, Language]) -> None:
        """Take from a tool's answer only the dates of a calendar, by their fields; never what it tells to do."""
        text = reading.text[:MAX_READ]
        language = languages["zh" if is_chinese(text) else "en"]
        reading.rule = "instruction" if language.gates["instruction"].search(text.lower()) else "chit_chat"
        if reading.rule == "instruction" or not text.lstrip().startswith(("{", "[")):
            reading.rule = (
                "code" if reading.rule != "instruction" and text.lstrip().startswith(("$", "#", "<")) else reading.rule
            )
            return
        try:
            answer = json.loads(reading.text)
        except (ValueError, RecursionError):
            reading.rule = "code"
            return
        row = self.types.find("appointment")
        if row is None:
            return
        for title, start in list(_events(answer))[:_MAX_EVENTS]:
            place = reading.text.find(title)
            times = find_times(start, reading.at)
            if place >= 0 and times:
                reading.proposals.append(
                    Proposal(
                        n=reading.n,
                        quote=title,
                        start=place,
                        end=place + len(title),
                        kind=row.kind,
                        subject=USER,
                        key=row.key,
                        content=f"{title} ({start})",
                        value=title,
                        cardinality=row.cardinality,
                        basis="tool",
                        confidence=0.9,
                        importance=row.importance,
                        occurred_at=f"{times[0].first.isoformat()}T00:00:00Z",
                    )
                )


def _events(answer: Any) -> Iterator[tuple[str, str]]:
    """Give titles and starts of what a calendar answered: an object, a list of them, or one field that holds a list."""
    if isinstance(answer, list):
        for one in answer[:_MAX_EVENTS]:
            yield from _events(one)
    elif isinstance(answer, dict):
        small = {str(key).lower(): value for key, value in answer.items()}
        title = next((small[key] for key in _TITLES if isinstance(small.get(key), str) and small[key].strip()), None)
        start = next((small[key] for key in _STARTS if isinstance(small.get(key), str)), None)
        if title is not None and start is not None:
            yield title, start
            return
        for value in answer.values():
            if isinstance(value, list):
                yield from _events(value)
