"""Talk laid out as it was said: windows and pairs, done again by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from phronesis.recall.scoring.lane_arrays import ALONE, PAIR_TOKENS, WINDOW_REACH, WINDOW_TOKENS, Layout, make_layout

ROW = st.tuples(st.sampled_from([ALONE, 0, 1, 2]), st.integers(0, 200), st.booleans())


def layout_of(rows: list[tuple[int, int, bool]]) -> Layout:
    """Lay out rows (session, length, alive), each session's in their order."""
    return make_layout(
        sessions=np.array([row[0] for row in rows], dtype=np.int64),
        positions=np.arange(len(rows), dtype=np.int64),
        offsets=np.zeros(len(rows), dtype=np.int64),
        alive=np.array([row[2] for row in rows], dtype=np.bool_),
        lengths=np.array([row[1] for row in rows], dtype=np.float32),
    )


def window_by_hand(lengths: list[int], place: int) -> tuple[int, int]:
    """Grow a window in one session as its definition says: outwards, the earlier side first."""
    start, stop, total = place, place + 1, lengths[place]
    earlier = later = True
    for distance in range(1, WINDOW_REACH + 1):
        there = place - distance
        earlier = earlier and there >= 0 and total + lengths[there] <= WINDOW_TOKENS
        if earlier:
            start, total = there, total + lengths[there]
        there = place + distance
        later = later and there < len(lengths) and total + lengths[there] <= WINDOW_TOKENS
        if later:
            stop, total = there + 1, total + lengths[there]
    return start, stop


@given(st.lists(ROW, max_size=30))
def test_sessions_stand_together_and_windows_are_those_of_the_definition(rows: list[tuple[int, int, bool]]) -> None:
    layout = layout_of(rows)
    live = [n for n, row in enumerate(rows) if row[2]]
    assert sorted(layout.rows.tolist()) == live
    assert [layout.place_of[row] for row in layout.rows] == list(range(len(live)))
    assert {n for n in range(len(rows)) if layout.place_of[n] < 0} == set(range(len(rows))) - set(live)
    for place in range(len(layout)):
        first, last = int(layout.first[place]), int(layout.last[place])
        session = [rows[row] for row in layout.rows[first : last + 1]]
        assert len({one[0] for one in session}) == 1
        assert session[0][0] != ALONE or len(session) == 1
        lengths = [one[1] for one in session]
        start, stop = window_by_hand(lengths, place - first)
        assert (layout.windows.start[place] - first, layout.windows.stop[place] - first) == (start, stop)
        assert layout.windows.lengths.each[place] == sum(lengths[start:stop])
        before = lengths[place - first - 1] if place > first else None
        joined = before is not None and before + lengths[place - first] <= PAIR_TOKENS
        assert bool(layout.pairs.joined[place]) == joined
        more = before if joined and before is not None else 0
        assert layout.pairs.lengths.each[place] == lengths[place - first] + more
    assert layout.apart == (layout.first == layout.last).all()
    assert layout.nbytes >= 0
    numbers = np.arange(1, len(layout) + 1, dtype=np.float32)
    for step in (-3, -2, -1, 1, 2, 3):
        there, inside = layout.beside(np.arange(len(layout)), step)
        expected = np.where(inside, there + 1, 0)
        assert layout.shifted(numbers, step).tolist() == expected.tolist()
