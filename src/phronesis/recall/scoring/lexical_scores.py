"""Lexical scores of a question for every place: BM25 and coverage of its text, and BM25 of windows and pairs."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.lexical_index import K1, B, ScopeIndex, idf_of
from phronesis.recall.scoring.lane_arrays import WINDOW_REACH, Bytes, Floats, Layout, Lengths, Mask, Rows

MAX_TERMS: Final = 64
"""Maximum terms of a question that are looked up: a question has five to ten, and pasted pages must stay fast."""


COMMON: Final = 50
"""A term at more than a fiftieth of a lane's places is scored at all places, which is faster.

Measured on 100,000 places; the scores are the same.
"""

MARGIN: Final = WINDOW_REACH
"""Padding before the first and after the last place, so that an array can be shifted."""

MOST: Final = 255
"""The maximum of a byte count."""


@dataclass(slots=True)
class Posting:
    """The postings of one term in a lane of ``size`` places: places and, parallel, frequencies."""

    places: Rows
    counts: Floats
    size: int
    _line: Bytes | None = field(default=None, repr=False)

    @property
    def common(self) -> bool:
        """Return whether scoring every place is cheaper."""
        return len(self.places) * COMMON > self.size

    def line(self, shift: int = 0) -> Bytes:
        """Return its count ``shift`` places further on (``MARGIN`` at most) for every place.

        ``MOST`` means that or more.
        """
        return self._counts_by_place()[MARGIN + shift :][: self.size]

    def lines(self) -> Bytes:
        """Return ``line`` for each shift from ``-MARGIN`` to ``MARGIN``, as rows."""
        # A strided view of the same bytes, each row shifted by one.
        return np.ndarray((2 * MARGIN + 1, self.size), np.uint8, self._counts_by_place(), 0, (1, 1))

    def _counts_by_place(self) -> Bytes:
        if self._line is None:
            self._line = np.zeros(self.size + 2 * MARGIN, dtype=np.uint8)
            self._line[self.places + MARGIN] = np.minimum(self.counts, MOST).astype(np.uint8)
        return self._line

    def exact(self, counted: Bytes) -> Floats:
        """Return the counts at every place, with exact ones where a byte is too small."""
        out = counted.astype(np.float32)
        many = self.counts > MOST
        if many.any():
            out[self.places[many]] = self.counts[many]
        return out

    def everywhere(self) -> Floats:
        """Return its count at every place."""
        return self.exact(self.line())


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The postings of a question's distinct terms in one lane.

    ``asked`` counts how often the question contains each term. ``known`` is the share of the question's idf mass that
    these terms carry; the rest belongs to words that do not occur in the scope.
    """

    postings: Sequence[Posting]
    asked: Floats
    idf: Floats
    known: float = 1.0


def frequencies(lanes: Sequence[tuple[ScopeIndex, Layout]], terms: Sequence[int]) -> list[Frequencies]:
    """Look up a question's terms in every lane; idf (``core.lexical_index.idf_of``) is that of the whole scope.

    Only terms that occur in the scope are used; of a long question the ``MAX_TERMS`` rarest.
    """
    asked = Counter(terms)
    distinct = list(asked)
    postings = [index.postings(distinct) for index, _ in lanes]
    documents = sum(index.doc_count for index, _ in lanes)
    held = [sum(len(found[n][0]) for found in postings) for n in range(len(distinct))]
    known = sorted((n for n, df in enumerate(held) if df), key=lambda n: (held[n], n))[:MAX_TERMS]
    idf = np.array([idf_of(documents, held[n]) for n in known], dtype=np.float32)
    times = np.array([asked[distinct[n]] for n in known], dtype=np.float32)
    mass = sum(idf_of(documents, df) for df in held)
    share = min(1.0, float(idf.sum()) / mass) if mass else 1.0
    tables = []
    for (_, layout), found in zip(lanes, postings, strict=True):
        placed = []
        for n in known:
            rows, counts = found[n]
            places = layout.place_of[rows]
            there = places >= 0
            if not there.all():
                places, counts = places[there], counts[there]
            placed.append(Posting(places, counts.astype(np.float32), len(layout)))
        tables.append(Frequencies(placed, times, idf, share))
    return tables


def text_scores(lanes: Sequence[tuple[Layout, Frequencies]]) -> list[Floats]:
    """Return BM25 of each place's own text, one array a lane (Robertson & Zaragoza 2009; k1 1.2, b .75)."""
    average = mean_length([layout.lengths for layout, _ in lanes])
    return [
        _bm25(map(_single_windows, found.postings), saturation_of(layout.lengths, average), found.asked * found.idf)
        for layout, found in lanes
    ]


def coverage(layout: Layout, found: Frequencies) -> Floats:
    """Return the share 0..1 of the question's idf mass in each place; 0 if the scope knows none of its terms."""
    mass = float(found.idf.sum())
    share = np.zeros(len(layout), dtype=np.float32)
    for one, idf in zip(found.postings, found.idf, strict=True):
        held = idf / np.float32(mass)
        if one.common:
            share += (one.line() > 0) * held
        else:
            share[one.places] += held
    # Rounding may bring the sum slightly above one.
    return np.minimum(share, np.float32(1.0), out=share)


