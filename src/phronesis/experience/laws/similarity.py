"""Similarity metrics over events, which can be exchanged and summed, and builders of similarity edges (EMB-07)."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

MAX_EDITED: Final = 400
"""Characters of a text that edit distance examines: its time is quadratic in them."""


FEW: Final = 16
"""Rows up to which a product with many is twice as fast with the many on the left."""


class SimilarityMetric(Protocol):
    """The port of a metric that compares events by row number."""

    @property
    def size(self) -> int:
        """The number of events: rows are 0 … size-1."""
        ...

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return the similarity of each of ``rows`` to each of ``others`` (default: all), float32 (rows, others).

        The caller owns the array and may modify it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cosine:
    """The cosine of vectors, in [-1, 1]; 0 if one of the two has none (a row of zeros). Rows have length 1 or 0."""

    vectors: Floats

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.vectors)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return cosines."""
        return _products(self.vectors[rows], self.vectors if others is None else self.vectors[in_a_row(others)])


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Weighted dot products of concatenated vectors: several cosines added up in one multiplication.

    A component that is 1 where an event has a vector, and 0 elsewhere, subtracts its weight where both have one.
    """

    vectors: Floats
    weights: Floats

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.vectors)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return the weighted sums. The weights are applied to the requested rows, which are few."""
        against = self.vectors if others is None else self.vectors[in_a_row(others)]
        return _products(self.vectors[rows] * self.weights, against)


@dataclass(frozen=True, slots=True)
class Pairwise:
    """A metric that compares values pair by pair, by `core.vectors.jaccard` or `edit_similarity`: for a few events."""

    values: Sequence[Any]
    compare: Callable[[Any, Any], float]

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.values)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return the similarities, in [0, 1]."""
        against = range(self.size) if others is None else others.tolist()
        found = [[self.compare(self.values[row], self.values[other]) for other in against] for row in rows.tolist()]
        return np.array(found, dtype=np.float32).reshape(len(rows), len(against))


class DisjointSets:
    """1 where two events both have marks and share none, else 0: errors of two kinds are not one lesson."""

    def __init__(self, marks: Sequence[AbstractSet[str]]) -> None:
        order = sorted({frozenset(one) for one in marks}, key=sorted)
        number = {one: n for n, one in enumerate(order)}
        self._numbers = np.array([number[frozenset(one)] for one in marks], dtype=np.int64)
        apart = [[bool(one and other and not one & other) for other in order] for one in order]
        self._apart = np.array(apart, dtype=np.float32).reshape(len(order), len(order))

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self._numbers)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return 0 or 1."""
        against = self._numbers if others is None else self._numbers[others]
        out: Floats = self._apart[self._numbers[rows]][:, against]
        return out


def in_a_row(rows: Rows) -> "slice | Rows":
    """Return consecutive rows as a slice, so that indexing does not copy."""
    if len(rows) and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _products(asked: Floats, against: Floats) -> Floats:
    """Return the dot products of rows."""
    out: Floats = (against @ asked.T).T if 1 < len(asked) <= FEW else asked @ against.T
    return out


def edit_similarity(first: str, second: str) -> float:
    """Return 1 - Levenshtein distance / the longer length, over `MAX_EDITED` characters; 1 for two empty texts."""
    one, other = first[:MAX_EDITED], second[:MAX_EDITED]
    if one == other:
        return 1.0
    before = list(range(len(other) + 1))
    for n, left in enumerate(one, 1):
        row = [n]
        for m, right in enumerate(other, 1):
            row.append(min(before[m] + 1, row[m - 1] + 1, before[m - 1] + (left != right)))
        before = row
    return 1.0 - before[-1] / max(len(one), len(other))


