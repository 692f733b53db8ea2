"""Making edges of likeness: by a threshold, to the nearest, or from clusters (EMB-07).

What an edge means and where it is kept is the caller's; a builder only says which two rows it joins, and how strongly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.similarity import Floats, Rows, SimilarityMetric

AT_ONCE: Final = 256
"""Pairs that are compared in one multiplication, of some 40 rows with some 200, instead of one row with few others."""


class Link(NamedTuple):
    """An edge between two rows, the smaller first, with how alike they are."""

    first: int
    second: int
    weight: float


class EdgeBuilder(Protocol):
    """Turns likeness into edges."""

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Give the edges among ``rows``, each once, ordered by its rows."""
        ...


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Joins every two that are alike enough."""

    threshold: float

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Give each pair with at least ``threshold``."""
        alike = metric.matrix(rows, rows)
        found = np.argwhere(np.triu(alike >= self.threshold, 1))
        return _sorted(rows, alike, [(int(one), int(other)) for one, other in found])


@dataclass(frozen=True, slots=True)
class Nearest:
    """Joins each with its ``k`` nearest that are alike enough; of equals the one that comes first."""

    k: int
    threshold: float = 0.0

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Give each row's nearest."""
        alike = metric.matrix(rows, rows)
        np.fill_diagonal(alike, -np.inf)
        best = np.argsort(-alike, axis=1, kind="stable")[:, : self.k]
        pairs = {(min(n, int(other)), max(n, int(other))) for n in range(len(rows)) for other in best[n]
                 if alike[n, other] >= self.threshold}  # fmt: skip
        return _sorted(rows, alike, pairs)


@dataclass(frozen=True, slots=True)
class Listed:
    """Joins those of some pairs that are alike enough: where lists of neighbours say whom to compare."""

    pairs: Sequence[tuple[int, int]] | npt.NDArray[np.int64]
    """Pairs of row numbers, in any order."""
    threshold: float

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Give the pairs among ``rows`` with at least ``threshold``."""
        pairs = np.sort(np.array(self.pairs, dtype=np.int64).reshape(-1, 2), axis=1)
        pairs = pairs[np.isin(pairs, rows).all(axis=1)]
        numbers = np.unique(pairs[:, 0] * metric.size + pairs[:, 1])
        out: list[Link] = []
        for begin in range(0, len(numbers), AT_ONCE):
            first, second = np.divmod(numbers[begin : begin + AT_ONCE], metric.size)
            (asked, one), (met, other) = (np.unique(rows, return_inverse=True) for rows in (first, second))
            alike = metric.matrix(asked, met)[one, other]
            out += [Link(int(first[n]), int(second[n]), float(alike[n]))
                    for n in np.flatnonzero(alike >= self.threshold)]  # fmt: skip
        return out


@dataclass(frozen=True, slots=True)
class Clusters:
    """Joins the members of each group with its centre: the member that is on average most like the others."""

    groups: Sequence[Sequence[int]]
    """Groups of row numbers."""

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Give the edges of the groups' members that are among ``rows``."""
        wanted = set(rows.tolist())
        out: list[Link] = []
        for group in self.groups:
            members = np.array(sorted(wanted.intersection(group)), dtype=np.int64)
            if len(members) > 1:
                alike = metric.matrix(members, members)
                centre = centre_of(alike)
                pairs = [(min(n, centre), max(n, centre)) for n in range(len(members)) if n != centre]
                out += _sorted(members, alike, pairs)
        return sorted(out)


def centre_of(alike: Floats) -> int:
    """Give the row of a square matrix that is most like the others; of equals the first."""
    return int(np.argmax(alike.sum(axis=1) - np.diag(alike)))


def _sorted(rows: Rows, alike: Floats, pairs: "set[tuple[int, int]] | list[tuple[int, int]]") -> list[Link]:
    out = []
    for one, other in pairs:
        first, second = sorted((int(rows[one]), int(rows[other])))
        out.append(Link(first, second, float(alike[one, other])))
    return sorted(out)
