"""What is known of every place of a lane for one question: the scores that features are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.lexical import ScopeIndex
from phronesis.core.scoring.arrays import Floats, Mask, Rows, Spread, spread_of
from phronesis.core.scoring.dates import Stretch, date_fit, overlap
from phronesis.core.scoring.further import Further, Wording, further_scores
from phronesis.core.scoring.layout import Layout
from phronesis.core.scoring.marks import NO_DAY
from phronesis.core.scoring.stretches import pair_scores, window_scores
from phronesis.core.scoring.words import coverage, frequencies, text_scores

GUESSED: Final = 2.0
"""The most that a text without a vector yet is given for its meaning, by its words, in standard deviations.

A message is searched as soon as it is written, and encoded a little later. Taken for the mean until then, one that
holds every word of the question would stand behind others that hold none.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: hashed terms (speakers' names cut out), times named, and whether it asks for a time.

    ``asked_on`` is the day (ordinal) from which it looks back. ``further`` are other wordings of what is asked;
    ``window`` is a time that the answer is to be of: what is within it is lifted whatever it says. ``others`` counts
    the terms beside ``times``.
    """

    terms: Sequence[int]
    times: Sequence[Stretch] = ()
    asks_when: bool = False
    asked_on: int = NO_DAY
    further: Sequence[Wording] = ()
    window: Stretch | None = None
    others: int = 0


@dataclass(frozen=True, slots=True)
class Properties:
    """What is known of every place whatever is asked: flags, day, importance and stage (``marks``), and dates it names.

    ``dated`` are the places of those dates, ``begins`` and ``ends`` their first and last days.
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
    """One lane as a question meets it; arrays by place, None where nothing is to be said.

    ``dense`` are cosines with ``embedded`` saying where there is one; ``speaker`` 1 for what the one speaker said who
    is asked about, ``by_name`` or by role; ``mention`` 1 for what mentions whom or what is named; ``key`` 1 for what
    is held under the key that the question asks for ("How old am I?"), of whom it asks.
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
    """One lane's scores by place for one question; ``*_spread`` are over all lanes of the scope."""

    lane: LaneInput
    question: Question
    words: Floats
    coverage: Floats
    window: Floats
    pair: Floats
    window_spread: Spread
    pair_spread: Spread
    touched: Mask = field(repr=False)
    """Where the text or its window holds a word of the question."""
    dense: Floats | None = None
    """Standardised cosine; where there is no vector yet, z of BM25 within 0..``GUESSED``."""
    known: float = 1.0
    """The share of the question's idf mass that is of words the scope knows."""
    further: Further | None = None
    within: Floats | None = None
    """How well its day, or a time that it names, fits the window, 0 to 1."""
    happened: Floats | None = None
    """Whether it tells of a time that is asked for: 1, or .5 where that is part of a longer one. None: none is asked
    for."""


def read_signals(lanes: Sequence[LaneInput], question: Question) -> list[Signals]:
    """Score every place of every lane; what is standardised is so over all lanes together."""
    found = frequencies([(lane.index, lane.layout) for lane in lanes], question.terms)
    laid = [(lane.layout, one) for lane, one in zip(lanes, found, strict=True)]
    texts = text_scores(laid)
    windows = window_scores(laid)
    pairs = windows if all(lane.layout.apart for lane in lanes) else pair_scores(laid)
    spreads = [spread_of(scores) for scores in (texts, windows, pairs)]
    words = [spreads[0].z(scores) for scores in texts]
    dense = _standardised(lanes, words)
    further = further_scores([(lane.index, lane.layout) for lane in lanes], question.further)
    return [
        Signals(
            lane=lane, question=question, words=words[n], coverage=coverage(lane.layout, found[n]),
            window=windows[n], pair=pairs[n], window_spread=spreads[1], pair_spread=spreads[2],
            touched=windows[n] > 0, dense=dense[n], known=found[n].known, further=further[n],
            within=_within(lane, question.window), happened=_happened(lane, question.times),
        )
        for n, lane in enumerate(lanes)
    ]  # fmt: skip


def _standardised(lanes: Sequence[LaneInput], words: Sequence[Floats]) -> Sequence[Floats | None]:
    """Give each lane's cosines as z; ``words`` are z of BM25, which stand in, bounded, where there is no vector yet."""
    present = [
        _there(lane.dense, lane.embedded) for lane in lanes if lane.dense is not None and lane.embedded is not None
    ]
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


def _there(values: Floats, mask: Mask) -> Floats:
    """Give the values that a mask lets through; uncopied where it lets all."""
    return values if mask.all() else values[mask]


def _happened(lane: LaneInput, asked: Sequence[Stretch]) -> Floats | None:
    """Give ``overlap`` with the times that a text names; with the day it was said where it names none."""
    if not asked:
        return None
    known = lane.properties
    out = overlap(asked, known.days, known.days)
    if len(known.dated):
        named = overlap(asked, known.begins, known.ends)
        out[known.dated] = 0.0
        np.maximum.at(out, known.dated, named)
    return out


def _within(lane: LaneInput, window: Stretch | None) -> Floats | None:
    if window is None:
        return None
    known = lane.properties
    out = date_fit([window], known.days)
    if len(known.dated):
        named = np.maximum(date_fit([window], known.begins), date_fit([window], known.ends))
        np.maximum.at(out, known.dated, named)
    return out
