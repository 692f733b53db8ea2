"""Signals: the scores of every place of a lane for one question, from which features are computed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final, Literal

import numpy as np

from phronesis.core.lexical_index import ScopeIndex
from phronesis.recall.scoring.lane_arrays import Floats, Layout, Mask, Rows, spread_of
from phronesis.recall.scoring.lexical_scores import (
    coverage,
    frequencies,
    pair_scores,
    text_scores,
    window_scores,
)
from phronesis.recall.scoring.text_properties import NO_DAY

# Fit of a day to the time that a question names, from 0 to 1.

DAYS_BEFORE: Final = 3
DAYS_AFTER: Final = 7
MONTH: Final = 31
"""Days around an event in which people talk about it: up to a week after, sometimes a month, or shortly before."""

_LONGEST_DAY: Final = 7
_LONGEST_MONTH: Final = 93
"""Maximum days of a time that counts as a day or week, and as a month or season; a longer one counts as a year."""


@dataclass(frozen=True, slots=True)
class DayRange:
    """A time as its first and last day, ordinals, both inclusive."""

    first: int
    last: int


def date_fit(asked: Sequence[DayRange], days: Rows) -> Floats:
    """Return for each day (an ordinal, ``NO_DAY`` for none) its fit to the best of the requested times.

    A day or week: 1 from three days before to a week after, .6 up to 31 days after, .2 else in the same month. A month
    or season: 1 within, .4 up to 31 days after. A year: .3 within. The figures were fitted together with the formula
    (``weights``).
    """
    best = np.zeros(len(days), dtype=np.float32)
    for time in asked:
        best = np.maximum(best, _fit_days(time, days))
    return np.where(days == NO_DAY, np.float32(0), best).astype(np.float32)


def overlap(asked: Sequence[DayRange], begins: Rows, ends: Rows) -> Floats:
    """Return the overlap of times from ``begins`` to ``ends`` with the nearest requested one.

    1 within it, .5 across its edge, else 0.
    """
    best = np.zeros(len(begins), dtype=np.float32)
    for time in asked:
        within = (begins >= time.first) & (ends <= time.last)
        across = (begins <= time.last) & (ends >= time.first)
        best = np.maximum(best, np.select([within, across], [np.float32(1), np.float32(0.5)], np.float32(0)))
    return best


def _fit_days(time: DayRange, days: Rows) -> Floats:
    long = time.last - time.first
    within = (days >= time.first) & (days <= time.last)
    soon = (days > time.last) & (days <= time.last + MONTH)
    if long > _LONGEST_MONTH:
        return np.where(within, np.float32(0.3), np.float32(0))
    if long > _LONGEST_DAY:
        return np.select([within, soon], [np.float32(1), np.float32(0.4)], np.float32(0))
    near = (days >= time.first - DAYS_BEFORE) & (days <= time.last + DAYS_AFTER)
    start = date.fromordinal(time.first).replace(day=1).toordinal()
    same_month = (days >= start) & (days < start + MONTH)
    return np.select([near, soon, same_month], [np.float32(1), np.float32(0.6), np.float32(0.2)], np.float32(0))


# Query expansion: alternative wordings of a question, matched against each text's words only.

WORDS: Final = 0.67
COVERAGE: Final = 2.014
"""Weights of A12 (``weights``): of windows and pairs together, and of coverage."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Hashed terms and their weight, in (0, 1]."""

    terms: Sequence[int]
    weight: float


@dataclass(frozen=True, slots=True)
class ExpansionScores:
    """One lane's scores by place, each for its best-matching wording.

    ``z`` is that wording's BM25 in standard deviations; ``covered`` is the share of its idf mass in the text, unknown
    words counted as missing. Both are multiplied by the wording's weight, and 0 where a text matches no wording.
    """

    z: Floats
    covered: Floats

    @property
    def scores(self) -> Floats:
        """The contribution to each text's score."""
        return np.float32(WORDS) * self.z + np.float32(COVERAGE) * self.covered


