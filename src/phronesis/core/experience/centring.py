"""Vectors as they differ from what all texts have in common, and how far apart unrelated ones are.

An encoder that knows several languages puts the texts of each into a region of their own, and two accounts of one
lesson in two languages are told apart by little else. What tells the languages apart is taken off too (Yang et al.
2021, 'A Simple and Effective Method To Eliminate the Self Language Bias in Multilingual Representations').
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.experience.similarity import Floats

SAMPLED: Final = 400
"""Events from which the spread of cosines is taken: 80,000 pairs."""


@dataclass(frozen=True, slots=True)
class Centre:
    """What is taken off every vector, and the standard deviation of the cosines of unrelated texts after that.

    ``languages`` are the directions in which languages differ, rows of length 1 at right angles.
    """

    mean: Floats
    languages: Floats
    spread: float

    @classmethod
    def of(cls, vectors: Floats, unrelated: Floats, languages: Sequence[int] = ()) -> "Centre":
        """Give the centre of some events (rows of zeros have no vector) and of texts known to be unrelated.

        ``languages`` number the language of each unrelated text, from 0; without them nothing is taken off for it.
        Each event weighs as much as each of these texts, so that a few events, which may well be alike, are not taken
        for what all texts have in common.
        """
        apart = _directions(unrelated, languages)
        there = vectors[vectors.any(axis=1)]
        every = max(1, len(there) // SAMPLED)
        sample = np.concatenate((unrelated, there[::every][:SAMPLED]))
        mean = np.concatenate((unrelated, there)).mean(axis=0, dtype=np.float64).astype(np.float32)
        plain = cls(mean, apart, 1.0).centred(sample)
        cosines = (plain @ plain.T)[np.triu_indices(len(sample), 1)]
        return cls(mean, apart, max(float(cosines.std()), 1e-3))

    def centred(self, vectors: Floats) -> Floats:
        """Give vectors less the mean and what tells languages apart, of length 1; a row of zeros stays one."""
        there = vectors.any(axis=1, keepdims=True)
        out = np.where(there, vectors - self.mean, 0.0)
        out -= (out @ self.languages.T) @ self.languages
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        scaled: Floats = np.divide(out, lengths, out=np.zeros_like(out), where=lengths > 0).astype(np.float32)
        return scaled


def usual_cosine(vectors: Floats, unrelated: Floats) -> float:
    """Give the mean cosine of two of some events or of texts known to be unrelated, each weighing as much as another.

    Rows of zeros are left out; of fewer than two rows it is 0.
    """
    count, total = 0, np.zeros(unrelated.shape[1], np.float64)
    for rows in (vectors, unrelated):
        count += int(rows.any(axis=1).sum())
        total += rows.sum(axis=0, dtype=np.float64)
    # The square of the sum is all cosines, those of each with itself among them.
    return (float(total @ total) - count) / (count * (count - 1)) if count > 1 else 0.0


def _directions(unrelated: Floats, languages: Sequence[int]) -> Floats:
    """Give how the languages' means differ from the first one's, as rows of length 1 at right angles."""
    spoken = np.array(languages, dtype=np.int64)
    means = [unrelated[spoken == one].mean(axis=0, dtype=np.float64) for one in np.unique(spoken)]
    apart = np.array([mean - means[0] for mean in means[1:]]).reshape(-1, unrelated.shape[1])
    rows: Floats = np.linalg.qr(apart.T)[0].T.astype(np.float32)
    return rows
