"""Arrays of a lane: windows, neighbours and bonuses equal what a loop over single places gives."""

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import InputError
from phronesis.recall.scoring.lane_arrays import (
    ALONE,
    HALF_LIFE_DAYS,
    PAIR_TOKENS,
    RECENCY,
    WINDOW_REACH,
    WINDOW_TOKENS,
    Layout,
    Spread,
    best_of,
    make_layout,
    read_marks,
    recency,
    spread_of,
)
from phronesis.recall.scoring.text_properties import DATES, HEAD, NO_DAY

DAY = date(2026, 3, 10).toordinal()
SESSIONS = st.lists(st.tuples(st.sampled_from([ALONE, 0, 1, 1]), st.sampled_from([10.0, 30.0, 60.0, 75.0])), max_size=9)


def floats(*numbers: float) -> Any:
    return np.array(numbers, dtype=np.float32)


def lay_out(rows: list[tuple[int, float]]) -> Layout:
    size = len(rows)
    return make_layout(
        sessions=np.array([session for session, _ in rows], dtype=np.int64),
        positions=np.arange(size, dtype=np.int64),
        offsets=np.zeros(size, dtype=np.int64),
        alive=np.ones(size, dtype=np.bool_),
        lengths=floats(*(length for _, length in rows)),
    )


def grown_window(lengths: list[float], first: int, last: int, place: int) -> tuple[int, int, float]:
    start, stop, total = place, place, lengths[place]
    growing = {-1, 1}
    for distance in range(1, WINDOW_REACH + 1):
        for side in (-1, 1):
            there = place + side * distance
            if side in growing and first <= there <= last and total + lengths[there] <= WINDOW_TOKENS:
                total += lengths[there]
                start, stop = min(start, there), max(stop, there)
            else:
                growing.discard(side)
    return start, stop + 1, total


@given(SESSIONS)
def test_windows_and_pairs_are_those_of_each_place(rows: list[tuple[int, float]]) -> None:
    made = lay_out(rows)
    lengths = [rows[row][1] for row in made.rows]
    for place in range(len(made)):
        first, last = int(made.first[place]), int(made.last[place])
        start, stop, total = grown_window(lengths, first, last, place)
        windows, pairs = made.windows, made.pairs
        assert (windows.start[place], windows.stop[place], windows.lengths[place]) == (start, stop, total)
        joined = place > first and lengths[place] + lengths[place - 1] <= PAIR_TOKENS
        assert bool(pairs.joined[place]) == joined
        assert pairs.lengths[place] == lengths[place] + (lengths[place - 1] if joined else 0)


@given(SESSIONS, st.integers(-4, 4).filter(bool))
def test_neighbours_are_of_the_same_session(rows: list[tuple[int, float]], step: int) -> None:
    made = lay_out(rows)
    values = np.arange(1, len(made) + 1, dtype=np.float32)
    inside = [made.first[n] <= n + step <= made.last[n] for n in range(len(made))]
    wanted = [values[n + step] if held else 0 for n, held in enumerate(inside)]
    assert made.shifted(values, step).tolist() == wanted
    there, mask = made.neighbours(np.arange(len(made)), step)
    assert (there.tolist(), mask.tolist()) == ([n + step if held else 0 for n, held in enumerate(inside)], inside)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=200), st.integers(1, 5))
def test_the_greatest_are_chosen_and_of_equals_the_first(numbers: list[int], count: int) -> None:
    wanted = sorted(sorted(range(len(numbers)), key=lambda n: (-numbers[n], n))[:count])
    assert best_of(floats(*numbers), count).tolist() == wanted


def test_a_score_that_does_not_vary_carries_no_information() -> None:
    assert spread_of([]) == spread_of([floats()]) == Spread(0.0, 0.0)
    found = spread_of([floats(1, 3), floats(5)])
    assert found.mean == 3.0
    assert found.deviation == pytest.approx((8 / 3) ** 0.5)
    assert Spread(3.0, 2.0).z(floats(1, 3, 7)).tolist() == [-1, 0, 2]
    assert Spread(3.0, 0.0).z(floats(3, 3)).tolist() == [0, 0]


def test_recency_halves_with_every_half_life() -> None:
    ages = [-5, 0, int(HALF_LIFE_DAYS), 2 * int(HALF_LIFE_DAYS)]
    days = np.array([DAY - age for age in ages])
    learned = np.ones(4, dtype=np.bool_)
    assert recency(days, DAY, learned=learned).tolist() == floats(*(RECENCY / n for n in (1, 1, 2, 4))).tolist()
    assert (
        recency(days, DAY, learned=learned & [True, False, False, True]).tolist()
        == floats(RECENCY, 0, 0, RECENCY / 4).tolist()
    )
    assert not recency(days, NO_DAY, learned=learned).any()
    assert not recency(days, DAY, learned=~learned).any()


@pytest.mark.parametrize("size", [HEAD.size - 1, HEAD.size + 1, HEAD.size + DATES.size - 1])
def test_torn_marks_are_refused(size: int) -> None:
    with pytest.raises(InputError, match="rebuild the search document"):
        read_marks([bytes(HEAD.size), bytes(size)])