def bm25_part(counts: Floats, saturation: Floats, weight: np.float32) -> Floats:
    """Return a term's part of BM25 from its counts: weight x tf / (tf + k1 (1 - b + b length / average))."""
    out = counts + saturation
    np.divide(counts, out, out=out)
    out *= weight
    return out


def saturation_of(lengths: Lengths, average: float) -> Floats:
    """Return the term that BM25 adds to tf in its denominator, for each place: k1 (1 - b + b length / average)."""
    slope = K1 * B / average if average else 0.0
    return lengths.each * np.float32(slope) + np.float32(K1 * (1.0 - B))


def mean_length(lengths: Sequence[Lengths]) -> float:
    """Return the mean length of all lanes' texts together; 0 if there are none."""
    count = sum(len(one.each) for one in lengths)
    return sum(one.total for one in lengths) / count if count else 0.0


# Lexical scores of the surrounding conversation: BM25 of windows and of pairs.

RARE: Final = 300
RARE_FROM: Final = 30_000
"""A term is rare if it occurs at fewer than 1/300 of the places beyond the first 30,000.

Then scoring the windows around its places is cheaper than scoring all. The scores are the same.
"""

_STEPS: Final = np.arange(-WINDOW_REACH, WINDOW_REACH + 1)[:, None]

_Laid = Sequence[tuple[Layout, Frequencies]]


@dataclass(frozen=True, slots=True)
class _TermWindows:
    """The windows that contain one term: ``counts`` at ``places`` (may repeat) or, if None, at every place.

    ``stretches`` is the number of windows that contain it.
    """

    places: Rows | None
    counts: Floats
    stretches: int


def window_scores(lanes: _Laid) -> list[Floats]:
    """Return BM25 of each place's window, one array a lane."""
    return _scores(lanes, [layout.windows.lengths for layout, _ in lanes], _in_windows)


def pair_scores(lanes: _Laid) -> list[Floats]:
    """Return BM25 of each place's pair, one array a lane."""
    return _scores(lanes, [layout.pairs.lengths for layout, _ in lanes], _pair_windows)


def _scores(
    lanes: _Laid, lengths: Sequence[Lengths], inside: Callable[[Layout, Posting], _TermWindows]
) -> list[Floats]:
    total, average = sum(len(one.each) for one in lengths), mean_length(lengths)
    tables = [
        [_single_windows(one) if layout.apart else inside(layout, one) for one in found.postings]
        for layout, found in lanes
    ]
    held = (sum(one.stretches for one in term) for term in zip(*tables, strict=True))
    idf = np.array([idf_of(total, df) for df in held], dtype=np.float32)
    return [
        _bm25(table, saturation_of(length, average), found.asked * idf)
        for table, length, (_, found) in zip(tables, lengths, lanes, strict=True)
    ]


def _bm25(table: Iterable[_TermWindows], saturation: Floats, weights: Floats) -> Floats:
    out = np.zeros(len(saturation), dtype=np.float32)
    # Term by term: an array of ten thousand stays in the CPU's first caches, a table of all terms does not.
    for one, weight in zip(table, weights, strict=True):
        if one.places is None:
            out += bm25_part(one.counts, saturation, weight)
        else:
            # Repeated places have the same count: numpy reads all before it writes, so each is written once.
            out[one.places] += bm25_part(one.counts, saturation[one.places], weight)
    return out


def _single_windows(term: Posting) -> _TermWindows:
    """Return a term's counts where each window is the text itself."""
    if term.common:
        return _TermWindows(None, term.everywhere(), len(term.places))
    return _TermWindows(term.places, term.counts, len(term.places))


def _in_windows(layout: Layout, term: Posting) -> _TermWindows:
    windows = layout.windows
    if _is_rare(term):
        near = term.places + _STEPS
        near = np.clip(near, layout.first[term.places], layout.last[term.places])
        inside = (near == term.places + _STEPS) & (windows.start[near] <= term.places)
        return _sum_windows(term, near, inside & (term.places < windows.stop[near]))
    # A window of several places holds fewer terms than a byte counts (``WINDOW_TOKENS``), so bytes can be added: this
    # takes a quarter of the time of running totals.
    counts = np.add.reduce(term.lines() & windows.near, axis=0, dtype=np.uint8)
    return _TermWindows(None, term.exact(counts), int(np.count_nonzero(counts)))


def _pair_windows(layout: Layout, term: Posting) -> _TermWindows:
    joined = layout.pairs.joined
    if _is_rare(term):
        after = np.minimum(term.places + 1, len(layout) - 1)
        near = np.stack((term.places, after))
        then = (after > term.places) & joined[after].view(np.bool_)
        return _sum_windows(term, near, np.stack((np.ones(len(after), np.bool_), then)))
    counts = term.line(-1) & joined
    counts += term.line()
    return _TermWindows(None, term.exact(counts), int(np.count_nonzero(counts)))


def _is_rare(term: Posting) -> bool:
    """Return whether to score only the surroundings of its places."""
    return len(term.places) * RARE < term.size - RARE_FROM


def _sum_windows(term: Posting, near: Rows, inside: Mask) -> _TermWindows:
    """Sum the counts within reach: ``near`` are places around each of its own, ``inside`` the valid ones."""
    there = near[inside]
    places, at = np.unique(there, return_inverse=True)
    counts = np.bincount(at, np.broadcast_to(term.counts, near.shape)[inside], len(places))
    return _TermWindows(places, counts.astype(np.float32), len(places))
