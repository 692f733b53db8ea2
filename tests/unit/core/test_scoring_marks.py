"""Marks come back as they were packed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.scoring.marks import MAX_DATES, Marks
from phronesis.errors import InputError

DAYS = st.integers(0, 3_652_059)


@given(
    st.integers(0, 255), DAYS, st.lists(st.tuples(DAYS, DAYS), max_size=MAX_DATES + 2), st.integers(0, 10),
    st.integers(0, 3),
)  # fmt: skip
def test_marks_come_back(flags: int, day: int, dates: list[tuple[int, int]], importance: int, stage: int) -> None:
    blob = Marks(flags, day, dates, importance, stage).pack()
    assert len(blob) == 7 + 8 * min(len(dates), MAX_DATES)
    assert Marks.unpack(blob) == Marks(flags, day, tuple(dates[:MAX_DATES]), importance, stage)


@pytest.mark.parametrize("blob", [b"", b"123456", b"12345678"])
def test_a_torn_blob_is_refused(blob: bytes) -> None:
    with pytest.raises(InputError, match="rebuild the search document"):
        Marks.unpack(blob)
