"""Features of candidate places, and the ranking by their weighted sum.

A feature is a pure function from a lane's signals to one number for each place. Formula and features were found by a
search over LoCoMo's dev conversations and chats with long assistant turns; ``docs/decisions/05-ranking.md`` gives the
purpose of each, ``docs/benchmarks.md`` its effect.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.recall.scoring.lane_arrays import (
    BONUSES,
    BOOSTS,
    IMPORTANCES,
    Floats,
    Mask,
    Rows,
    best_of,
    bonus_shares,
    recency,
)
from phronesis.recall.scoring.signals import Question, Signals, date_fit
from phronesis.recall.scoring.text_properties import ASKS, NAMES_TIME, NO_IMPORTANCE, SAID, SHARES_PHOTO
from phronesis.recall.scoring.weights import COARSE_DENSE, Formula

Feature = Callable[[Signals, Rows], Floats]
"""A function that returns a feature's value at some places."""

COVERED: Final = 0.3
"""Minimum coverage for a matching date to count: the day alone says nothing about the content."""


def words(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text itself."""
    return signals.words[places]


def window(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text with up to four on either side, the topic of the talk (``lane_arrays.WINDOW_REACH``)."""
    return signals.window[places]


def pair(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text with the one before it: an answer whose question contains the words."""
    return signals.pair[places]


def previous(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text before."""
    return _values_beside(signals, signals.words, places, -1)


def second_previous(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text two before."""
    return _values_beside(signals, signals.words, places, -2)


def coverage(signals: Signals, places: Rows) -> Floats:
    """Share 0..1 of the question's idf mass (terms the scope knows) that the text holds."""
    return signals.coverage[places]


def coverage_next(signals: Signals, places: Rows) -> Floats:
    """Share of the question that the text after contains: a reply repeats the topic."""
    return _values_beside(signals, signals.coverage, places, 1)


def coverage_third_next(signals: Signals, places: Rows) -> Floats:
    """Share of the question that the third text after contains."""
    return _values_beside(signals, signals.coverage, places, 3)


def dense(signals: Signals, places: Rows) -> Floats:
    """Z of the cosine of question and text; without a vector, an estimate from its words (``signals.GUESSED``)."""
    return _zeros(places) if signals.dense is None else signals.dense[places]


def dense_next(signals: Signals, places: Rows) -> Floats:
    """Z of the cosine of question and the text after."""
    return _zeros(places) if signals.dense is None else _values_beside(signals, signals.dense, places, 1)


def speaker(signals: Signals, places: Rows) -> Floats:
    """1 for messages of the requested speaker, by name or by role."""
    return _zeros(places) if signals.lane.speaker is None else signals.lane.speaker[places]


def mention(signals: Signals, places: Rows) -> Floats:
    """1 for texts that mention an entity of the question, by any of its names."""
    return _zeros(places) if signals.lane.mention is None else signals.lane.mention[places]


def key(signals: Signals, places: Rows) -> Floats:
    """1 for items under the key that the question asks for, of the right subject."""
    return _zeros(places) if signals.lane.key is None else signals.lane.key[places]


def date_covered(signals: Signals, places: Rows) -> Floats:
    """Fit of the day it was said to the time that the question names, of texts with more than ``COVERED`` of it."""
    fits = date_fit(signals.question.times, signals.lane.properties.days[places])
    return np.where(signals.coverage[places] > COVERED, fits, np.float32(0))


def date_in_text(signals: Signals, places: Rows) -> Floats:
    """Fit of a time that the text itself names ("yesterday", "in May") to the time that the question names."""
    properties = signals.lane.properties
    if not signals.question.times or not len(properties.dated):
        return _zeros(places)
    fits = np.maximum(
        date_fit(signals.question.times, properties.begins), date_fit(signals.question.times, properties.ends)
    )
    best = np.zeros(len(signals.words), dtype=np.float32)
    np.maximum.at(best, properties.dated, fits)
    return best[places]


def when_time(signals: Signals, places: Rows) -> Floats:
    """1 if the question asks for a time and the text names one."""
    return _flag(signals, places, NAMES_TIME) if signals.question.asks_when else _zeros(places)


def length(signals: Signals, places: Rows) -> Floats:
    """Natural logarithm of 1 + the text's terms."""
    return np.log1p(signals.lane.layout.lengths[places])


def previous_asks(signals: Signals, places: Rows) -> Floats:
    """1 if the text before ends with a question mark: this may be the answer."""
    there, inside = signals.lane.layout.neighbours(places, -1)
    return np.where(inside, _flag(signals, there, ASKS), np.float32(0))


def photo(signals: Signals, places: Rows) -> Floats:
    """1 for a text that shares a photo."""
    return _flag(signals, places, SHARES_PHOTO)


def _flag(signals: Signals, places: Rows, flag: int) -> Floats:
    return ((signals.lane.properties.flags[places] & flag) > 0).astype(np.float32)


def _values_beside(signals: Signals, values: Floats, places: Rows, step: int) -> Floats:
    there, inside = signals.lane.layout.neighbours(places, step)
    return np.where(inside, values[there], np.float32(0))


def _zeros(places: Rows) -> Floats:
    return np.zeros(len(places), dtype=np.float32)


_FEATURES: Final = (
    *(words, window, pair, previous, second_previous, coverage, coverage_next, coverage_third_next, dense),
    *(dense_next, speaker, mention, key, date_covered, date_in_text, when_time, length, previous_asks, photo),
)
FEATURES: Final[Mapping[str, Feature]] = {feature.__name__: feature for feature in _FEATURES}
"""Every feature by its name, in a fixed order; formulas and ``explain`` use these names."""


CANDIDATES: Final = 200
"""Number of places that the formula scores: hardly any evidence was found beyond them."""

NEIGHBOUR: Final = 0.3
SECOND_NEIGHBOUR: Final = 0.2
"""Weights of the coarse score, in standard deviations; a word of the text itself and a speaker count 1.

The weight of the cosine is the formula's.
"""

BY_KEY: Final = 100.0
"""Coarse weight of the requested key: more than any word, for these few items hold the answer."""

FURTHER: Final = "wordings"
WITHIN: Final = "window"
HAPPENED: Final = "happened"
"""Names in ``why`` of the shares of query expansion, of the time window, and of a time that the text names."""

IN_WINDOW: Final = 1.0
"""Weight of a match with the plan's time window, in standard deviations.

Less than half of that for a text that also matches the question's words (``weights``, ``date_covered``), so that it
decides among equals and when a question has no words of its own ("what happened last week?").
"""


AT_THE_TIME: Final = 1.5
ALONE_AT_THE_TIME: Final = 4.0
"""Weights, in standard deviations, of a text about a time that the question names.

``ALONE_AT_THE_TIME`` is added, divided among the question's other terms: "What happened on March 4?" asks for little
else. On four of LoCoMo's dev conversations, without an encoder, recall@10 is .799 without them, .804 with 2 and 0, .806
with these and with 2 and 4; recall@1 .508, .507, .505 and .502.
"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates of one lane: scores, and the share of each feature and bonus in them.

    ``base`` is the sum of features times weights; ``scores`` include the bonuses.
    """

    places: Rows
    base: Floats
    scores: Floats
    shares: Mapping[str, Floats]


def at_the_time(question: Question) -> np.float32:
    """Return the weight of a text about a time that the question names."""
    return np.float32(AT_THE_TIME + ALONE_AT_THE_TIME / max(1, question.others))


def coarse_scores(signals: Signals, *, dense: float = COARSE_DENSE) -> Floats:
    """Return for every place z(BM25) + .3 of each neighbour's + .2 of each second one's + speaker (+ z(cosine)).

    The cosine's weight is ``dense``. Items under the requested key are always among the candidates.
    """
    layout, z = signals.lane.layout, signals.words
    out = z.copy()
    if not layout.apart:
        out += np.float32(NEIGHBOUR) * (layout.shifted(z, -1) + layout.shifted(z, 1))
        out += np.float32(SECOND_NEIGHBOUR) * (layout.shifted(z, -2) + layout.shifted(z, 2))
    for more in (signals.lane.speaker, signals.lane.mention):
        if more is not None:
            out += more
    if signals.lane.key is not None:
        out += np.float32(BY_KEY) * signals.lane.key
    if signals.dense is not None:
        out += np.float32(dense) * signals.dense
    if signals.further is not None:
        out += signals.further.z
    if signals.within is not None:
        out += np.float32(IN_WINDOW) * signals.within
    if signals.happened is not None:
        out += at_the_time(signals.question) * signals.happened
    return out


def supported_places(signals: Signals) -> Mask:
    """Return the places with any support: a word nearby, a vector, a name, a key. Others are not shown."""
    found, lane = signals.touched.copy(), signals.lane
    if lane.embedded is not None:
        found |= lane.embedded
    covered = None if signals.further is None else signals.further.covered
    for named in (lane.speaker if lane.by_name else None, lane.mention, lane.key, covered):
        if named is not None:
            found |= named > 0
    for timed in (signals.within, signals.happened):
        if timed is not None:
            found |= timed >= 1.0
    return found


def rank(lanes: Sequence[Signals], shown: Sequence[Mask], formula: Formula, *, depth: int = CANDIDATES) -> list[Ranked]:
    """Score the best ``depth`` places of all lanes together, by the coarse score, among those in ``shown``."""
    coarse = [
        np.where(mask & supported_places(signals), coarse_scores(signals, dense=formula.coarse), np.float32(-np.inf))
        for signals, mask in zip(lanes, shown, strict=True)
    ]
    together = np.concatenate(coarse)
    kept = best_of(together, depth)
    kept = kept[np.isfinite(together[kept])]
    out, begin = [], 0
    for signals, scores in zip(lanes, coarse, strict=True):
        end = begin + len(scores)
        places = kept[(kept >= begin) & (kept < end)] - begin
        shares = {
            name: np.float32(weight) * FEATURES[name](signals, places) for name, weight in formula.weights.items()
        }
        if signals.further is not None:
            shares[FURTHER] = signals.further.scores[places]
        if signals.within is not None:
            shares[WITHIN] = np.float32(IN_WINDOW) * signals.within[places]
        if signals.happened is not None:
            shares[HAPPENED] = at_the_time(signals.question) * signals.happened[places]
        base = _sum(shares, len(places))
        known = signals.lane.properties
        importance = known.importance[places]
        learned = (importance > NO_IMPORTANCE) & (known.flags[places] & SAID == 0)
        recent = recency(known.days[places], signals.question.asked_on, learned=learned)
        values = (recent, IMPORTANCES[importance], BOOSTS[known.stages[places]])
        bonuses = bonus_shares(base, dict(zip(BONUSES, values, strict=True)))
        out.append(Ranked(places, base, base + _sum(bonuses, len(places)), {**shares, **bonuses}))
        begin = end
    return out


def _sum(shares: Mapping[str, Floats], size: int) -> Floats:
    total = np.zeros(size, dtype=np.float32)
    for share in shares.values():
        total += share
    return total
