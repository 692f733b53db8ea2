"""How well a day fits the time that a question names, from 0 to 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np

from phronesis.core.scoring.arrays import Floats, Rows
from phronesis.core.scoring.marks import NO_DAY

DAYS_BEFORE: Final = 3
DAYS_AFTER: Final = 7
MONTH: Final = 31
"""People tell of a day up to a week after it, sometimes a month, and a little before it."""

_LONGEST_DAY: Final = 7
_LONGEST_MONTH: Final = 93
"""Days of a stretch that counts as a day or week, and as a month or season; a longer one counts as a year."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The first and last day of a time, as ordinals, both within it."""

    first: int
    last: int


def date_fit(asked: Sequence[Stretch], days: Rows) -> Floats:
    """Give for each day (an ordinal, ``NO_DAY`` for none) how well it fits the best of the times asked for.

    A day or week: 1 from three days before to a week after, .6 up to 31 days after, .2 else in the same month. A month
    or season: 1 within, .4 up to 31 days after. A year: .3 within. The figures were fitted by those who found the
    formula (``formulas``).
    """
    best = np.zeros(len(days), dtype=np.float32)
    for time in asked:
        best = np.maximum(best, _fit(time, days))
    return np.where(days == NO_DAY, np.float32(0), best).astype(np.float32)


def overlap(asked: Sequence[Stretch], begins: Rows, ends: Rows) -> Floats:
    """Give how times from ``begins`` to ``ends`` lie to the nearest asked: 1 within it, .5 across its edge, else 0."""
    best = np.zeros(len(begins), dtype=np.float32)
    for time in asked:
        within = (begins >= time.first) & (ends <= time.last)
        across = (begins <= time.last) & (ends >= time.first)
        best = np.maximum(best, np.select([within, across], [np.float32(1), np.float32(0.5)], np.float32(0)))
    return best


def _fit(time: Stretch, days: Rows) -> Floats:
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
