"""Vectors as they differ from what all texts have in common, and how far apart unrelated ones are."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.experience.similarity import Floats

SAMPLED: Final = 400
"""Events from which the spread of cosines is taken: 80,000 pairs."""


@dataclass(frozen=True, slots=True)
class Centre:
    """What is taken off every vector, and the standard deviation of the cosines of unrelated texts after that."""

    mean: Floats
    spread: float

    @classmethod
    def of(cls, vectors: Floats, unrelated: Floats) -> "Centre":
        """Give the centre of some events (rows of zeros have no vector) and of texts known to be unrelated.

        Each event weighs as much as each of these texts, so that a few events, which may well be alike, are not taken
        for what all texts have in common.
        """
        there = vectors[vectors.any(axis=1)]
        every = max(1, len(there) // SAMPLED)
        sample = np.concatenate((unrelated, there[::every][:SAMPLED]))
        mean = np.concatenate((unrelated, there)).mean(axis=0)
        apart = cls(mean, 1.0).centred(sample)
        cosines = (apart @ apart.T)[np.triu_indices(len(sample), 1)]
        return cls(mean.astype(np.float32), max(float(cosines.std()), 1e-3))

    def centred(self, vectors: Floats) -> Floats:
        """Give vectors less the mean, of length 1; a row of zeros stays one."""
        there = vectors.any(axis=1, keepdims=True)
        out = np.where(there, vectors - self.mean, 0.0)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        scaled: Floats = np.divide(out, lengths, out=np.zeros_like(out), where=lengths > 0).astype(np.float32)
        return scaled
