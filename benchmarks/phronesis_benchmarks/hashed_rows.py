"""The rows of hashed pieces of many texts as one sparse matrix, for scikit-learn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from phronesis.models.text_features import BUCKETS
from phronesis_benchmarks.optional import import_optional


def matrix_of(rows: Sequence[Sequence[int]]) -> Any:
    """Return a matrix with a row of length 1 for each text; MissingExtra where scipy is not installed."""
    sparse = import_optional("scipy.sparse", "scipy", field="data")
    ends = np.cumsum([0, *map(len, rows)])
    values = np.concatenate([np.full(len(row), 1 / np.sqrt(max(1, len(row)))) for row in rows])
    return sparse.csr_matrix((values, np.concatenate(rows).astype(np.int64), ends), shape=(len(rows), BUCKETS))
