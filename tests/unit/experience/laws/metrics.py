"""A metric given as a matrix, and events drawn at random, for the laws of clustering."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from phronesis.experience.laws.similarity import Floats, Rows


@dataclass(frozen=True, slots=True)
class Given:
    """Likeness as it stands there."""

    alike: Floats

    @property
    def size(self) -> int:
        """How many events there are."""
        return len(self.alike)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        """Give a part of it."""
        return self.alike[rows] if others is None else self.alike[np.ix_(rows, others)]

    def first(self, size: int) -> "Given":
        """Give the likeness of the first events alone."""
        return Given(self.alike[:size, :size])


def rows(*numbers: int) -> Rows:
    """Give row numbers."""
    return np.array(numbers, dtype=np.int64)


def drawn(size: int, seed: int, levels: int = 7) -> Given:
    """Give a symmetric metric with many ties."""
    chance = np.random.default_rng(seed)
    half = np.triu(chance.integers(-2, levels, (size, size)), 1).astype(np.float32)
    return Given(half + half.T)


def crowds(sizes: tuple[int, ...], inside: float = 8.0, seed: int = 0) -> Given:
    """Give a metric under which some crowds are alike, and nobody else."""
    chance = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    same: npt.NDArray[np.bool_] = owner[:, None] == owner[None, :]
    noise = np.triu(chance.normal(0, 0.2, same.shape), 1)
    return Given((np.where(same, inside, 0.0) + noise + noise.T).astype(np.float32))
