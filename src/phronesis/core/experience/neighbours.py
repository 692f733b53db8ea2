"""Who is nearest to whom: exact lists of neighbours that grow with the events, and what two lists share.

Likeness alone tells near misses badly apart: two texts of one domain are alike whatever they teach. Those that share
their nearest neighbours are about the same thing (Jarvis & Patrick 1973, 'Clustering Using a Similarity Measure Based
on Shared Near Neighbors'). On the labelled events pairwise F1 at the same precision is .1 lower without
(docs/decisions/0023-patterns-of-experience.md).
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.similarity import Floats, Rows, SimilarityMetric

KEPT: Final = 15
"""Neighbours kept of an event: candidates for the same cluster, and as many for what speaks against it."""

SHARED: Final = (3, 9)
"""How many of the nearest two events may share: a narrow list and a wide one, of which the mean counts. Compared by
vectors, F1 at a precision of .8 is .52 with both on the nine readable sets of tests/labelled/experience, .46 with five
alone (docs/decisions/0044-parts-of-a-lesson.md)."""

OWN: Final = 0.2
"""How much an event is a neighbour of itself, beside neighbours whose weights add up to 1: so that two that name each
other share something."""

BLOCK: Final = 256
"""Rows compared with all others at a time."""

STRETCH: Final = 64
"""Scores of which the highest stands for all, where the nearest are sought."""

NOBODY: Final = -1

_Masks = npt.NDArray[np.bool_]


class _Lists:
    """For each event some others, the most alike first, and how alike they are."""

    def __init__(self, size: int) -> None:
        self.nearest = np.full((size, KEPT), NOBODY, np.int64)
        self.scores: Floats = np.full((size, KEPT), -np.inf, np.float32)

    def grow(self, count: int) -> None:
        """Make room for so many events more."""
        more = _Lists(count)
        self.nearest = np.concatenate((self.nearest, more.nearest))
        self.scores = np.concatenate((self.scores, more.scores))

    def keep(self, rows: Rows, scores: Floats) -> None:
        """Keep the nearest of some events by how alike all others are, who is left out less than any number."""
        # Of equals the one that came first: a stable order over the few that may be among the nearest.
        least = _reached_by(scores, KEPT)
        for n, row in enumerate(rows.tolist()):
            among = scores[n] >= least[n] if np.isfinite(least[n]) else np.isfinite(scores[n])
            found = np.flatnonzero(among)
            best = found[np.argsort(-scores[n][found], kind="stable")][:KEPT]
            self.nearest[row], self.scores[row] = NOBODY, -np.inf
            self.nearest[row, : len(best)], self.scores[row, : len(best)] = best, scores[n][best]

    def tell(self, row: int, told: Rows, scores: Floats) -> None:
        """Put an event into the lists of those in which it has a place, by how alike they are, behind its equals."""
        fits = scores > self.scores[told, -1]
        for other, score in zip(told[fits].tolist(), scores[fits].tolist(), strict=True):
            place = int(np.searchsorted(-self.scores[other], -score, side="right"))
            self.nearest[other, place + 1 :] = self.nearest[other, place:-1].copy()
            self.scores[other, place + 1 :] = self.scores[other, place:-1].copy()
            self.nearest[other, place], self.scores[other, place] = row, score

    def naming(self, rows: Rows, asked: Rows) -> _Masks:
        """Tell which of ``asked`` name one of ``rows``."""
        return np.array(np.isin(self.nearest[asked], rows).any(axis=1), np.bool_)


class Neighbours:
    """The nearest neighbours of events among those that may be compared: same ``group``, and ``alive``.

    Beside them the nearest of the other groups, which speak against an event's cluster. Lists are made when they are
    asked for, and kept; `grow` tells them of new events.
    """

    def __init__(self, metric: SimilarityMetric, groups: npt.NDArray[np.int64]) -> None:
        self.metric = metric
        self._groups = groups
        self._same, self._across = _Lists(len(groups)), _Lists(len(groups))
        self._known: _Masks = np.zeros(len(groups), np.bool_)

    def grow(self, metric: SimilarityMetric, groups: npt.NDArray[np.int64]) -> None:
        """Take in events that were added behind the others, and tell the lists that are known of them."""
        before, now = len(self._groups), len(groups)
        self.metric, self._groups = metric, groups
        self._same.grow(now - before)
        self._across.grow(now - before)
        self._known = np.concatenate((self._known, np.zeros(now - before, np.bool_)))
        told = np.flatnonzero(self._known)  # the new ones see each other in their own lists
        for row in range(before, now):
            self._join(row, told)

    def forget(self, rows: Iterable[int]) -> None:
        """Leave events out from now on; lists that named them are made anew when they are asked for."""
        gone = np.array(sorted(rows), dtype=np.int64)
        self._groups[gone] = NOBODY
        known = np.flatnonzero(self._known)
        self._known[known] = ~(self._same.naming(gone, known) | self._across.naming(gone, known))
        self._known[gone] = False

    def lists(self, rows: Rows) -> tuple[npt.NDArray[np.int64], Floats]:
        """Give the neighbours of some events, the nearest first (`NOBODY` where there are fewer), and how alike."""
        self._make(rows)
        return self._same.nearest[rows], self._same.scores[rows]

    def across(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Give the nearest of other groups, the most alike first (`NOBODY` where there are fewer)."""
        self._make(rows)
        return self._across.nearest[rows]

    def naming(self, rows: Rows) -> Rows:
        """Give the events whose lists, as far as they are known, name one of some events."""
        known = np.flatnonzero(self._known)
        return known[self._same.naming(rows, known)]

    def against(self, rows: Rows, least: float) -> Rows:
        """Give the events of other groups, as far as their lists are known, that name one of some events so alike."""
        known = np.flatnonzero(self._known)
        named = np.isin(self._across.nearest[known], rows) & (self._across.scores[known] >= least)
        return known[named.any(axis=1)]

    def _make(self, rows: Rows) -> None:
        missing = np.unique(rows[~self._known[rows]])
        for begin in range(0, len(missing), BLOCK):
            block = missing[begin : begin + BLOCK]
            self._keep(block, self.metric.matrix(block))

    def _comparable(self, rows: Rows) -> _Masks:
        """Tell who is of an event's own group, beside itself."""
        same: _Masks = self._groups[rows][:, None] == self._groups[None, :]
        same &= (self._groups != NOBODY)[None, :]
        same[np.arange(len(rows)), rows] = False
        return same

    def _opposite(self, rows: Rows) -> _Masks:
        """Tell who is of another group."""
        apart: _Masks = self._groups[rows][:, None] != self._groups[None, :]
        apart &= (self._groups != NOBODY)[None, :] & (self._groups[rows] != NOBODY)[:, None]
        return apart

    def _keep(self, rows: Rows, scores: Floats) -> tuple[_Masks, _Masks]:
        """Keep both lists of some events; gives who is of their own group, and who is of another."""
        same, across = self._comparable(rows), self._opposite(rows)
        self._same.keep(rows, np.where(same, scores, -np.inf))
        self._across.keep(rows, np.where(across, scores, -np.inf))
        self._known[rows] = True
        return same, across

    def _join(self, row: int, told: Rows) -> None:
        rows = np.array([row], dtype=np.int64)
        scores = self.metric.matrix(rows)
        for lists, mask in zip((self._same, self._across), self._keep(rows, scores), strict=True):
            asked = told[mask[0][told]]
            lists.tell(row, asked, scores[0][asked])

    def shared(self, rows: Rows, counts: Sequence[int] = SHARED) -> Floats:
        """Give how much the neighbourhoods of some events share, in [0, 1], as a square matrix.

        It is the cosine of the lists, each neighbour weighed by its likeness, and the event itself among them: the mean
        over the lists of so many neighbours each.
        """
        nearest, scores = self.lists(rows)
        widest = max(counts)
        names, places = np.unique(np.concatenate((rows[:, None], nearest[:, :widest]), axis=1), return_inverse=True)
        columns = places.reshape(len(rows), widest + 1)
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


