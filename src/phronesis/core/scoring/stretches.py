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
from phronesis.core.scoring.words import Frequencies, Posting, mean_length, saturation_of, weighed

RARE: Final = 300
RARE_FROM: Final = 30_000
"""A term is rare where it stands at fewer places than a three-hundredth of those beyond the first 30,000: then it is
cheaper to look at the stretches around each of them than at all there are. The scores are the same."""

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


def _scores(lanes: _Laid, lengths: Sequence[Lengths], inside: Callable[[Layout, Posting], _Held]) -> list[Floats]:
    total, average = sum(len(one.each) for one in lengths), mean_length(lengths)
    tables = [[_alone(one) if layout.apart else inside(layout, one) for one in found.postings]
              for layout, found in lanes]  # fmt: skip
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
            out += weighed(one.counts, saturation, weight)
        else:
            # What repeats has the same count, and is written once: numpy reads all before it writes.
            out[one.places] += weighed(one.counts, saturation[one.places], weight)
    return out


def _alone(term: Posting) -> _Held:
    """Give what a term's own texts hold of it, where a stretch is the text itself."""
    if term.common:
        return _Held(None, term.everywhere(), len(term.places))
    return _Held(term.places, term.counts, len(term.places))


def _in_windows(layout: Layout, term: Posting) -> _Held:
    windows = layout.windows
    if _is_rare(term):
        near = term.places + _STEPS
        near = np.clip(near, layout.first[term.places], layout.last[term.places])
        inside = (near == term.places + _STEPS) & (windows.start[near] <= term.places)
        return _around(term, near, inside & (term.places < windows.stop[near]))
    # A window of several places holds fewer terms than a byte counts (``WINDOW_TOKENS``), so that bytes may be added:
    # that takes a quarter of what running totals do.
    counts = np.add.reduce(term.lines() & windows.near, axis=0, dtype=np.uint8)
    return _Held(None, term.exact(counts), int(np.count_nonzero(counts)))


def _in_pairs(layout: Layout, term: Posting) -> _Held:
    joined = layout.pairs.joined
    if _is_rare(term):
        after = np.minimum(term.places + 1, len(layout) - 1)
        near = np.stack((term.places, after))
        then = (after > term.places) & joined[after].view(np.bool_)
        return _around(term, near, np.stack((np.ones(len(after), np.bool_), then)))
    counts = term.line(-1) & joined
    counts += term.line()
    return _Held(None, term.exact(counts), int(np.count_nonzero(counts)))


def _is_rare(term: Posting) -> bool:
    """Tell whether to look around its places only."""
    return len(term.places) * RARE < term.size - RARE_FROM


def _around(term: Posting, near: Rows, inside: Mask) -> _Held:
    """Sum what stands within reach: ``near`` are places about each of its own, ``inside`` those meant."""
    there = near[inside]
    places, at = np.unique(there, return_inverse=True)
    counts = np.bincount(at, np.broadcast_to(term.counts, near.shape)[inside], len(places))
    return _Held(places, counts.astype(np.float32), len(places))