@dataclass(frozen=True, slots=True)
class Term:
    """One metric of a sum: ``weight`` times (its similarity less ``offset``)."""

    metric: SimilarityMetric
    weight: float
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """A sum of metrics over the same events. With suitable offsets, unrelated events have a sum of zero."""

    terms: Sequence[Term]

    @property
    def size(self) -> int:
        """How many events there are."""
        return self.terms[0].metric.size

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return the weighted sums, added in place: one more array of 256 rows by 20,000 takes 20 MB."""
        first, *more = self.terms
        out = first.metric.matrix(rows, others)
        if first.weight != 1.0:
            out *= np.float32(first.weight)
        for term in more:
            part = term.metric.matrix(rows, others)
            part *= np.float32(term.weight)
            out += part
        out -= np.float32(sum(term.weight * term.offset for term in self.terms))
        return out


# Similarity edges: above a threshold, to the nearest rows, or within clusters (EMB-07).

AT_ONCE: Final = 256
"""Pairs that are compared in one multiplication, of some 40 rows with some 200, instead of row by row."""


class Link(NamedTuple):
    """An edge between two rows, the smaller first, with their similarity."""

    first: int
    second: int
    weight: float


class EdgeBuilder(Protocol):
    """The port of a builder that turns similarities into edges."""

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Return the edges among ``rows``, each once, ordered by row."""
        ...


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Joins all pairs with a similarity of at least ``threshold``."""

    threshold: float

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Return each pair that reaches the threshold."""
        alike = metric.matrix(rows, rows)
        found = np.argwhere(np.triu(alike >= self.threshold, 1))
        return _sort_links(rows, alike, [(int(one), int(other)) for one, other in found])


@dataclass(frozen=True, slots=True)
class Nearest:
    """Joins each row with its ``k`` nearest that reach the threshold; ties go to the first."""

    k: int
    threshold: float = 0.0

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Return the edges from each row to its nearest."""
        alike = metric.matrix(rows, rows)
        np.fill_diagonal(alike, -np.inf)
        best = np.argsort(-alike, axis=1, kind="stable")[:, : self.k]
        pairs = {
            (min(n, int(other)), max(n, int(other)))
            for n in range(len(rows))
            for other in best[n]
            if alike[n, other] >= self.threshold
        }
        return _sort_links(rows, alike, pairs)


@dataclass(frozen=True, slots=True)
class ListedPairs:
    """Joins those of the given pairs that reach the threshold, such as pairs from neighbour lists."""

    pairs: Sequence[tuple[int, int]] | npt.NDArray[np.int64]
    """Pairs of row numbers, in any order."""
    threshold: float

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Return the pairs among ``rows`` with at least ``threshold``."""
        pairs = np.sort(np.array(self.pairs, dtype=np.int64).reshape(-1, 2), axis=1)
        pairs = pairs[np.isin(pairs, rows).all(axis=1)]
        numbers = np.unique(pairs[:, 0] * metric.size + pairs[:, 1])
        out: list[Link] = []
        for begin in range(0, len(numbers), AT_ONCE):
            first, second = np.divmod(numbers[begin : begin + AT_ONCE], metric.size)
            (asked, one), (met, other) = (np.unique(rows, return_inverse=True) for rows in (first, second))
            alike = metric.matrix(asked, met)[one, other]
            out += [
                Link(int(first[n]), int(second[n]), float(alike[n])) for n in np.flatnonzero(alike >= self.threshold)
            ]
        return out


@dataclass(frozen=True, slots=True)
class Clusters:
    """Joins the members of each group with its centre: the member with the highest mean similarity to the others."""

    groups: Sequence[Sequence[int]]
    """Groups of row numbers."""

    def build(self, metric: SimilarityMetric, rows: Rows) -> list[Link]:
        """Return the edges of the groups' members that are among ``rows``."""
        wanted = set(rows.tolist())
        out: list[Link] = []
        for group in self.groups:
            members = np.array(sorted(wanted.intersection(group)), dtype=np.int64)
            if len(members) > 1:
                alike = metric.matrix(members, members)
                centre = int(np.argmax(alike.sum(axis=1) - np.diag(alike)))
                pairs = [(min(n, centre), max(n, centre)) for n in range(len(members)) if n != centre]
                out += _sort_links(members, alike, pairs)
        return sorted(out)


def _sort_links(rows: Rows, alike: Floats, pairs: Iterable[tuple[int, int]]) -> list[Link]:
    found = ((int(rows[one]), int(rows[other]), float(alike[one, other])) for one, other in pairs)
    return sorted(Link(min(one, other), max(one, other), weight) for one, other, weight in found)
