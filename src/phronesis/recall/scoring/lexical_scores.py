"""Lexical scores of a question for every place: BM25 and coverage of its text, and BM25 of windows and pairs."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.lexical_index import K1, B, ScopeIndex, idf_of
from phronesis.recall.scoring.lane_arrays import Floats, Layout, Rows

MAX_TERMS: Final = 64
"""Maximum terms of a question that are looked up: a question has five to ten, and pasted pages must stay fast."""


@dataclass(frozen=True, slots=True)
class Posting:
    """The postings of one term in a lane: places, each once, and, parallel, frequencies."""

    places: Rows
    counts: Floats

    def everywhere(self, size: int) -> Floats:
        """Return the frequency at every place of a lane of ``size`` places."""
        out = np.zeros(size, dtype=np.float32)
        out[self.places] = self.counts
        return out


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
            placed.append(Posting(places, counts.astype(np.float32)))
        tables.append(Frequencies(placed, times, idf, share))
    return tables


_Laid = Sequence[tuple[Layout, Frequencies]]


def text_scores(lanes: _Laid) -> list[Floats]:
    """Return BM25 of each place's own text, one array a lane (Robertson & Zaragoza 2009; k1 1.2, b .75)."""
    saturations = _saturations([layout.lengths for layout, _ in lanes])
    out = []
    for (layout, found), saturation in zip(lanes, saturations, strict=True):
        scores = np.zeros(len(layout), dtype=np.float32)
        for one, weight in zip(found.postings, found.asked * found.idf, strict=True):
            scores[one.places] += weight * one.counts / (one.counts + saturation[one.places])
        out.append(scores)
    return out


def coverage(layout: Layout, found: Frequencies) -> Floats:
    """Return the share 0..1 of the question's idf mass in each place; 0 if the scope knows none of its terms."""
    mass = float(found.idf.sum())
    share = np.zeros(len(layout), dtype=np.float32)
    for one, idf in zip(found.postings, found.idf, strict=True):
        share[one.places] += idf / np.float32(mass)
    # Rounding may bring the sum slightly above one.
    return np.minimum(share, np.float32(1.0), out=share)


def _saturations(lengths: Sequence[Floats]) -> list[Floats]:
    """Return, by lane and place, what BM25 adds to tf in its denominator: k1 (1 - b + b length / average)."""
    count = sum(map(len, lengths))
    average = sum(float(one.sum(dtype=np.float64)) for one in lengths) / count if count else 0.0
    slope = K1 * B / average if average else 0.0
    return [one * np.float32(slope) + np.float32(K1 * (1.0 - B)) for one in lengths]


# Lexical scores of the surrounding conversation: BM25 of windows and of pairs.


def window_scores(lanes: _Laid) -> list[Floats]:
    """Return BM25 of each place's window, one array a lane."""
    return _scores(lanes, [layout.windows.lengths for layout, _ in lanes], _count_in_windows)


def pair_scores(lanes: _Laid) -> list[Floats]:
    """Return BM25 of each place's pair, one array a lane."""
    return _scores(lanes, [layout.pairs.lengths for layout, _ in lanes], _count_in_pairs)


def _scores(lanes: _Laid, lengths: Sequence[Floats], count: Callable[[Layout, Posting], Floats]) -> list[Floats]:
    """Return BM25 of stretches of several places; ``count`` gives a term's frequency in that of every place."""
    total, saturations = sum(map(len, lengths)), _saturations(lengths)
    out = [np.zeros(len(layout), dtype=np.float32) for layout, _ in lanes]
    # Term by term: an array of ten thousand stays in the CPU's first caches, a table of all terms does not.
    for n, asked in enumerate(lanes[0][1].asked if lanes else ()):
        counts = [count(layout, found.postings[n]) for layout, found in lanes]
        weight = np.float32(asked * idf_of(total, sum(map(np.count_nonzero, counts))))
        for lane, held in enumerate(counts):
            out[lane] += weight * (held / (held + saturations[lane]))
    return out


def _count_in_windows(layout: Layout, term: Posting) -> Floats:
    before = np.zeros(len(layout) + 1, dtype=np.float32)
    np.cumsum(term.everywhere(len(layout)), out=before[1:])
    return before.take(layout.windows.stop) - before.take(layout.windows.start)


def _count_in_pairs(layout: Layout, term: Posting) -> Floats:
    own = term.everywhere(len(layout))
    out = own.copy()
    out[1:] += own[:-1] * layout.pairs.joined[1:]
    return out