def further_scores(
    lanes: Sequence[tuple[ScopeIndex, Layout]], wordings: Sequence[Wording]
) -> list[ExpansionScores | None]:
    """Score every place of every lane; None for each lane if there are no wordings."""
    if not wordings:
        return [None] * len(lanes)
    best = [ExpansionScores(*np.zeros((2, len(layout)), np.float32)) for _, layout in lanes]
    for wording in wordings:
        tables = frequencies(lanes, list(dict.fromkeys(wording.terms)))
        laid = [(layout, found) for (_, layout), found in zip(lanes, tables, strict=True)]
        scores = text_scores(laid)
        spread, weight = spread_of(scores), np.float32(wording.weight)
        for lane, words, (layout, found) in zip(best, scores, laid, strict=True):
            covered = coverage(layout, found) * np.float32(found.known)
            mine = ExpansionScores(weight * np.where(covered > 0, spread.z(words), np.float32(0)), weight * covered)
            better = mine.scores > lane.scores
            lane.z[better], lane.covered[better] = mine.z[better], mine.covered[better]
    return list(best)


# Intent of a question beyond its words: a time and a speaker, in English and Chinese.

MAX_SCANNED: Final = 2_000
"""Characters of a question that are scanned: the question is a sentence, not the page pasted after it."""

_WHEN: Final = re.compile(
    r"\b(?:when|how long ago|how long|since when|(?:what|which) (?:(?:was|is) the )?(?:exact )?"
    r"(?:date|day|month|year|time|week|weekend|season))\b"
    "|什么时候|甚么时候|什麼時候|何时|何時|哪天|哪一天|哪年|哪一年|哪个月|哪個月|几号|幾號|几月|幾月|几点|幾點|多久|哪个季节|星期几|周几|礼拜几",
    re.IGNORECASE,
)
_YOU: Final = re.compile(
    # "you" as the agent, not as the recipient
    r"(?<!to )(?<!tell )(?<!told )(?<!ask )(?<!asked )(?<!give )(?<!gave )(?<!with )(?<!for )(?<!from )(?<!show )"
    r"(?<!showed )(?<!sent )(?<!send )(?<!thank )\b(?:you|you['’](?:d|ve|re|ll)|your|yours)\b"
    r"|\b(?:the |my )?(?:assistant|chatbot|bot|ai)(?:['’]s)?\b"
    "|(?<![跟给給对對诉訴问問向和同请請让讓])(?:你|您)|助手|助理",
    re.IGNORECASE,
)
_ADVICE: Final = re.compile(
    r"\b(?:should|shall|may|ought) (?:i|we)\b|\bhow (?:can|could|might|do|would) (?:i|we)\b"
    "|我们?(?:应该|应当|该|可以|能)?(?:怎么|怎样|如何)(?:办|做|处理|解决|才能|弄|调整)|我们?应?该(?:怎|如何|用|吃|买|选)",
    re.IGNORECASE,
)
_ME: Final = re.compile(r"\b(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|us|our|ours)\b|[我咱]", re.IGNORECASE)

Voice = Literal["user", "assistant"]
"""The role whose words a question asks for if it names no speaker."""


def asks_when(text: str) -> bool:
    """Return whether a question asks for a time: when, what day, how long ago, 什么时候, 哪天, 几号."""
    return _WHEN.search(text[:MAX_SCANNED]) is not None


def voice_of(text: str) -> Voice | None:
    """Return the role whose words a question asks for by its "I" and "you".

    The assistant's statements or advice, or the user's own; None if it has neither pronoun.
    """
    asked = text[:MAX_SCANNED]
    if _YOU.search(asked) is not None or _ADVICE.search(asked) is not None:
        return "assistant"
    return "user" if _ME.search(asked) is not None else None


GUESSED: Final = 2.0
"""Maximum z of the cosine estimated for a text without a vector, from its words.

A message is searchable before it is encoded. With the mean as the estimate, a text with every word of the question
would rank behind others with none.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question: hashed terms (speakers' names removed), the times it names, and whether it asks for a time.

    ``asked_on`` is the day (ordinal) from which it looks back. ``further`` are alternative wordings; ``window`` is the
    time of the wanted answer: what lies within it is boosted whatever it says. ``others`` counts the terms outside
    ``times``.
    """

    terms: Sequence[int]
    times: Sequence[DayRange] = ()
    asks_when: bool = False
    asked_on: int = NO_DAY
    further: Sequence[Wording] = ()
    window: DayRange | None = None
    others: int = 0


@dataclass(frozen=True, slots=True)
class Properties:
    """Query-independent properties of every place: flags, day, importance, stage (``marks``), and the dates it names.

    ``dated`` are the places of those dates; ``begins`` and ``ends`` their first and last days.
    """

    flags: Rows
    days: Rows
    importance: Rows
    stages: Rows
    dated: Rows
    begins: Rows
    ends: Rows


