"""Lanes for tests of scoring: an index of documents and how they were said."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from phronesis.core.lexical_index import ScopeIndex
from phronesis.recall.scoring.lane_arrays import ALONE, Layout, make_layout

Floats = npt.NDArray[np.float32]


def floats(*values: float) -> Floats:
    """Give an array."""
    return np.asarray(values, dtype=np.float32)


def laid_out(index: ScopeIndex, sessions: Sequence[int] | None = None) -> Layout:
    """Lay out an index; ``sessions`` are those of its rows, by default none; rows follow one another in them."""
    size = index.row_count
    return make_layout(
        sessions=np.asarray([ALONE] * size if sessions is None else sessions, dtype=np.int64),
        positions=np.arange(size, dtype=np.int64),
        offsets=np.zeros(size, dtype=np.int64),
        alive=index.alive,
        lengths=index.lengths,
    )
