"""Rows of numbers that grow at their end without being copied each time: of 20,000 vectors a copy is 30 MB."""

from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

SPARE: Final = 16
"""With a copy comes room for one more row of so many: the memory for a sixteenth, and as few copies."""

Number = TypeVar("Number", np.float16, np.float32)


class Growing(Generic[Number]):
    """Rows that are alike in length, behind each other. `rows` is a look at them, good until the next `add`."""

    def __init__(self, kind: type[Number]) -> None:
        self._held: npt.NDArray[Number] = np.zeros((0, 0), kind)
        self._count = 0

    def __len__(self) -> int:
        """How many rows there are."""
        return self._count

    @property
    def rows(self) -> npt.NDArray[Number]:
        """All rows."""
        return self._held[: self._count]

    def add(self, rows: npt.NDArray[Any]) -> None:
        """Put rows behind those that are there; the first ones say how long a row is."""
        end = self._count + len(rows)
        if end > len(self._held) or not self._count:
            held = np.empty((end + (end // SPARE if self._count else 0), rows.shape[1]), self._held.dtype)
            if self._count:
                held[: self._count] = self.rows
            self._held = held
        self._held[self._count : end] = rows
        self._count = end
