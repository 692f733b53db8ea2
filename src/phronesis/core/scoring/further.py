"""Other wordings of a question: parts of it, other words for it, names. They are met by the words of each text alone.

A wording is scored by what the formula without an encoder weighs highest, as if each text stood apart, where the
windows and pairs around a text are the text itself. A text counts as the wording that it meets best (CombMAX of Fox &
Shaw, "Combination of multiple searches", 1994), beside what the question itself gives it: eight wordings that say
nearly the same must not outweigh the question. All of them together cost one look at each term's postings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.lexical import ScopeIndex, idf_of
from phronesis.core.scoring.arrays import Floats, Rows, spread_of
from phronesis.core.scoring.layout import Layout
from phronesis.core.scoring.words import MAX_TERMS, mean_length, saturation_of

WORDS: Final = 0.67
COVERAGE: Final = 2.014
"""The weights of A12 (``formulas``): of windows and pairs together, and of coverage."""


@dataclass(frozen=True, slots=True)
class Wording:
    """Hashed terms, and how much they count, over 0 and at most 1."""

    terms: Sequence[int]
    weight: float


@dataclass(frozen=True, slots=True)
class Further:
    """One lane's scores by place for the wording that each place meets best.

    ``z`` is that wording's BM25 in standard deviations, ``covered`` the share of its idf mass that the text holds,
    words that nobody wrote counted as missing; both times the wording's weight, 0 where a text holds nothing of any.
    """

    z: Floats
    covered: Floats

    @property
    def scores(self) -> Floats:
        """What it brings to a text."""
        return np.float32(WORDS) * self.z + np.float32(COVERAGE) * self.covered


def further_scores(lanes: Sequence[tuple[ScopeIndex, Layout]], wordings: Sequence[Wording]) -> list[Further | None]:
    """Score every place of every lane; None for each lane where there are no wordings."""
    if not wordings:
        return [None] * len(lanes)
    terms = list(dict.fromkeys(term for wording in wordings for term in wording.terms))[:MAX_TERMS]
    found = [dict(zip(terms, index.postings(terms), strict=True)) for index, _ in lanes]
    documents = sum(index.doc_count for index, _ in lanes)
    idf = {term: idf_of(documents, sum(len(one[term][0]) for one in found)) for term in terms}
    average = mean_length([layout.lengths for _, layout in lanes])
    parts = [_parts(layout, one, idf, average) for (_, layout), one in zip(lanes, found, strict=True)]
    sizes = [len(layout) for _, layout in lanes]
    best = [Further(np.zeros(size, np.float32), np.zeros(size, np.float32)) for size in sizes]
    for wording in wordings:
        scored = [_scored(wording, one, idf, size) for one, size in zip(parts, sizes, strict=True)]
        spread = spread_of([words for words, _ in scored])
        for lane, (words, covered) in zip(best, scored, strict=True):
            weight = np.float32(wording.weight)
            mine = Further(weight * np.where(covered > 0, spread.z(words), np.float32(0)), weight * covered)
            better = mine.scores > lane.scores
            lane.z[better], lane.covered[better] = mine.z[better], mine.covered[better]
    return list(best)


_Ints = npt.NDArray[np.int32] | npt.NDArray[np.uint16]
_Part = tuple[Rows, Floats]
"""The places that hold a term, and its BM25 there."""


def _parts(
    layout: Layout, found: Mapping[int, tuple[_Ints, _Ints]], idf: Mapping[int, float], average: float
) -> dict[int, _Part]:
    saturation = saturation_of(layout.lengths, average)
    out: dict[int, _Part] = {}
    for term, (rows, tf) in found.items():
        places = layout.place_of[rows]
        there = places >= 0
        places, counts = places[there], tf[there].astype(np.float32)
        out[term] = (places, np.float32(idf[term]) * counts / (counts + saturation[places]))
    return out


def _scored(wording: Wording, parts: Mapping[int, _Part], idf: Mapping[int, float], size: int) -> tuple[Floats, Floats]:
    words, covered = np.zeros(size, np.float32), np.zeros(size, np.float32)
    terms = [term for term in dict.fromkeys(wording.terms) if term in parts]
    mass = sum(idf[term] for term in terms)
    for term in terms:
        places, part = parts[term]
        words[places] += part  # a place holds a term once: no place stands there twice
        covered[places] += np.float32(idf[term] / mass)
    return words, np.minimum(covered, np.float32(1.0), out=covered)
