"""Arrays of one lane and how they are standardised over all lanes of a query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

GROUP: Final = 64
"""Values of which the greatest stands for all in the search for the best of many: `_greatest`."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean and standard deviation of a score over all lanes of a query."""

    mean: float
    deviation: float

    def z(self, values: Floats) -> Floats:
        """Give (values - mean) / deviation; 0 where the score does not vary, since it then says nothing."""
        if self.deviation < 1e-9:  # noqa: PLR2004 - nothing but rounding: all are alike
            return np.zeros_like(values)
        return ((values - np.float32(self.mean)) / np.float32(self.deviation)).astype(np.float32, copy=False)


def best_of(values: Floats, count: int) -> Rows:
    """Give the numbers of the ``count`` greatest values, ascending; of equals at the edge the first, all when fewer.

    A partition of the values and a look for what reaches its edge: half of what ``argpartition`` takes on 60,000.
    """
    if count >= len(values):
        return np.arange(len(values))
    edge = _greatest(values, count)
    found = np.flatnonzero(values >= edge)
    if len(found) > count:
        even = np.flatnonzero(values[found] == edge)
        found = np.delete(found, even[count - len(found) :])
    return found


def _greatest(values: Floats, count: int) -> np.float32:
    """Give the ``count``-th greatest value.

    Among many, at least ``count`` reach the ``count``-th greatest of the groups' greatest, and few others do: only
    these are put in order. Of 115,000 that takes .05 ms, where all would take .6.
    """
    width = len(values) // GROUP
    if width > count:
        low = _greatest(values[: GROUP * width].reshape(GROUP, width).max(axis=0), count)
        values = values[values >= low]
    place = len(values) - count
    edge: np.float32 = np.partition(values, place)[place]
    return edge


def spread_of(arrays: Sequence[Floats]) -> Spread:
    """Give the spread of one score, its lanes together: what is rare in a small lane may be common in the scope."""
    count = sum(len(array) for array in arrays)
    if not count:
        return Spread(0.0, 0.0)
    mean = sum(float(array.sum(dtype=np.float64)) for array in arrays) / count
    squares = 0.0
    for array in arrays:
        apart = array - np.float32(mean)
        squares += float(np.square(apart, out=apart).sum(dtype=np.float64))
    return Spread(mean, (squares / count) ** 0.5)
