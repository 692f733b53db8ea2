"""How alike events are: metrics that can be replaced and added up (EMB-07).

A metric compares rows of one set of events with each other, as matrices: nothing else of an event is known to what
builds edges, clusters or lists of neighbours. Which of them are joined is said in code (``derive.experience.table`` and
``views``): another one takes two methods and a line there, and no policy names one.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

FEW: Final = 16


class SimilarityMetric(Protocol):
    """Compares events by their row numbers."""

    @property
    def name(self) -> str:
        """What it is called, where scores are explained."""
        ...

    @property
    def size(self) -> int:
        """How many events there are: rows are 0 … size-1."""
        ...

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Give how alike each of ``rows`` is to each of ``others`` (default: to all), float32 (rows, others)."""
        ...


@dataclass(frozen=True, slots=True)
class Cosine:
    """The cosine of vectors, in [-1, 1]; 0 where one of two has none (a row of zeros). Rows have length 1 or 0."""

    vectors: Floats
    name: str = "cosine"

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.vectors)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Give cosines."""
        against = self.vectors if others is None else self.vectors[others]
        asked = self.vectors[rows]
        # The same sums: a few rows with many are multiplied twice as fast from the side of the many.
        out: Floats = (against @ asked.T).T if 1 < len(asked) <= FEW else asked @ against.T
        return out


class Unlike:
    """1 where two events both have marks and share none, else 0: errors of two kinds are not one lesson.

    Marks are few, so that sets of marks are compared once and rows by the number of their set.
    """

    name = "unlike"

    def __init__(self, marks: Sequence[AbstractSet[str]]) -> None:
        kinds = {frozenset(one) for one in marks}
        order = sorted(kinds, key=sorted)
        number = {one: n for n, one in enumerate(order)}
        self._numbers = np.array([number[frozenset(one)] for one in marks], dtype=np.int64)
        apart = [[bool(one and other and not one & other) for other in order] for one in order]
        self._apart = np.array(apart, dtype=np.float32).reshape(len(order), len(order))

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self._numbers)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Give 0 or 1."""
        against = self._numbers if others is None else self._numbers[others]
        out: Floats = self._apart[self._numbers[rows]][:, against]
        return out


@dataclass(frozen=True, slots=True)
class Term:
    """One metric of a sum: ``weight`` times (its similarity less ``offset``)."""

    metric: SimilarityMetric
    weight: float
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """A sum of metrics over the same events. Zero is what two unrelated events have, where the offsets say so."""

    terms: Sequence[Term]
    name: str = "weighted_sum"

    @property
    def size(self) -> int:
        """How many events there are."""
        return self.terms[0].metric.size

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Give the weighted sums."""
        out: Floats = np.zeros((len(rows), self.size if others is None else len(others)), np.float32)
        part = np.empty_like(out)  # of 256 rows among 20,000 one more array is 20 MB
        for term in self.terms:
            out += np.multiply(term.metric.matrix(rows, others), np.float32(term.weight), out=part)
        out -= np.float32(sum(term.weight * term.offset for term in self.terms))
        return out
