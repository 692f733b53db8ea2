"""Arrays of one lane and how they are standardised over all lanes of a query."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]


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
    edge = np.partition(values, len(values) - count)[len(values) - count]
    found = np.flatnonzero(values >= edge)
    if len(found) > count:
        even = np.flatnonzero(values[found] == edge)
        found = np.delete(found, even[count - len(found) :])
    return found


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
