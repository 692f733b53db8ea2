"""Reading a question: its terms, the times it names, and whose words are asked for."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from phronesis.core.calendar import find_times
from phronesis.core.scoring.asked import asks_assistant, asks_when, is_personal
from phronesis.core.scoring.dates import Stretch
from phronesis.core.scoring.signals import Question
from phronesis.core.text import UNSPACED
from phronesis.index.tokens import term_hash, tokenize

MAX_YEARS: Final = 20
"""Years in which a date without a year is sought, the latest ones that the scope speaks of."""

MAX_DATED: Final = 2_000
"""Characters of a question that are searched for times."""

_NAMES_LOOKED_AT: Final = 500

_NAMED: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|christmas|new\s?year"
    r"|halloween|valentine)|[0-9一二三四五六七八九十]月|[春夏秋冬]|节|節|元旦|五一|国庆|圣诞",
    re.IGNORECASE,
)
_RECKONED: Final = re.compile(r"\b(?:last|this|next|past|previous|coming)\b|[上下本这這去今明前]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Voice:
    """Whose words a question is after when it names nobody: the assistant's ("you suggested") or else the user's.

    ``personal``: it speaks of who asks or is asked, so that roles count even for messages that carry a name.
    """

    assistant: bool
    personal: bool


def read_question(text: str, *, speakers: Collection[str], now: datetime, years: Sequence[int]) -> Question:
    """Give what a question asks. ``speakers`` are the names it holds of those who speak in the scope.

    A speaker's name says who, not what: the terms leave it out, unless nothing else is left. ``years`` are those the
    scope speaks of: in each of them a date without a year is meant; relative times count from ``now``.
    """
    terms = tokenize(without_names(text, speakers)) or tokenize(text)
    return Question([term_hash(term) for term in terms], _times(text, now, years), asks_when(text))


def voice_of(text: str) -> Voice:
    """Give whose words a question is after, by what it says of "I" and "you"."""
    return Voice(asks_assistant(text), is_personal(text))


def _times(text: str, now: datetime, years: Sequence[int]) -> list[Stretch]:
    asked = text[:MAX_DATED]
    out: set[Stretch] = set()
    recurring = False
    for time in find_times(asked, now, lean=-1):
        if time.relative and _recurs(asked[time.start : time.end]):
            recurring = True
        else:
            out.add(Stretch(time.first.toordinal(), time.last.toordinal()))
    for year in sorted(years, reverse=True)[:MAX_YEARS] if recurring else ():
        out |= {
            Stretch(time.first.toordinal(), time.last.toordinal())
            for time in find_times(asked, datetime(year, 12, 31, tzinfo=UTC), lean=-1)
            if time.relative and _recurs(asked[time.start : time.end])
        }
    return sorted(out, key=lambda time: (time.first, time.last))


def _recurs(words: str) -> bool:
    """Tell whether words name a time of any year (May 4, 五月), and not one reckoned from today (last May, 上个月)."""
    return _NAMED.search(words) is not None and _RECKONED.search(words) is None


def spoken_names(text: str, names: Collection[str]) -> set[str]:
    """Give those of ``names`` (normal forms) that a question holds.

    A name in an unspaced script may stand anywhere; another one must not be part of a longer word.
    """
    folded = " ".join(text[:MAX_DATED].casefold().split())
    return {name for name in names if name and name in folded and _pattern(name).search(folded) is not None}


def without_names(text: str, names: Collection[str]) -> str:
    """Cut names (normal forms) out of a text."""
    for name in sorted(names, key=len, reverse=True)[:_NAMES_LOOKED_AT]:
        text = _pattern(name).sub(" ", text)
    return text


def _pattern(name: str) -> re.Pattern[str]:
    word = rf"[^\W{UNSPACED}]"
    before = rf"(?<!{word})" if re.match(word, name) else ""
    after = rf"(?!{word})" if re.search(rf"{word}\Z", name) else ""
    return re.compile(before + r"\s+".join(map(re.escape, name.split())) + rf"(?:['’]s\b)?{after}", re.IGNORECASE)
