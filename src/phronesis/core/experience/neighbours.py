"""Who is nearest to whom: exact lists of neighbours that grow with the events."""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.similarity import Floats, Rows, SimilarityMetric

KEPT: Final = 15
"""Neighbours kept of an event: candidates for the same cluster."""

BLOCK: Final = 256
"""Rows compared with all others at a time."""

NOBODY: Final = -1

_Masks = npt.NDArray[np.bool_]


class Neighbours:
    """The nearest neighbours of events among those that may be compared: same ``group``, and ``alive``.

    Lists are made when they are asked for, and kept; `grow` tells them of new events.
    """

    def __init__(self, metric: SimilarityMetric, groups: npt.NDArray[np.int64]) -> None:
        self.metric = metric
        self._groups = groups
        self._nearest = np.full((len(groups), KEPT), NOBODY, np.int64)
        self._scores: Floats = np.full((len(groups), KEPT), -np.inf, np.float32)
        self._known: _Masks = np.zeros(len(groups), np.bool_)

    @property
    def kept(self) -> int:
        """How many neighbours a list has room for."""
        return self._nearest.shape[1]

    def grow(self, metric: SimilarityMetric, groups: npt.NDArray[np.int64]) -> None:
        """Take in events that were added behind the others, and tell the lists that are known of them."""
        before, now = len(self._groups), len(groups)
        self.metric, self._groups = metric, groups
        self._nearest = np.concatenate((self._nearest, np.full((now - before, KEPT), NOBODY, np.int64)))
        self._scores = np.concatenate((self._scores, np.full((now - before, KEPT), -np.inf, np.float32)))
        self._known = np.concatenate((self._known, np.zeros(now - before, np.bool_)))
        told = np.flatnonzero(self._known)  # the new ones see each other in their own lists
        for row in range(before, now):
            self._join(row, told)

    def forget(self, rows: Iterable[int]) -> None:
        """Leave events out from now on; lists that named them are made anew when they are asked for."""
        gone = np.array(sorted(rows), dtype=np.int64)
        self._groups[gone] = NOBODY
        self._known &= ~np.isin(self._nearest, gone).any(axis=1)
        self._known[gone] = False

    def lists(self, rows: Rows) -> tuple[npt.NDArray[np.int64], Floats]:
        """Give the neighbours of some events, the nearest first (`NOBODY` where there are fewer), and how alike."""
        missing = rows[~self._known[rows]]
        for begin in range(0, len(missing), BLOCK):
            block = missing[begin : begin + BLOCK]
            self._keep(block, self.metric.matrix(block))
        return self._nearest[rows], self._scores[rows]

    def naming(self, rows: Rows) -> Rows:
        """Give the events whose lists, as far as they are known, name one of some events."""
        known = np.flatnonzero(self._known)
        return known[np.isin(self._nearest[known], rows).any(axis=1)]

    def _comparable(self, rows: Rows) -> _Masks:
        same: _Masks = self._groups[rows][:, None] == self._groups[None, :]
        same &= (self._groups != NOBODY)[None, :]
        same[np.arange(len(rows)), rows] = False
        return same

    def _keep(self, rows: Rows, scores: Floats) -> None:
        scores = np.where(self._comparable(rows), scores, -np.inf)
        count = min(KEPT, scores.shape[1])
        # Of equals the one that came first: a stable order over the few that may be among the nearest.
        kth = np.partition(scores, scores.shape[1] - count, axis=1)[:, scores.shape[1] - count]
        for n, row in enumerate(rows.tolist()):
            found = (
                np.flatnonzero(scores[n] >= kth[n]) if np.isfinite(kth[n]) else np.flatnonzero(np.isfinite(scores[n]))
            )
            best = found[np.argsort(-scores[n][found], kind="stable")][:KEPT]
            self._nearest[row], self._scores[row] = NOBODY, -np.inf
            self._nearest[row, : len(best)], self._scores[row, : len(best)] = best, scores[n][best]
        self._known[rows] = True

    def _join(self, row: int, told: Rows) -> None:
        rows = np.array([row], dtype=np.int64)
        scores = self.metric.matrix(rows)
        self._keep(rows, scores)
        fits = self._comparable(rows)[0][told] & (scores[0][told] > self._scores[told, -1])
        for other in told[fits].tolist():
            place = int(np.searchsorted(-self._scores[other], -scores[0, other], side="right"))
            self._nearest[other, place + 1 :] = self._nearest[other, place:-1].copy()
            self._scores[other, place + 1 :] = self._scores[other, place:-1].copy()
            self._nearest[other, place], self._scores[other, place] = row, scores[0, other]


def candidate_pairs(rows: Rows, nearest: npt.NDArray[np.int64]) -> Sequence[tuple[int, int]]:
    """Give each pair of an event of ``rows`` and one of its neighbours once, the smaller row first."""
    pairs = {(min(row, other), max(row, other)) for row, others in zip(rows.tolist(), nearest.tolist(), strict=True)
             for other in others if other != NOBODY}  # fmt: skip
    return sorted(pairs)
