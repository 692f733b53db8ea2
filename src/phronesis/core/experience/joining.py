"""Which groups of events become one, by more than how alike they are.

Average link asks the same likeness of any two groups. What it takes differs with how many members they have, and with
how well either matches another group. How much, was learned from labelled events: a network of one hidden layer is
given six numbers of two groups, and gives the odds that a pair across them is one lesson. The two with the best odds
are joined, as long as these are even (docs/decisions/0054-groups-that-learned-to-join.md).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.linking import Groups, Matrix
from phronesis.core.experience.similarity import Floats

LEAST: Final = 0.6
"""How alike two groups must be to be thought of, in units of `Belonging`; what is less alike counts as much. It is what
one pair must have for two groups to be within reach of each other: what is farther is not compared at all."""

MOST: Final = 200
"""Events from which on a larger lane is no other: labelled files have hardly more. In a small one two are seldom
alike by chance, and its events share their neighbours whatever they are about."""

MANY: Final = 4
"""Members from which on a larger group is no other: how often a lesson comes back is not to be learned from labelled
events, where it does so four to eight times."""

SAID: Final = 6
"""Numbers that are said of two groups."""

Judge = Callable[[Matrix], Matrix]
"""Gives the log odds that pairs across two groups are one lesson, by rows of `SAID` numbers: how alike they are; the
logarithms of the smaller and of the larger number of their members, up to `MANY`; how alike to the next best group is
the one that has a better one, and the other; the logarithm of the number of events in their lane."""


@dataclass(frozen=True, slots=True, eq=False)
class Joining:
    """What was learned: where the numbers lie and how far apart, the weights of the hidden layer and of what comes out.

    ``hidden`` has a row for each of the `SAID` numbers and a last one that is always added, ``out`` a number for each
    of the hidden layer's and a last one.
    """

    means: Matrix
    spreads: Matrix
    hidden: Matrix
    out: Matrix

    def __call__(self, said: Matrix) -> Matrix:
        """Give the log odds for rows of `SAID` numbers."""
        inner = np.tanh((said - self.means) / self.spreads @ self.hidden[:-1] + self.hidden[-1])
        odds: Matrix = inner @ self.out[:-1] + self.out[-1]
        return odds

    def asking(self, share: float) -> "Joining":
        """Give the same, with even odds where these say that ``share`` of the pairs are one lesson."""
        out = self.out.copy()
        out[-1] -= np.log(share / (1 - share))
        return Joining(self.means, self.spreads, self.hidden, out)


class Merging:
    """Groups on their way: who may become one, and with what odds.

    ``odds`` is a square matrix, -inf where two are not thought of.
    """

    def __init__(
        self,
        alike: Floats,
        judge: Judge,
        *,
        events: int,
        together: Iterable[tuple[int, int]] = (),
        apart: Iterable[tuple[int, int]] = (),
    ) -> None:
        """Begin with one group a row, or with those that must be together; ``events`` are in the lane."""
        self.groups = Groups(alike, together=together, apart=apart)
        self._judge = judge
        self._events = np.log(max(1, min(events, MOST)))
        size = len(alike)
        self.odds: Matrix = np.full((size, size), -np.inf)
        self._best, self._second = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._most, self._next = np.full(size, LEAST), np.full(size, LEAST)
        self._look(np.arange(size))

    def likeliest(self) -> tuple[int, int, float] | None:
        """Give the two groups with the best odds, the first of equals, and these; None where none are thought of."""
        if not len(self.odds):
            return None
        one, other = divmod(int(self.odds.argmax()), len(self.odds))
        odds = float(self.odds[one, other])
        return None if odds == -np.inf else (min(one, other), max(one, other), odds)

    def join(self, one: int, other: int) -> None:
        """Make two groups one, ``other`` going into ``one``, and judge anew what that changes."""
        self.groups.join(one, other)
        self.odds[other], self.odds[:, other] = -np.inf, -np.inf
        changed = (self.groups.likeness[one] > self._next) | (self._best == other) | (self._second == other)
        changed |= (self._best == one) | (self._second == one)
        changed[one], changed[other] = True, False
        self._look(np.flatnonzero(changed))

    def said(self, one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> Matrix:
        """Give the `SAID` numbers of pairs of groups."""
        sizes = np.log(np.minimum(self.groups.sizes, MANY))
        here, there = self._besides(one, other), self._besides(other, one)
        return np.stack(
            (
                self.groups.likeness[one, other],
                np.minimum(sizes[one], sizes[other]), np.maximum(sizes[one], sizes[other]),
                np.maximum(here, there), np.minimum(here, there),
                np.full(len(one), self._events),
            ),
            axis=1,
        )  # fmt: skip

    def _besides(self, one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> Matrix:
        """Give how alike groups are to the best that is not the other of the pair."""
        return np.maximum(np.where(self._best[one] == other, self._next[one], self._most[one]), LEAST)

    def _look(self, rows: npt.NDArray[np.int64]) -> None:
        likeness = self.groups.likeness[rows]
        if not likeness.size:
            return
        places = np.arange(len(rows))
        self._best[rows] = best = likeness.argmax(axis=1)
        self._most[rows] = likeness[places, best]
        rest = likeness.copy()
        rest[places, best] = -np.inf
        self._second[rows] = second = rest.argmax(axis=1)
        self._next[rows] = rest[places, second]
        place, other = np.nonzero(likeness >= LEAST)
        self.odds[rows], self.odds[:, rows] = -np.inf, -np.inf
        if len(place):
            one = rows[place]
            odds = self._judge(self.said(one, other))
            self.odds[one, other], self.odds[other, one] = odds, odds


def learned_link(
    alike: Floats,
    judge: Judge,
    *,
    events: int,
    together: Iterable[tuple[int, int]] = (),
    apart: Iterable[tuple[int, int]] = (),
) -> list[list[int]]:
    """Give the groups of a square matrix of likeness, each sorted, ordered by their first member; single ones too.

    ``events`` are in the lane that the rows are of; ``together`` and ``apart`` are as for `average_link`.
    """
    merging = Merging(alike, judge, events=events, together=together, apart=apart)
    while (found := merging.likeliest()) is not None and found[2] >= 0:
        merging.join(found[0], found[1])
    return merging.groups.found()
