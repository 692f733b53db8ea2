"""Proposals by rules: what the messages of an entry say, in English and Chinese."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from phronesis.conversation.extracting.cast import DiscourseState
from phronesis.conversation.extracting.gate import INJECTED, MAX_REFUSALS, Gate, refusal
from phronesis.conversation.extracting.matching import ClauseMatcher
from phronesis.conversation.extracting.memory_types import MemoryTypes, comparable_value, load_memory_types
from phronesis.conversation.extracting.postprocess import answers, is_fragment
from phronesis.conversation.extracting.reading import MessageReader
from phronesis.conversation.extracting.tables import Language, load_language
from phronesis.conversation.extracting.tagging.opinion import TaggerReranker
from phronesis.conversation.extracting.tool_answers import read_answer
from phronesis.conversation.forget_requests import forget_requests
from phronesis.core.data_delimiters import OwnText, own_text
from phronesis.core.entries import Entry, is_erased
from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import USER, Proposal, Refusal
from phronesis.core.statements import with_effect_time
from phronesis.core.timestamps import parse_local
from phronesis.engine.prompt_injection import speaker_name
from phronesis.models.text_features import common_end

# Chinese that is set with a space beside Latin letters and digits (在 17 楼, 用 Go 写), read as if it had none.

_BESIDE: Final = re.compile(r"(?<=[一-鿿]) (?=[A-Za-z0-9@#])|(?<=[A-Za-z0-9%+#]) (?=[一-鿿])")
_SET_SO: Final = re.compile(r"[一-鿿] [A-Za-z0-9@#]|\d [年月号日点楼岁块元个天分度](?![一-鿿]*[，,]\d)")
"""What tells it from a space that stands for a comma (15951880023 找我): one before what is Latin, or 17 号."""


@dataclass(frozen=True, slots=True)
class UnspacedText:
    """A message without such spaces: ``places`` says of each character where it stands in ``said``."""

    said: str
    text: str
    places: Sequence[int]

    def put_back(self, one: Proposal) -> Proposal:
        """Return a proposal as the message had it, with its spaces."""
        start, end = self.places[one.start], self.places[one.end - 1] + 1
        own = common_end(one.content, self.text[one.start : one.end])
        content = one.content[: len(one.content) - own] + self._spaced(one.content[len(one.content) - own :], one.start)
        family, dot, word = one.key.partition(".")
        return replace(
            one,
            start=start,
            end=end,
            quote=self.said[start:end],
            content=content,
            subject=self._spaced(one.subject, one.start),
            key=f"{family}{dot}{self._spaced(word, one.start)}",
            value=None if one.value is None else self._spaced(one.value, one.start),
            replaces=None if one.replaces is None else self._spaced(one.replaces, one.start),
        )

    def refused(self, one: Refusal) -> Refusal:
        """Return a refusal with the words as they were said."""
        return replace(one, text=self._spaced(one.text, 0))

    def _spaced(self, text: str, start: int) -> str:
        place = self.text.find(text, start)
        place = self.text.find(text) if place < 0 else place
        if place < 0 or not text:
            return text
        return self.said[self.places[place] : self.places[place + len(text) - 1] + 1]


def closed_up(text: str) -> UnspacedText | None:
    """Return a message without the spaces beside Latin letters and digits; None where it is not set with such."""
    if text.isascii() or _SET_SO.search(text) is None:
        return None
    out = {match.start() for match in _BESIDE.finditer(text)}
    places = [place for place in range(len(text)) if place not in out]
    return UnspacedText(text, "".join(text[place] for place in places), places)


RULES_VERSION: Final = "extract-rules/16"
"""Rises when the tables, the rules or the network beside them change what is found: it stands with every outcome."""

LANGUAGES: Final = ("en", "zh")


class _Languages(dict[str, Language]):
    """The tables of the languages, each read when it is first asked for."""

    def __missing__(self, code: str) -> Language:
        if code not in LANGUAGES:
            raise KeyError(code)
        self[code] = _language(code)
        return self[code]


@load_once
def _language(code: str) -> Language:
    return load_language(code)


@load_once
def known_languages() -> Mapping[str, Language]:
    """Return the tables of the languages: they never change, and reading one takes a tenth of a second."""
    return _Languages()


@dataclass(frozen=True, slots=True)
class Rules:
    """Reads the messages of an entry. ``second``: who is asked beside the rules, if anybody."""

    types: MemoryTypes = field(default_factory=load_memory_types)
    gate: Gate = field(default_factory=Gate)
    second: TaggerReranker | None = None

    def propose(self, entry: Entry, texts: Mapping[int, str]) -> tuple[list[Proposal], list[Refusal]]:
        """Return what the messages of an entry say, and what of them is refused, by number of the message."""
        proposals: list[Proposal] = []
        refusals: list[Refusal] = []
        for n, text in texts.items():
            message = entry.payload["messages"][n]
            if not text.strip() or is_erased(message):
                continue
            given = message.get("created_at") or entry.payload.get("occurred_at")
            at = entry.recorded_at if given is None else parse_local(given, field="created_at")
            found, refused = self.read(n, message, text, at)
            alone = [one for one in found if is_fragment(one, text) and not answers(one, _before(entry, n))]
            if alone:
                found = [one for one in found if one not in alone]
                refused = [refusal(n, text, "fragment"), *refused]
            asked, told = _to_forget(n, message, text, at)
            if asked:  # what is to be forgotten is not learned by being named
                found = [one for one in found if all(one.end <= ask.start or ask.end <= one.start for ask in asked)]
                refused = [one for one in refused if one.rule not in {"chit_chat", "question"}]
            proposals += [*found, *asked]
            refusals += [*told, *refused][:MAX_REFUSALS]
        return proposals, refusals

    def read(self, n: int, message: Mapping[str, Any], text: str, at: datetime) -> tuple[list[Proposal], list[Refusal]]:
        """Return what one message says, and what of it is refused and why."""
        role = message["role"]
        if role == "assistant":
            return [], [refusal(n, text, "assistant")]
        if role not in {"user", "tool"}:
            return [], [refusal(n, text, "operator")]
        own = own_text(text, hosts=role == "user")
        if text.strip() and not own.text.strip():
            return [], [refusal(n, text, INJECTED)]
        kept, refused = self._read(n, message, own.text, at)
        return [place_proposal(one, own) for one in kept], refused

    def _read(
        self, n: int, message: Mapping[str, Any], text: str, at: datetime
    ) -> tuple[list[Proposal], list[Refusal]]:
        role, languages = message["role"], known_languages()
        cast = DiscourseState(speaker=(speaker_name(message.get("name")) if role == "user" else None) or USER)
        closed = closed_up(text) if role == "user" else None
        read = text if closed is None else closed.text
        reading = MessageReader(n, read, at, self.types, languages, cast, ClauseMatcher(cast))
        if role == "tool":
            read_answer(reading, self.types, languages)
        else:
            reading.read()
        if closed is not None:
            reading.proposals = list(map(closed.put_back, reading.proposals))
            reading.refusals = list(map(closed.refused, reading.refusals))
        kept: list[Proposal] = []
        doubtful: list[Proposal] = []
        for one in reading.proposals:
            (kept if self.gate.passes(one.basis, one.confidence) else doubtful).append(self._compared(one, at))
        refused = reading.refusals + [refusal(n, one.quote, "low_confidence") for one in doubtful[:1]]
        if self.second is not None and role == "user" and self.second.reads(text):
            opinion = self.second(kept, text)
            kept = opinion.kept
            refused = [refusal(n, one.quote, "unlikely") for one in opinion.unlikely] + refused
        if not kept and not refused:
            refused = [refusal(n, text, reading.rule or "chit_chat")]
        return kept, refused[:MAX_REFUSALS]

    def _compared(self, one: Proposal, at: datetime) -> Proposal:
        one = with_effect_time(one, at)
        row = self.types.find(one.key, one.kind)
        if row is None or one.value is None:
            return one
        return replace(one, compared=comparable_value(row, one.value, at=at))


def place_proposal(one: Proposal, own: OwnText) -> Proposal:
    """Return a proposal from what is left of a message, with its place in the whole message."""
    start = own.place(one.start)
    return replace(one, start=start, end=start + one.end - one.start)


def _before(entry: Entry, n: int) -> Mapping[str, Any] | None:
    before: Mapping[str, Any] | None = entry.payload["messages"][n - 1] if n > 0 else None
    return before


def _to_forget(n: int, message: Mapping[str, Any], text: str, at: datetime) -> tuple[list[Proposal], list[Refusal]]:
    if message["role"] != "user":
        return [], []
    return forget_requests(n, text, at, speaker=message.get("name"), languages=known_languages())
