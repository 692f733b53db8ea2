"""Clusters by average link, within what pairs that must and must not be together allow (EMB-08, EMB-15).

Average link (Sokal & Michener 1958) joins the two groups whose members are on average most alike, as long as that is at
least a threshold. Unlike single link it makes no chains; unlike density clustering it can be asked about a part of the
events alone and gives there what it gave before, which is what an increment needs. Ties go to the smaller rows.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.similarity import Floats

_Matrix = npt.NDArray[np.float64]

LARGE: Final = 200
"""Rows from which on it is faster to remember whom each is most like than to look again."""

_FORBIDDEN = np.float32(-1e9)


def average_link(
    alike: Floats,
    *,
    threshold: float,
    together: Iterable[tuple[int, int]] = (),
    apart: Iterable[tuple[int, int]] = (),
) -> list[list[int]]:
    """Give the groups of a square matrix of likeness, each sorted, ordered by their first member; single ones too.

    ``together`` are pairs that are joined first, whatever they are like; ``apart`` pairs that no group may hold. Where
    both are asked of the same two, they stay apart.
    """
    size = len(alike)
    likeness = np.array(alike, dtype=np.float64)
    for first, second in apart:
        likeness[first, second] = likeness[second, first] = _FORBIDDEN
    np.fill_diagonal(likeness, -np.inf)
    groups: dict[int, list[int]] = {row: [row] for row in range(size)}
    where = list(range(size))
    for first, second in together:
        one, other = sorted((where[first], where[second]))
        if one != other and not _torn(likeness[one, other]):
            _join(likeness, groups, one, other)
            where = [one if place == other else place for place in where]
    closest = _Closest(likeness) if size > LARGE else _Looked(likeness)
    while size:
        first, second = closest.pair()
        if likeness[first, second] < threshold:
            break
        one, other = sorted((first, second))
        _join(likeness, groups, one, other)
        closest.joined(one, other)
    return sorted(sorted(group) for group in groups.values())


class _Looked:
    """Which two groups are most like each other, by a look at all pairs."""

    def __init__(self, likeness: _Matrix) -> None:
        self._likeness = likeness

    def pair(self) -> tuple[int, int]:
        """Give the row and the column of the largest value, of equal ones the first."""
        return divmod(int(self._likeness.argmax()), len(self._likeness))

    def joined(self, one: int, other: int) -> None:
        """Take in that ``other`` went into ``one``."""


class _Closest(_Looked):
    """The same with whom each row is most like kept up to date: a look at all pairs for every join goes with n³."""

    def __init__(self, likeness: _Matrix) -> None:
        super().__init__(likeness)
        self._partner = likeness.argmax(axis=1)
        self._most = likeness[np.arange(len(likeness)), self._partner]

    def pair(self) -> tuple[int, int]:
        """Give the row and the column of the largest value, of equal ones the first."""
        row = int(self._most.argmax())
        return row, int(self._partner[row])

    def joined(self, one: int, other: int) -> None:
        """Take in that ``other`` went into ``one``."""
        values = self._likeness[one]
        nearer = (values > self._most) | ((values == self._most) & (one < self._partner))
        lost = (self._partner == one) | (self._partner == other)
        lost[[one, other]] = True
        self._partner[nearer], self._most[nearer] = one, values[nearer]
        rows = np.flatnonzero(lost)
        self._partner[rows] = self._likeness[rows].argmax(axis=1)
        self._most[rows] = self._likeness[rows, self._partner[rows]]


def _torn(value: float) -> bool:
    """Whether two groups hold a pair that must stay apart: one such pair drags every average down."""
    return value < float(_FORBIDDEN) / 1e6


def _join(likeness: _Matrix, groups: dict[int, list[int]], one: int, other: int) -> None:
    here, there = len(groups[one]), len(groups[other])
    row = (here * likeness[one] + there * likeness[other]) / (here + there)
    likeness[one], likeness[:, one] = row, row
    likeness[one, one] = -np.inf
    likeness[other], likeness[:, other] = -np.inf, -np.inf
    groups[one] += groups.pop(other)