@dataclass(frozen=True, slots=True)
class LaneInput:
    """One lane's inputs for a question: arrays by place, None if not applicable.

    ``dense`` are cosines, ``embedded`` says where there is one; ``speaker`` is 1 for messages of the requested speaker,
    ``by_name`` or by role; ``mention`` 1 for texts that mention a named entity; ``key`` 1 for items under the key that
    the question asks for ("How old am I?"), of the right subject.
    """

    index: ScopeIndex
    layout: Layout
    properties: Properties
    dense: Floats | None = None
    embedded: Mask | None = None
    speaker: Floats | None = None
    by_name: bool = False
    mention: Floats | None = None
    key: Floats | None = None


@dataclass(frozen=True, slots=True)
class Signals:
    """One lane's scores by place for one question; ``words``, ``window`` and ``pair`` are z of BM25 over all lanes."""

    lane: LaneInput
    question: Question
    words: Floats
    coverage: Floats
    window: Floats
    pair: Floats
    touched: Mask = field(repr=False)
    """Where the text or its window contains a word of the question."""
    dense: Floats | None = None
    """Standardised cosine; without a vector, z of BM25 within 0..``GUESSED``."""
    known: float = 1.0
    """The share of the question's idf mass in words that the scope knows."""
    further: ExpansionScores | None = None
    within: Floats | None = None
    """Fit of its day, or of a time that it names, to the window, 0 to 1."""
    happened: Floats | None = None
    """Whether it is about a requested time: 1, or .5 if that is part of a longer one. None: no time is requested."""


def read_signals(lanes: Sequence[LaneInput], question: Question) -> list[Signals]:
    """Score every place of every lane; standardisation is over all lanes together."""
    found = frequencies([(lane.index, lane.layout) for lane in lanes], question.terms)
    laid = [(lane.layout, one) for lane, one in zip(lanes, found, strict=True)]
    texts = text_scores(laid)
    apart = all(lane.layout.apart for lane in lanes)
    windows, pairs = (texts, texts) if apart else (window_scores(laid), pair_scores(laid))
    words, window, pair = map(_standardise, (texts, windows, pairs))
    dense = _standardise_cosines(lanes, words)
    further = further_scores([(lane.index, lane.layout) for lane in lanes], question.further)
    return [
        Signals(
            lane=lane,
            question=question,
            words=words[n],
            coverage=coverage(lane.layout, found[n]),
            window=window[n],
            pair=pair[n],
            touched=windows[n] > 0,
            dense=dense[n],
            known=found[n].known,
            further=further[n],
            within=_overlap_with_window(lane, question.window),
            happened=_overlap_with_times(lane, question.times),
        )
        for n, lane in enumerate(lanes)
    ]


def _standardise(scores: Sequence[Floats]) -> list[Floats]:
    """Return each lane's scores as z."""
    spread = spread_of(scores)
    return [spread.z(one) for one in scores]


def _standardise_cosines(lanes: Sequence[LaneInput], words: Sequence[Floats]) -> Sequence[Floats | None]:
    """Return each lane's cosines as z.

    ``words`` are z of BM25, which replace missing vectors, bounded.
    """
    both = [(one.dense, one.embedded) for one in lanes if one.dense is not None and one.embedded is not None]
    present = [values if mask.all() else values[mask] for values, mask in both]  # without a copy of all
    if not any(map(len, present)):
        return [None] * len(lanes)
    spread = spread_of(present)
    out: list[Floats | None] = []
    for lane, z in zip(lanes, words, strict=True):
        guessed = np.clip(z, np.float32(0), np.float32(GUESSED))
        if lane.dense is None or lane.embedded is None:
            out.append(guessed)
        elif lane.embedded.all():
            out.append(spread.z(lane.dense))
        else:
            out.append(np.where(lane.embedded, spread.z(lane.dense), guessed))
    return out


def _overlap_with_times(lane: LaneInput, asked: Sequence[DayRange]) -> Floats | None:
    """Return ``overlap`` with the times that a text names; with the day it was said if it names none."""
    if not asked:
        return None
    known = lane.properties
    out = overlap(asked, known.days, known.days)
    if len(known.dated):
        named = overlap(asked, known.begins, known.ends)
        out[known.dated] = 0.0
        np.maximum.at(out, known.dated, named)
    return out


def _overlap_with_window(lane: LaneInput, window: DayRange | None) -> Floats | None:
    if window is None:
        return None
    known = lane.properties
    out = date_fit([window], known.days)
    if len(known.dated):
        named = np.maximum(date_fit([window], known.begins), date_fit([window], known.ends))
        np.maximum.at(out, known.dated, named)
    return out
