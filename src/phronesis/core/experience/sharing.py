"""What two lists of neighbours share, and the order that they have by it.

Likeness alone tells near misses badly apart: two texts of one domain are alike whatever they teach. Those that share
their nearest neighbours are about the same thing (Jarvis & Patrick 1973, 'Clustering Using a Similarity Measure Based
on Shared Near Neighbors'). And who is nearest is told better by what the first lists share than by likeness alone, so
that the lists are brought into that order before they are compared (re-ranking by reciprocal neighbours: Zhong et al.
2017, 'Re-ranking Person Re-identification with k-reciprocal Encoding').
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.neighbours import NOBODY, Neighbours
from phronesis.core.experience.similarity import Floats, Rows

SHARED: Final = (3, 9)
"""How many of the nearest two events may share: a narrow list and a wide one, of which the mean counts. Compared by
vectors, F1 at a precision of .8 is .52 with both on the nine readable sets of tests/labelled/experience, .46 with five
alone (docs/decisions/0044-parts-of-a-lesson.md)."""

OWN: Final = 0.2
"""How much an event is a neighbour of itself, beside neighbours whose weights add up to 1: so that two that name each
other share something."""

AT_ONCE: Final = 4096
"""Events whose lists are brought into order at a time."""

Nearest = npt.NDArray[np.int64]


@dataclass(slots=True)
class Reranked:
    """Lists of neighbours in the order of likeness plus ``weight`` times what they share; made when asked for."""

    neighbours: Neighbours
    weight: float
    counts: Sequence[int] = SHARED
    _nearest: Nearest = field(init=False)
    _scores: Floats = field(init=False)
    _known: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        """Make room for as many lists as there are events."""
        size, kept = self.neighbours.metric.size, self.neighbours.kept
        self._nearest = np.full((size, kept), NOBODY, np.int64)
        self._scores = np.full((size, kept), -np.inf, np.float32)
        self._known = np.zeros(size, np.bool_)

    def lists(self, rows: Rows) -> tuple[Nearest, Floats]:
        """Give the neighbours of some events, the nearest first (`NOBODY` where there are fewer), and how near."""
        if not self.weight:
            return self.neighbours.lists(rows)
        missing = rows[~self._known[rows]]
        for begin in range(0, len(missing), AT_ONCE):
            self._rank(missing[begin : begin + AT_ONCE])
        return self._nearest[rows], self._scores[rows]

    def _rank(self, rows: Rows) -> None:
        nearest, scores = self.neighbours.lists(rows)
        met = np.union1d(rows, nearest[nearest != NOBODY])
        own, others = np.nonzero(nearest != NOBODY)
        pairs = np.stack((rows[own], nearest[own, others]), axis=1)
        near = np.full(nearest.shape, -np.inf, np.float32)
        near[own, others] = scores[own, others] + np.float32(self.weight) * shared_of(
            pairs, met, *self.neighbours.lists(met), self.counts
        )
        order = np.argsort(-near, axis=1, kind="stable")  # of equals the more alike
        self._nearest[rows] = np.take_along_axis(nearest, order, axis=1)
        self._scores[rows] = np.take_along_axis(near, order, axis=1)
        self._known[rows] = True


def shared_among(rows: Rows, nearest: Nearest, scores: Floats, counts: Sequence[int] = SHARED) -> Floats:
    """Give how much the neighbourhoods of some events share, in [0, 1], as a square matrix.

    It is the cosine of the lists, each neighbour weighed by its likeness, and the event itself among them: the mean
    over the lists of so many neighbours each.
    """
    widest = max(counts)
    names, places = np.unique(np.concatenate((rows[:, None], nearest[:, :widest]), axis=1), return_inverse=True)
    columns = places.reshape(len(rows), -1)
    out: Floats = np.zeros((len(rows), len(rows)), np.float32)
    for count in counts:
        held = np.zeros((len(rows), len(names)), np.float32)
        np.put_along_axis(held, columns[:, 1 : count + 1], weights_of(nearest, scores, count), axis=1)
        held[:, names == NOBODY] = 0.0
        held[np.arange(len(rows)), columns[:, 0]] = OWN
        held /= np.linalg.norm(held, axis=1, keepdims=True)
        out += held @ held.T
    out /= np.float32(len(counts))
    return out


def shared_of(pairs: Nearest, rows: Rows, nearest: Nearest, scores: Floats, counts: Sequence[int] = SHARED) -> Floats:
    """Give how much the neighbourhoods of each pair share, as `shared_among` does for all with all.

    ``rows`` are those whose lists are given, in order, and hold both of every pair.
    """
    places = np.searchsorted(rows, pairs)
    one, other = places[:, 0], places[:, 1]
    out = np.zeros(len(pairs), np.float32)
    for count in counts:
        names = np.concatenate((rows[:, None], nearest[:, :count]), axis=1)
        held = np.concatenate((np.full((len(rows), 1), OWN), weights_of(nearest, scores, count)), axis=1)
        held /= np.linalg.norm(held, axis=1, keepdims=True)
        for n in range(names.shape[1]):
            same = names[one][:, n][:, None] == names[other]
            out += held[one][:, n] * np.where(same, held[other], 0.0).sum(axis=1)
    out /= np.float32(len(counts))
    return out


def weights_of(nearest: Nearest, scores: Floats, count: int) -> Floats:
    """Give how much each of the nearest ``count`` weighs, by its likeness: 1 together, nobody nothing."""
    kept = np.where(nearest[:, :count] == NOBODY, 0.0, np.maximum(scores[:, :count], 0.0))
    out: Floats = (kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
    return out