def _reached_by(scores: Floats, count: int) -> Floats:
    """Give for each row a score that ``count`` of it reach, or all where there are fewer, and few more.

    Of so many stretches of a row the highest scores are compared, not all: sorting 20,000 in part takes five times as
    long.
    """
    size = scores.shape[1]
    if size >= STRETCH * count:
        whole = size // STRETCH * STRETCH
        highest = scores[:, :whole].reshape(len(scores), -1, STRETCH).max(axis=2)
        scores = np.concatenate((highest, scores[:, whole:]), axis=1)
    kth = scores.shape[1] - min(count, size)
    out: Floats = np.partition(scores, kth, axis=1)[:, kth]
    return out


def weights_of(nearest: npt.NDArray[np.int64], scores: Floats, count: int) -> Floats:
    """Give how much each of the nearest ``count`` weighs, by its likeness: 1 together, nobody nothing."""
    kept = np.where(nearest[:, :count] == NOBODY, 0.0, np.maximum(scores[:, :count], 0.0))
    out: Floats = (kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
    return out


def candidate_pairs(rows: Rows, nearest: npt.NDArray[np.int64]) -> Sequence[tuple[int, int]]:
    """Give each pair of an event of ``rows`` and one of its neighbours once, the smaller row first."""
    pairs = {(min(row, other), max(row, other)) for row, others in zip(rows.tolist(), nearest.tolist(), strict=True)
             for other in others if other != NOBODY}  # fmt: skip
    return sorted(pairs)
