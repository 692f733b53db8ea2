"""Rows that grow are those that were added, and what was looked at before stays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.lexical_similarity import GrowableArray


@given(st.lists(st.integers(0, 5), max_size=9))
def test_they_are_those_that_were_added(counts: list[int]) -> None:
    growing, whole = GrowableArray(np.float32), np.arange(3 * sum(counts), dtype=np.float32).reshape(-1, 3)
    seen, end = [], 0
    for count in counts:
        growing.add(whole[end : end + count])
        end += count
        seen.append(growing.rows)
        assert len(growing) == end
    assert all(np.array_equal(rows, whole[: len(rows)]) for rows in seen)
