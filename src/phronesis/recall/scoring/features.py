"""Features: pure functions from a lane's signals to one number for each candidate place.

Formula and features were found by a search over LoCoMo's dev conversations and chats with long assistant turns;
``docs/decisions/05-ranking.md`` gives the purpose of each, ``phronesis bench ablate`` measures its effect.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from phronesis.recall.scoring.lane_arrays import Floats, Rows
from phronesis.recall.scoring.packed_features import ASKS, NAMES_TIME, SAID, SHARES_PHOTO
from phronesis.recall.scoring.signals import Signals, date_fit

Feature = Callable[[Signals, Rows], Floats]
"""A function that returns a feature's value at some places."""

COVERED: Final = 0.3
"""Minimum coverage for a matching date to count: the day alone says nothing about the content."""


def words(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text itself."""
    return signals.words[places]


def window(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text with up to four on either side, the topic of the talk (``lane_arrays.WINDOW_REACH``)."""
    return signals.window_spread.z(signals.window[places])


def pair(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text with the one before it: an answer whose question contains the words."""
    return signals.pair_spread.z(signals.pair[places])


def previous(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text before."""
    return _values_beside(signals, signals.words, places, -1)


def second_previous(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text two before."""
    return _values_beside(signals, signals.words, places, -2)


def following(signals: Signals, places: Rows) -> Floats:
    """Z of BM25 of the text after."""
    return _values_beside(signals, signals.words, places, 1)


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


def date(signals: Signals, places: Rows) -> Floats:
    """Fit of the day it was said to the time that the question names (``signals.date_fit``)."""
    if not signals.question.times:
        return _zeros(places)
    return date_fit(signals.question.times, signals.lane.properties.days[places])


def date_covered(signals: Signals, places: Rows) -> Floats:
    """``date`` if the text contains more than ``COVERED`` of the question, else 0."""
    return np.where(signals.coverage[places] > COVERED, date(signals, places), np.float32(0))


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
    return np.log1p(signals.lane.layout.lengths.each[places])


def asks(signals: Signals, places: Rows) -> Floats:
    """1 for a text that ends with a question mark."""
    return _flag(signals, places, ASKS)


def previous_asks(signals: Signals, places: Rows) -> Floats:
    """1 if the text before ends with a question mark: this may be the answer."""
    there, inside = signals.lane.layout.beside(places, -1)
    return np.where(inside, _flag(signals, there, ASKS), np.float32(0))


def photo(signals: Signals, places: Rows) -> Floats:
    """1 for a text that shares a photo."""
    return _flag(signals, places, SHARES_PHOTO)


def stated(signals: Signals, places: Rows) -> Floats:
    """1 for items other than messages: a fact, a preference, a task."""
    return np.float32(1) - _flag(signals, places, SAID)


def _flag(signals: Signals, places: Rows, flag: int) -> Floats:
    return ((signals.lane.properties.flags[places] & flag) > 0).astype(np.float32)


def _values_beside(signals: Signals, values: Floats, places: Rows, step: int) -> Floats:
    there, inside = signals.lane.layout.beside(places, step)
    return np.where(inside, values[there], np.float32(0))


def _zeros(places: Rows) -> Floats:
    return np.zeros(len(places), dtype=np.float32)


FEATURES: Final[Mapping[str, Feature]] = MappingProxyType(
    {
        feature.__name__: feature
        for feature in (
            words,
            window,
            pair,
            previous,
            second_previous,
            following,
            coverage,
            coverage_next,
            coverage_third_next,
            dense,
            dense_next,
            speaker,
            mention,
            key,
            date,
            date_covered,
            date_in_text,
            when_time,
            length,
            asks,
            previous_asks,
            photo,
            stated,
        )
    }
)
"""Every feature by its name, in a fixed order; formulas and ``explain`` use these names."""
