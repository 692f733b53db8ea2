"""What the words of a question say of every place's own text: BM25 and coverage."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.lexical import K1, B, ScopeIndex, idf_of
from phronesis.core.scoring.arrays import Floats, Rows
from phronesis.core.scoring.layout import Layout, Lengths

MAX_TERMS: Final = 64
"""Terms of a question that are looked for: a question has five to ten, and a page pasted in should not cost seconds."""


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Where each distinct term of a question stands in one lane, and how often: its places and, parallel, counts.

    ``asked`` counts how often the question says each term. ``known`` is the share of the question's idf mass that is of
    these terms: the rest is of words that nobody in the scope wrote.
    """

    postings: Sequence[tuple[Rows, Floats]]
    asked: Floats
    idf: Floats
    known: float = 1.0


def frequencies(lanes: Sequence[tuple[ScopeIndex, Layout]], terms: Sequence[int]) -> list[Frequencies]:
    """Look up a question's terms in every lane; idf (``core.lexical.idf_of``) is that of the whole scope.

    Only terms that the scope knows take part: a word nobody wrote tells nothing of any text. Of a long question the
    ``MAX_TERMS`` rarest do.
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
            placed.append((places, counts.astype(np.float32)))
        tables.append(Frequencies(placed, times, idf, share))
    return tables


def text_scores(lanes: Sequence[tuple[Layout, Frequencies]]) -> list[Floats]:
    """Give BM25 of each place's own text, one array a lane (Robertson & Zaragoza 2009; k1 1.2, b .75)."""
    average = mean_length([layout.lengths for layout, _ in lanes])
    out = []
    for layout, found in lanes:
        saturation = saturation_of(layout.lengths, average)
        scores = np.zeros(len(layout), dtype=np.float32)
        for (places, counts), weight in zip(found.postings, found.asked * found.idf, strict=True):
            # Posting by posting: most terms of a question stand in few texts. No place stands there twice.
            scores[places] += counts / (counts + saturation[places]) * weight
        out.append(scores)
    return out


def coverage(layout: Layout, found: Frequencies) -> Floats:
    """Give the share 0..1 of the question's idf mass that each place holds; 0 when the scope knows no term of it."""
    mass = float(found.idf.sum())
    share = np.zeros(len(layout), dtype=np.float32)
    for (places, _), idf in zip(found.postings, found.idf, strict=True):
        share[places] += idf / np.float32(mass)
    # Rounded shares may add up to a hair above one.
    return np.minimum(share, np.float32(1.0), out=share)


def saturation_of(lengths: Lengths, average: float) -> Floats:
    """Give what BM25 adds to a term's count in its denominator, for each place: k1 (1 - b + b length / average)."""
    slope = K1 * B / average if average else 0.0
    return lengths.each * np.float32(slope) + np.float32(K1 * (1.0 - B))


def mean_length(lengths: Sequence[Lengths]) -> float:
    """Give the mean length of all lanes' texts together; 0 where there are none."""
    count = sum(len(one.each) for one in lengths)
    return sum(one.total for one in lengths) / count if count else 0.0
