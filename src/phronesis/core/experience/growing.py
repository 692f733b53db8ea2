"""Rows of numbers that grow at their end without being copied each time: of 20,000 vectors a copy is 30 MB."""

from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

SPARE: Final = 16
"""With rows comes room for one more of so many: memory that is taken when they come, and as few copies."""

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
        self.room(len(rows), rows.shape[1])[:] = rows

    def room(self, count: int, width: int) -> npt.NDArray[Number]:
        """Put so many rows behind those that are there, and give them to be written: they hold anything yet."""
        begin, end = self._count, self._count + count
        if end > len(self._held) or not begin:
            held = np.empty((end + end // SPARE, width), self._held.dtype)
            if begin:
                held[:begin] = self.rows
            self._held = held
        self._count = end
        return self._held[begin:end]
