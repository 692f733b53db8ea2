"""How far documents meet a question: their words as a share of what is possible, their meaning as it stands out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.ranking import FULL
from phronesis.core.lexical import K1, B, ScopeIndex, idf_of
from phronesis.core.scoring.arrays import Floats, Mask, Spread, spread_of

MAX_TERMS: Final = 64
"""Terms of a question that are looked for, the rarest: a log pasted in has thousands."""

FEW: Final = 8
"""Vectors below which their own spread says little of what is usual."""

USUAL: Final = Spread(0.0, 0.15)
"""The spread that is then taken from their mean: that of unrelated texts with the encoders tried (.05 to .2)."""


@dataclass(frozen=True, slots=True)
class Met:
    """How far each row of a lane meets a question, in [0, 1]; ``meaning`` None: there is nothing to compare."""

    words: Floats
    meaning: Floats | None
    spread: Spread


def word_shares(lanes: Sequence[tuple[ScopeIndex, Mask]], terms: Sequence[int]) -> list[Floats]:
    """Give BM25 of each row as a share of what the question's terms can come to at most, one array a lane.

    ``lanes`` come with the rows that are experience: the statistics are of these alone, over all lanes of the scope. A
    term that nothing holds counts among what is possible, so that a question about something else gets small shares.
    """
    asked = Counter(terms)
    distinct = list(asked)
    found = [_postings(index, mask, distinct) for index, mask in lanes]
    total = sum(int(mask.sum()) for _, mask in lanes)
    held = [sum(len(one[n][0]) for one in found) for n in range(len(distinct))]
    kept = sorted(range(len(distinct)), key=lambda n: (held[n], n))
    known = [n for n in kept if held[n]][:MAX_TERMS]
    unknown = [n for n in kept if not held[n]][: max(0, MAX_TERMS - len(known))]
    weights = {n: asked[distinct[n]] * idf_of(total, held[n]) for n in (*known, *unknown)}
    most = sum(weights.values())
    lengths = [index.lengths for index, _ in lanes]
    average = sum(float(one[mask].sum()) for one, (_, mask) in zip(lengths, lanes, strict=True)) / max(1, total)
    out = []
    for (_, mask), length, one in zip(lanes, lengths, found, strict=True):
        scores = np.zeros(len(mask), np.float32)
        norms = K1 * (1.0 - B) + K1 * B / max(average, 1e-9) * length
        for n in known:
            rows, tf = one[n]
            scores[rows] += (weights[n] / most) * (tf / (tf + norms[rows]))
        out.append(scores)
    return out


def _postings(index: ScopeIndex, mask: Mask, terms: Sequence[int]) -> list[tuple[npt.NDArray[np.int32], Floats]]:
    """Give the rows of the mask that hold each term, and how often."""
    found = index.postings(terms)
    if not mask.all():  # as it is where a lane holds nothing but experience
        kept = [mask[rows] for rows, _ in found]
        found = [(rows[inside], tf[inside]) for (rows, tf), inside in zip(found, kept, strict=True)]
    return [(rows, tf.astype(np.float32)) for rows, tf in found]


def usual(cosines: Sequence[Floats]) -> Spread:
    """Give the spread of cosines that come from several lanes; of a few, their mean and `USUAL`'s deviation."""
    own = spread_of(cosines)
    return own if sum(map(len, cosines)) >= FEW else Spread(own.mean, USUAL.deviation)


def outstanding(cosines: Floats, spread: Spread) -> Floats:
    """Give how far cosines stand out, in [0, 1]: 0 at the mean and below, 1 at `FULL` standard deviations above it."""
    out: Floats = np.clip(spread.z(cosines) / np.float32(FULL), 0.0, 1.0)
    return out
