"""Lexical similarity of events: the root of the cosine of weighted terms, over an inverted index that can grow.

A term weighs (1 + ln tf) * idf, with the idf of BM25; a row is normalised to length 1 (Salton & Buckley 1988), or part
of the way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.experience.laws.similarity import Floats, Rows, in_a_row

MAX_SHARE: Final = 0.2
"""Share of events above which a term is ignored, in lanes of more than `FEW`: its weight is small, and its postings are
most of the work."""

FEW: Final = 500

MANY: Final = 300
MANY_SHARE: Final = 15
"""An event is compared through postings if it meets more than 300 others and a fifteenth of all, else row by row."""

Terms = npt.NDArray[np.int32]
"""Numbers of terms."""

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TermBags:
    """Events as bags of terms, row by row (CSR): ``starts`` has one number more than there are rows."""

    starts: _Ints
    terms: Terms
    counts: Floats

    @classmethod
    def of(cls, bags: Sequence[tuple[Terms, Floats]]) -> "TermBags":
        """Return the bags of some rows, each given by its term numbers and their counts."""
        lengths = [len(terms) for terms, _ in bags]
        starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)
        terms = np.concatenate((np.zeros(0, np.int32), *(terms for terms, _ in bags)))
        counts = np.concatenate((np.zeros(0, np.float32), *(counts for _, counts in bags)))
        return cls(starts, terms.astype(np.int32), counts.astype(np.float32))

    def __add__(self, later: "TermBags") -> "TermBags":
        """Return these rows followed by later ones."""
        starts = np.concatenate((self.starts, self.starts[-1] + later.starts[1:]))
        return TermBags(starts, np.concatenate((self.terms, later.terms)), np.concatenate((self.counts, later.counts)))

    def summed(self, values: Floats) -> npt.NDArray[np.float64]:
        """Return the sum of each row's values, given one value per term."""
        owners = np.repeat(np.arange(self.size), np.diff(self.starts))
        sums = np.bincount(owners, weights=values.astype(np.float64), minlength=self.size)
        return sums.astype(np.float64)

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1


