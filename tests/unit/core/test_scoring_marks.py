"""Marks come back as they were packed."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.recall.scoring.packed_features import MAX_DATES, Marks, read_marks

DAYS = st.integers(0, 3_652_059)


WRITTEN = st.builds(
    Marks,
    st.integers(0, 255),
    DAYS,
    st.lists(st.tuples(DAYS, DAYS), max_size=MAX_DATES + 2),
    st.integers(0, 10),
    st.integers(0, 3),
)


@given(st.lists(WRITTEN, max_size=5))
def test_marks_come_back(written: list[Marks]) -> None:
    blobs = [one.pack() for one in written]
    assert [len(blob) for blob in blobs] == [7 + 8 * min(len(one.dates), MAX_DATES) for one in written]
    read = read_marks(blobs)
    for row, one in enumerate(written):
        assert (read.flags[row], read.days[row]) == (one.flags, one.day)
        assert (read.importance[row], read.stages[row]) == (one.importance, one.stage)
    assert read.dates == [(row, *days) for row, one in enumerate(written) for days in one.dates[:MAX_DATES]]
