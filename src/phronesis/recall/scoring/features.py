"""Features: pure functions from a lane's signals to one number for each candidate place.

Formula and features were found by a search over LoCoMo's dev conversations and chats with long assistant turns;
``docs/decisions/05-ranking.md`` gives the purpose of each, ``docs/benchmarks.md`` its effect.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from phronesis.recall.scoring.lane_arrays import Floats, Rows
from phronesis.recall.scoring.packed_features import ASKS, NAMES_TIME, SAID, SHARES_PHOTO
from phronesis.recall.scoring.signals import Signals, date_fit

Feature = Callable[[Signals, Rows], Floats]
"""Gives a feature's value at some places."""

COVERED: Final = 0.3
"""Share of the question from which on a fitting date counts: the day alone says nothing of what happened on it."""


def words(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text itself."""
    return signals.words[places]


def window(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text with up to four on either side: what the talk was about (``layout.WINDOW_REACH``)."""
    return signals.window_spread.z(signals.window[places])


def pair(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text with the one before it: an answer whose words stand in its question."""
    return signals.pair_spread.z(signals.pair[places])


def previous(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text before."""
    return _beside(signals, signals.words, places, -1)


def second_previous(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text two before."""
    return _beside(signals, signals.words, places, -2)


def following(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text after."""
    return _beside(signals, signals.words, places, 1)


def coverage(signals: Signals, places: Rows) -> Floats:
    """Share 0..1 of the question's idf mass (terms the scope knows) that the text holds."""
    return signals.coverage[places]


def coverage_next(signals: Signals, places: Rows) -> Floats:
    """Share of the question that the text after holds: who asks back repeats what it was about."""
    return _beside(signals, signals.coverage, places, 1)


def coverage_third_next(signals: Signals, places: Rows) -> Floats:
    """Share of the question that the third text after holds."""
    return _beside(signals, signals.coverage, places, 3)


def dense(signals: Signals, places: Rows) -> Floats:
    """Z of the cosine of question and text; without a vector yet, what its words make likely (``signals.GUESSED``)."""
    return _nothing(places) if signals.dense is None else signals.dense[places]


def dense_next(signals: Signals, places: Rows) -> Floats:
    """Z of the cosine of question and the text after."""
    return _nothing(places) if signals.dense is None else _beside(signals, signals.dense, places, 1)


def speaker(signals: Signals, places: Rows) -> Floats:
    """1 for what the one speaker said who is asked about, by name or by role."""
    return _nothing(places) if signals.lane.speaker is None else signals.lane.speaker[places]


def mention(signals: Signals, places: Rows) -> Floats:
    """1 for what mentions whom or what the question names, by any of its names."""
    return _nothing(places) if signals.lane.mention is None else signals.lane.mention[places]


def key(signals: Signals, places: Rows) -> Floats:
    """1 for what is held under the key that the question asks for, of whom it asks."""
    return _nothing(places) if signals.lane.key is None else signals.lane.key[places]


def date(signals: Signals, places: Rows) -> Floats:
    """How well the day it was said fits the time the question names (``dates.date_fit``)."""
    if not signals.question.times:
        return _nothing(places)
    return date_fit(signals.question.times, signals.lane.properties.days[places])


def date_covered(signals: Signals, places: Rows) -> Floats:
    """``date`` where the text holds more than ``COVERED`` of the question, else 0."""
    return np.where(signals.coverage[places] > COVERED, date(signals, places), np.float32(0))


def date_in_text(signals: Signals, places: Rows) -> Floats:
    """How well a time that the text itself names ("yesterday", "in May") fits the time the question names."""
    properties = signals.lane.properties
    if not signals.question.times or not len(properties.dated):
        return _nothing(places)
    fits = np.maximum(
        date_fit(signals.question.times, properties.begins), date_fit(signals.question.times, properties.ends)
    )
    best = np.zeros(len(signals.words), dtype=np.float32)
    np.maximum.at(best, properties.dated, fits)
    return best[places]


def when_time(signals: Signals, places: Rows) -> Floats:
    """1 where a question for a time meets a text that names one."""
    return _flag(signals, places, NAMES_TIME) if signals.question.asks_when else _nothing(places)


def length(signals: Signals, places: Rows) -> Floats:
    """Natural logarithm of 1 + the text's terms."""
    return np.log1p(signals.lane.layout.lengths.each[places])


def asks(signals: Signals, places: Rows) -> Floats:
    """1 for a text that ends with a question mark."""
    return _flag(signals, places, ASKS)


def previous_asks(signals: Signals, places: Rows) -> Floats:
    """1 where the text before ends with a question mark: this may be the answer."""
    there, inside = signals.lane.layout.beside(places, -1)
    return np.where(inside, _flag(signals, there, ASKS), np.float32(0))


def photo(signals: Signals, places: Rows) -> Floats:
    """1 for a text that shares a photo."""
    return _flag(signals, places, SHARES_PHOTO)


def stated(signals: Signals, places: Rows) -> Floats:
    """1 for what is not a message: a fact, a preference, a task … made of messages or stated outright."""
    return np.float32(1) - _flag(signals, places, SAID)


def _flag(signals: Signals, places: Rows, flag: int) -> Floats:
    return ((signals.lane.properties.flags[places] & flag) > 0).astype(np.float32)


def _beside(signals: Signals, values: Floats, places: Rows, step: int) -> Floats:
    there, inside = signals.lane.layout.beside(places, step)
    return np.where(inside, values[there], np.float32(0))


def _nothing(places: Rows) -> Floats:
    return np.zeros(len(places), dtype=np.float32)


FEATURES: Final[Mapping[str, Feature]] = MappingProxyType(
    {
        feature.__name__: feature
        for feature in (
            words, window, pair, previous, second_previous, following, coverage, coverage_next, coverage_third_next,
            dense, dense_next, speaker, mention, key, date, date_covered, date_in_text, when_time, length, asks,
            previous_asks, photo, stated,
        )
    }
)  # fmt: skip
"""Every feature by its name, in a fixed order: the names that formulas weigh and ``explain`` shows."""
