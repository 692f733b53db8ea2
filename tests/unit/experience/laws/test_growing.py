"""Rows that grow are those that were added, and what was looked at before stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.lexical_similarity import SPARE, Growing


@given(st.lists(st.integers(0, 5), max_size=9))
def test_they_are_those_that_were_added(counts: list[int]) -> None:
    growing, whole = Growing(np.float32), np.arange(3 * sum(counts), dtype=np.float32).reshape(-1, 3)
    seen, end = [], 0
    for count in counts:
        growing.add(whole[end : end + count])
        end += count
        seen.append(growing.rows)
        assert len(growing) == end
    assert all(np.array_equal(rows, whole[: len(rows)]) for rows in seen)


def test_few_additions_copy() -> None:
    growing = Growing(np.float16)
    growing.add(np.ones((10 * SPARE, 2), np.float32))
    held = growing.rows.base
    for _ in range(10):
        growing.add(np.ones((1, 2), np.float32))
    assert growing.rows.base is held
    growing.add(np.ones((1, 2), np.float32))
    assert growing.rows.base is not held
    assert len(growing) == 10 * SPARE + 11
    assert (growing.rows == 1).all()
    assert growing.rows.dtype == np.float16


@pytest.mark.parametrize("count", [0, 3])
def test_rows_may_be_of_no_length(count: int) -> None:
    growing = Growing(np.float32)
    growing.add(np.zeros((count, 0), np.float32))
    assert growing.rows.shape == (count, 0)


def test_room_is_written_by_whoever_asked_for_it() -> None:
    growing = Growing(np.float32)
    growing.room(2, 3)[:] = 1
    growing.room(1, 3)[0] = [1, 2, 3]
    assert growing.rows.tolist() == [[1, 1, 1], [1, 1, 1], [1, 2, 3]]
