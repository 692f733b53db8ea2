"""The second opinion: a network proposes what it is sure of beside the rules, and refuses what it finds unlikely.

Rules and network err apart. What rules propose of words that nobody used so when the network learned is wrong
more often than right, and what they pass over for want of a pattern the network knows by its likes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np

from phronesis.core.kinship import plain_relative
from phronesis.core.loading import once
from phronesis.core.proposals import USER, Proposal
from phronesis.core.prospective import PROSPECTIVE
from phronesis.derive.extracting.clauses import Clause, clauses, is_chinese, masked, sentences, times_of
from phronesis.derive.extracting.memory_types import MemoryTypes, compared, load_memory_types
from phronesis.derive.extracting.objection import objection
from phronesis.derive.extracting.phrasing import days_of, due_day
from phronesis.derive.extracting.tables import Language
from phronesis.derive.extracting.tagging.decoding import FAMILIES, Tagged, tagged_in
from phronesis.derive.extracting.tagging.network import Chances, Network, load_network
from phronesis.derive.extracting.tagging.tokens import MAX_READ, UNKNOWN, Encoded

UNLIKELY: Final = {"en": 0.01, "zh": 0.005}
"""A proposal of the rules none of whose tokens is at least so likely to tell what it says is refused, by language."""

SURE: Final = {"en": 0.95, "zh": 0.85}
"""A value that the rules passed over is proposed where each of its tokens is at least so likely. Both levels were
chosen by the figures of sets that nobody reads, in each language among a few pairs, and so that plain sentences stay
(docs/decisions/0048-a-second-opinion-in-english.md)."""

PLAIN: Final = {"en": 6, "zh": 0}
"""Words of a whole sentence that is never refused: a network learns of "I'm a waiter" mostly from what others say."""

KNOWN: Final = 0.5
"""The share of a message's tokens that the network was shown, at the least, for it to judge the message."""

_ENDS: Final = ("", ".", "!", "?", ";", "\n")

TAGGED: Final = 0.85
"""The confidence of what the network alone finds: above the gate of what users say, below what a rule reads."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What is left of the rules' proposals, what was found beside them, and what is refused."""

    kept: list[Proposal]
    added: list[Proposal]
    unlikely: list[Proposal]


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """Reads messages beside the rules. ``load`` gives the network of a language, when the first message in it comes."""

    load: Callable[[str], Network]
    types: MemoryTypes
    unlikely: Mapping[str, float] = field(default_factory=lambda: UNLIKELY)
    sure: Mapping[str, float] = field(default_factory=lambda: SURE)

    def reads(self, text: str) -> bool:
        """Tell whether a message is one that a network can judge: not long, and with a letter or a figure."""
        return len(text) <= MAX_READ[language_of(text)] and any(map(str.isalnum, text))

    def __call__(
        self, ruled: Sequence[Proposal], text: str, at: datetime, *, n: int, speaker: str,
        languages: Mapping[str, Language],
    ) -> Opinion:  # fmt: skip
        """Give both opinions of a message as one; ``ruled`` are the rules' proposals of it."""
        code = language_of(text)
        network = self.load(code)
        seen = network.vocabulary.encode(text)
        if np.mean(seen.words != UNKNOWN) < KNOWN:
            return Opinion(list(ruled), [], [])  # another language
        chances = network.chances(seen)
        kept: list[Proposal] = []
        unlikely: list[Proposal] = []
        for one in ruled:
            likely = _chance(one, text, seen, chances, network.tags) >= self.unlikely[code]
            (kept if likely or _is_plain(one, text, code) else unlikely).append(one)
        found = tagged_in(text, seen, chances, network)
        added = [
            proposal
            for one in found
            if one.chance >= self.sure[code]
            and _tells(one.value)
            and not any(_same(one, other, text) for other in ruled)
            and objection(text, one.start, one.end, languages) is None
            and (proposal := self._proposal(one, text, at, n=n, speaker=speaker, language=languages[code])) is not None
        ]
        return Opinion(kept, added, unlikely)

    def _proposal(
        self, one: Tagged, text: str, at: datetime, *, n: int, speaker: str, language: Language
    ) -> Proposal | None:
        row = self.types.find(one.key, one.kind)
        clause = _clause_of(one, text, at, language)
        if row is None or clause is None or _is_none(one, clause, at, language):
            return None
        ahead = row.kind in PROSPECTIVE
        days = [] if ahead else days_of(clause, at, -1, language)
        subject = speaker if one.subject == USER else _plain(one.subject, language)
        quote = text[clause.start : clause.end]
        named = subject == speaker or one.subject in quote
        return Proposal(
            n=n, quote=quote, start=clause.start, end=clause.end, kind=row.kind, subject=subject, key=one.key,
            value=one.value, compared=compared(row, one.value, at=at), cardinality=row.cardinality,
            content=quote if named else language.frames["of"].format(subject, quote),
            act="retract" if one.retracts else "assert", done=one.done, confidence=TAGGED, importance=row.importance,
            due=due_day(clause, at, language) if ahead else None,
            occurred_at=days[0] if row.kind in {"event", "episodic"} and days else None,
        )  # fmt: skip