class TermCosine:
    """The square root of the cosine of two events' weighted terms, in [0, 1].

    With ``scaled`` below 1 a row is normalised that part of the way to length 1, the rest to the average length (the
    pivot of Singhal, Buckley & Mitra 1996). ``counted``: whether term frequency counts. ``background`` are unrelated
    texts, counted with the events. Events added later have the idf of the first `built_of`.
    """

    def __init__(
        self, bags: TermBags, background: TermBags | None = None, *, counted: bool = True, scaled: float = 1.0
    ) -> None:
        other = TermBags.of([]) if background is None else background
        width = int(max(bags.terms.max(initial=-1), other.terms.max(initial=-1))) + 1
        df = np.bincount(bags.terms, minlength=width) + np.bincount(other.terms, minlength=width)
        total = bags.size + other.size
        idf = np.log(1.0 + (total - df + 0.5) / (df + 0.5))
        if bags.size > FEW:
            idf[df > MAX_SHARE * total] = 0.0
        self.built_of = bags.size
        self._idf = idf.astype(np.float32)
        self._new = np.float32(np.log(1.0 + (total + 0.5) / 1.5))
        self._counted, self._scaled, self._pivot = counted, scaled, 1.0
        lengths = self._lengths(bags, self._plain(bags))
        self._pivot = float(lengths.mean()) if bags.size else 1.0
        self._bags, self._width = bags, width
        self._weights = self._weigh(bags)
        self._postings = _Postings.of(bags, self._weights)

    @property
    def size(self) -> int:
        """The number of events."""
        return self._bags.size

    def idf(self, term: int) -> float:
        """Return the idf of a term; for a term that was added later, that of a new one."""
        return float(self._idf[term]) if term < len(self._idf) else float(self._new)

    def add(self, bags: TermBags) -> None:
        """Append events."""
        self._weights = np.concatenate((self._weights, self._weigh(bags)))
        self._bags += bags
        self._width = max(self._width, int(bags.terms.max(initial=-1)) + 1)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Return the square roots of cosines."""
        if others is None:
            found = self._with_all(rows)
        elif len(others) > MANY + self.size // MANY_SHARE:
            first = int(others.min())
            found = self._with_all(rows, first)[:, in_a_row(others - first)]
        else:
            found = self._with_few(rows, others)
        np.clip(found, 0.0, 1.0, out=found)
        out: Floats = np.sqrt(found, out=found)
        return out

    def _plain(self, bags: TermBags) -> Floats:
        """Return the weight of each term in its row, before normalisation."""
        known = bags.terms < len(self._idf)
        idf = np.full(len(bags.terms), self._new, np.float32)
        idf[known] = self._idf[bags.terms[known]]
        if self._counted:
            idf *= 1.0 + np.log(np.maximum(bags.counts, np.float32(1.0)))
        return idf

    @staticmethod
    def _lengths(bags: TermBags, weights: Floats) -> npt.NDArray[np.float64]:
        out: npt.NDArray[np.float64] = np.maximum(np.sqrt(bags.summed(weights**2)), 1e-9)
        return out

    def _weigh(self, bags: TermBags) -> Floats:
        weights = self._plain(bags)
        scales = self._lengths(bags, weights) ** self._scaled * self._pivot ** (1.0 - self._scaled)
        out: Floats = (weights / np.repeat(scales, np.diff(bags.starts))).astype(np.float32)
        return out

    def _held(self, row: int) -> tuple[Terms, Floats]:
        begin, end = self._bags.starts[row], self._bags.starts[row + 1]
        return self._bags.terms[begin:end], self._weights[begin:end]

    def _with_all(self, rows: Rows, first: int = 0) -> Floats:
        """Return the cosines with all rows from ``first`` on; those that were added later are few."""
        late = max(first, self.built_of)
        found = np.zeros((len(rows), self.size - first), np.float32)
        for own, (terms, weights) in zip(found[:, : late - first], map(self._held, rows.tolist()), strict=True):
            self._postings.add_to(own, terms, weights, first)
        found[:, late - first :] = self._with_few(rows, np.arange(late, self.size))
        return found

    def _with_few(self, rows: Rows, others: Rows) -> Floats:
        """Return the cosines with a few rows, without using postings."""
        held = [self._held(other) for other in others.tolist()]
        ends = np.cumsum([0, *(len(terms) for terms, _ in held)])
        terms = np.concatenate((np.zeros(0, np.int32), *(terms for terms, _ in held)))
        weights = np.concatenate((np.zeros(0, np.float32), *(weights for _, weights in held)))
        asked, found = np.zeros(self._width, np.float32), np.zeros((len(rows), len(others)), np.float32)
        for out, (own, weighing) in zip(found, map(self._held, rows.tolist()), strict=True):
            asked[own] = weighing
            out[:] = np.diff(np.concatenate(([0.0], np.cumsum(asked[terms] * weights, dtype=np.float64)))[ends])
            asked[own] = 0.0
        return found


@dataclass(frozen=True, slots=True)
class _Postings:
    """The rows that hold each term, with weights: ``first[t]`` is where those of term t begin.

    ``keys`` are sorted: a term times ``size``, which exceeds all row numbers, plus the row.
    """

    first: npt.NDArray[np.int64]
    holders: Terms
    weights: Floats
    keys: npt.NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, bags: TermBags, weights: Floats) -> "_Postings":
        owners = np.repeat(np.arange(bags.size), np.diff(bags.starts))
        kept = np.flatnonzero(weights > 0)
        order = kept[np.argsort(bags.terms[kept], kind="stable")]
        width, size = int(bags.terms.max(initial=-1)) + 1, bags.size
        terms, holders = bags.terms[order], owners[order]
        begins = np.searchsorted(terms, np.arange(width + 1))
        return cls(begins, holders.astype(np.int32), weights[order], terms * np.int64(size) + holders, size)

    def add_to(self, found: Floats, terms: Terms, weights: Floats, first: int) -> None:
        """Add the products of a row of weighted terms with the rows from ``first`` on that hold them."""
        there = (terms < len(self.first) - 1) & (weights != 0)
        terms, weights = terms[there], weights[there]
        keys = terms * np.int64(self.size) + min(first, self.size)
        begins = np.searchsorted(self.keys, keys) if first else self.first[terms]
        counts = self.first[terms + 1] - begins
        total = int(counts.sum())
        if total > len(found):  # common terms: term by term takes less than to gather all that hold one
            for begin, count, weight in zip(begins.tolist(), counts.tolist(), weights.tolist(), strict=True):
                found[self.holders[begin : begin + count] - first] += weight * self.weights[begin : begin + count]
            return
        places = np.arange(total) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        shares = self.weights[places] * np.repeat(weights, counts)
        found += np.bincount(self.holders[places] - first, weights=shares, minlength=len(found))
