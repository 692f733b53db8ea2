"""Reading a question: its terms, the times it names, and whose words are asked for."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, date, datetime
from typing import Final

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.scoring.asked import asks_when
from phronesis.core.scoring.dates import Stretch
from phronesis.core.scoring.signals import Question
from phronesis.core.text import UNSPACED
from phronesis.index.tokens import question_terms, term_hash
from phronesis.recall.manner import Manner

MAX_YEARS: Final = 20
"""Years in which a date without a year is sought, the latest ones that the scope speaks of."""

MAX_DATED: Final = 2_000
"""Characters of a question that are searched for times."""

_NAMES_LOOKED_AT: Final = 500

ORDINARY: Final = Manner()
"""How a question is searched that no plan says more of."""

_NAMED: Final = re.compile(
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|christmas|new\s?year"
    r"|halloween|valentine)|[0-9一二三四五六七八九十]月|[春夏秋冬]|节|節|元旦|五一|国庆|圣诞",
    re.IGNORECASE,
)
_RECKONED: Final = re.compile(r"\b(?:last|this|next|past|previous|coming)\b|[上下本这這去今明前]", re.IGNORECASE)


def read_question(
    text: str, *, speakers: Collection[str], now: datetime, days: Sequence[int], manner: Manner = ORDINARY
) -> Question:
    """Give what a question asks. ``speakers`` are the names it holds of those who speak in the scope.

    A speaker's name says who, not what: the terms leave it out, unless nothing else is left. ``days`` are the first and
    last day (ordinals) that the scope speaks from, or none: a date without a year is meant in each of its years. Where
    ``manner`` has a window, that is the time, and no other is read.
    """
    words, window = manner.words_of(text), manner.stretch()
    found = [] if window is not None else find_times(text[:MAX_DATED], now, lean=-1)
    others = question_terms(without_names(_without_times(words, found), speakers)) if found else []
    # "Yesterday" in a text is another day than in the question.
    words = _without_times(words, [time for time in found if time.relative])
    terms = question_terms(without_names(words, speakers)) or question_terms(words)
    if found and not others:
        terms = []  # "What did I do on November 18?" asks for that day, not for texts with an 18
    return Question(
        [term_hash(term) for term in terms], _times(text, days, found) if window is None else [window],
        asks_when(text),
        now.toordinal(), manner.further(), window, len(others),
    )  # fmt: skip


def _without_times(text: str, times: Sequence[TimeSpan]) -> str:
    """Cut times out of a text."""
    for time in reversed(times):
        text = f"{text[: time.start]} {text[time.end :]}"
    return text


def _times(text: str, days: Sequence[int], found: Sequence[TimeSpan]) -> list[Stretch]:
    """Give the times a question names, ``found`` as reckoned from today.

    Where all of that lies after the last thing said (a talk brought in years later), they count from that one's day.
    """
    asked = text[:MAX_DATED]
    out: set[Stretch] = set()
    for time in found:
        if not (time.relative and _recurs(asked[time.start : time.end])):
            out.add(_stretch(time))
    if not days:
        return sorted(out, key=lambda time: time.first)
    first, last = date.fromordinal(min(days)), date.fromordinal(max(days))
    if out and all(time.first > last.toordinal() for time in out):
        ending = datetime(last.year, last.month, last.day, tzinfo=UTC)
        out |= {_stretch(time) for time in find_times(asked, ending, lean=-1)
                if time.relative and not _recurs(asked[time.start : time.end])}  # fmt: skip
    for year in range(max(first.year, last.year - MAX_YEARS + 1), last.year + 1):
        ending = datetime(year, 12, 31, tzinfo=UTC)
        out |= {_stretch(time) for time in find_times(asked, ending, lean=-1)
                if time.relative and _recurs(asked[time.start : time.end])}  # fmt: skip
    return sorted(out, key=lambda time: (time.first, time.last))


def _stretch(time: TimeSpan) -> Stretch:
    return Stretch(time.first.toordinal(), time.last.toordinal())


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