def language_of(text: str) -> str:
    """Give the language whose network reads a message."""
    return "zh" if is_chinese(text) else "en"


@once
def second_opinion() -> SecondOpinion:
    """Give the one of the networks that are installed with the package."""
    return SecondOpinion(load_network, load_memory_types())


def _is_none(one: Tagged, clause: Clause, at: datetime, language: Language) -> bool:
    """Tell whether something used is a time ("we deploy on Fridays"), or its use or a task is asked of somebody."""
    asked = language.gates["requested"].search(clause.raw.lower()) is not None
    value = one.value.removesuffix("s")
    timed = any(span.start == 0 and span.end >= len(value) for span in times_of(value, at))
    return (one.key == "uses" and (asked or timed)) or (one.key == "task" and asked)


def _plain(subject: str, language: Language) -> str:
    small = subject.lower()
    return plain_relative(small if small in language.relations else subject)


def _chance(one: Proposal, text: str, seen: Encoded, chances: Chances, tags: Sequence[str]) -> float:
    """Give how likely the likeliest letter of a proposal's value tells it; 1 of what the network knows nothing."""
    family, _, _ = one.key.partition(".")
    name = f"{one.kind}/{family if family in FAMILIES else one.key}"
    columns = [n for n, tag in enumerate(tags) if tag[2:] == name]
    span = seen.span(*_place(one, text))
    if not columns or not span:
        return 1.0
    return float(np.exp(chances.tags[span.start : span.stop, columns]).sum(axis=1).max())


def _is_plain(one: Proposal, text: str, code: str) -> bool:
    """Tell whether what a proposal stands in is a sentence so short that nothing in it speaks against the rules."""
    before, after = text[: one.start].rstrip(" "), text[one.end :].lstrip(" ")
    whole = before[-1:] in _ENDS and after[:1] in _ENDS
    return whole and len(one.quote.split()) <= PLAIN[code]


def _place(one: Proposal, text: str) -> tuple[int, int]:
    """Give where a proposal's value stands; its whole quotation where the value is in other words."""
    start = -1 if one.value is None else text.find(one.value, one.start, one.end)
    return (one.start, one.end) if start < 0 else (start, start + len(one.value or ""))


def _tells(value: str) -> bool:
    """Tell whether a value is more than a sign or a letter that was left over: two letters, or a number."""
    said = [sign for sign in value if sign.isalnum()]
    return len(said) > 1 or any(map(str.isdigit, said))


def _same(one: Tagged, other: Proposal, text: str) -> bool:
    """Tell whether a proposal of the rules is of the same words or those beside them, or says the same of its key."""
    start, end = _place(other, text)
    value = other.value or other.content
    alike = other.key.partition(".")[0] == one.key.partition(".")[0] and (value in one.value or one.value in value)
    return alike or (start <= one.end and one.start <= end)


def _clause_of(one: Tagged, text: str, at: datetime, language: Language) -> Clause | None:
    mask = masked(text)
    times = times_of(mask.text, at)
    for sentence in sentences(mask.text, language):
        for clause in clauses(sentence, times, language):
            if clause.start <= one.start and one.end <= clause.end:
                return clause
    return None
