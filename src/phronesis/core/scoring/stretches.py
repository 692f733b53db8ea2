"""What the words of a question say of the talk around every place: BM25 of windows and of pairs.

Both are scored as if they were the documents: their own document frequency and length. With the texts' idf in place of
the stretches' own, recall@10 on LoCoMo's dev conversations was .771 for .775.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.lexical import idf_of
from phronesis.core.scoring.arrays import Floats, Mask, Rows
from phronesis.core.scoring.layout import WINDOW_REACH, Layout, Lengths
from phronesis.core.scoring.words import Frequencies, mean_length, saturation_of

RARE: Final = 40
RARE_FROM: Final = 4_000
"""A term is rare where it stands at fewer places than a fortieth of those beyond the first 4,000: then it is cheaper to
look at the stretches around each of them than at all there are. Measured on 10,000 and 100,000 messages; the scores are
the same."""

_STEPS: Final = np.arange(-WINDOW_REACH, WINDOW_REACH + 1)[:, None]

_Laid = Sequence[tuple[Layout, Frequencies]]


@dataclass(frozen=True, slots=True)
class _Held:
    """Which stretches hold one term: ``counts`` of it, at ``places`` (which may repeat) or, None, at every place.

    ``stretches`` is how many hold it at all.
    """

    places: Rows | None
    counts: Floats
    stretches: int


def window_scores(lanes: _Laid) -> list[Floats]:
    """Give BM25 of each place's window, one array a lane."""
    return _scores(lanes, [layout.windows.lengths for layout, _ in lanes], _in_windows)


def pair_scores(lanes: _Laid) -> list[Floats]:
    """Give BM25 of each place's pair, likewise."""
    return _scores(lanes, [layout.pairs.lengths for layout, _ in lanes], _in_pairs)


def _scores(lanes: _Laid, lengths: Sequence[Lengths], inside: Callable[["_Term"], _Held]) -> list[Floats]:
    total, average = sum(len(one.each) for one in lengths), mean_length(lengths)
    tables = []
    for layout, found in lanes:
        scratch = np.zeros(len(layout), dtype=np.float32)
        if layout.apart:  # a stretch is the text itself
            tables.append([_Held(places, counts, len(places)) for places, counts in found.postings])
        else:
            tables.append([inside(_Term(layout, places, counts, scratch)) for places, counts in found.postings])
    held = (sum(one.stretches for one in term) for term in zip(*tables, strict=True))
    idf = np.array([idf_of(total, df) for df in held], dtype=np.float32)
    return [
        _bm25(table, saturation_of(length, average), found.asked * idf)
        for table, length, (_, found) in zip(tables, lengths, lanes, strict=True)
    ]


def _bm25(table: Sequence[_Held], saturation: Floats, weights: Floats) -> Floats:
    out = np.zeros(len(saturation), dtype=np.float32)
    # Term by term: a line of ten thousand stays in a processor's first caches, a table of all terms does not.
    for one, weight in zip(table, weights, strict=True):
        if one.places is None:
            part = one.counts + saturation
            np.divide(one.counts, part, out=part)
            part *= weight
            out += part
        else:
            # What repeats has the same count, and is written once: numpy reads all before it writes.
            out[one.places] += one.counts / (one.counts + saturation[one.places]) * weight
    return out


@dataclass(frozen=True, slots=True)
class _Term:
    """One term in one lane; ``scratch`` are zeros by place, and are zeros again when it has been used."""

    layout: Layout
    places: Rows
    counts: Floats
    scratch: Floats

    @property
    def rare(self) -> bool:
        """Whether to look around its places only."""
        return len(self.places) * RARE < len(self.layout) - RARE_FROM

    def around(self, near: Rows, inside: Mask) -> _Held:
        """Sum what stands within reach: ``near`` are places about each of its own, ``inside`` those meant."""
        there = near[inside]
        counts = np.broadcast_to(self.counts, near.shape)[inside]
        np.add.at(self.scratch, there, counts)
        summed, stretches = self.scratch[there], int(np.count_nonzero(self.scratch))
        self.scratch[there] = 0
        return _Held(there, summed, stretches)

    def line(self) -> Floats:
        """Give its count at every place, and a 0 before them."""
        out = np.zeros(len(self.layout) + 1, dtype=np.float32)
        out[self.places + 1] = self.counts
        return out


def _in_windows(term: _Term) -> _Held:
    windows, layout = term.layout.windows, term.layout
    if term.rare:
        near = term.places + _STEPS
        near = np.clip(near, layout.first[term.places], layout.last[term.places])
        inside = (near == term.places + _STEPS) & (windows.start[near] <= term.places)
        return term.around(near, inside & (term.places < windows.stop[near]))
    # By running totals: of integers, which takes an eighth of what floats do.
    totals = np.cumsum(term.line().astype(np.int32), dtype=np.int32)
    counts = totals.take(windows.stop)
    counts -= totals.take(windows.start)
    return _Held(None, counts.astype(np.float32), int(np.count_nonzero(counts)))


def _in_pairs(term: _Term) -> _Held:
    joined = term.layout.pairs.joined
    if term.rare:
        after = np.minimum(term.places + 1, len(term.layout) - 1)
        near = np.stack((term.places, after))
        return term.around(near, np.stack((np.ones(len(after), np.bool_), (after > term.places) & joined[after])))
    line = term.line()
    counts = line[:-1] * joined
    counts += line[1:]
    return _Held(None, counts, int(np.count_nonzero(counts)))
