"""Making edges of likeness, apart from what measures it (EMB-07).

What an edge means and where it is kept is the caller's; a builder only says which two rows it joins, and how strongly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from phronesis.core.experience.similarity import Rows, SimilarityMetric


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
class Listed:
    """Joins those of some pairs that are alike enough: where lists of neighbours say whom to compare."""

    pairs: Sequence[tuple[int, int]]
    """Pairs of row numbers."""
    threshold: float

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Give the pairs among ``rows`` with at least ``threshold``."""
        wanted = set(rows.tolist())
        others: dict[int, set[int]] = {}
        for pair in self.pairs:
            if wanted.issuperset(pair):
                others.setdefault(min(pair), set()).add(max(pair))
        out: list[Link] = []
        for first in sorted(others):
            second = np.array(sorted(others[first]), dtype=np.int64)
            alike = metric.matrix(np.array([first], dtype=np.int64), second)[0]
            out += [Link(first, int(second[n]), float(alike[n])) for n in np.flatnonzero(alike >= self.threshold)]
        return out
