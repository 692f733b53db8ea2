"""The pauses of who works by itself."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.reports import FIRST_PAUSE, LONGEST_PAUSE, pause_after


def test_each_failure_doubles_the_pause() -> None:
    assert [pause_after(n) / FIRST_PAUSE for n in (1, 2, 3)] == [1, 2, 4]


@given(st.integers(1, 10**9))
def test_no_pause_is_longer_than_the_longest(failures: int) -> None:
    assert FIRST_PAUSE <= pause_after(failures) <= pause_after(failures + 1) <= LONGEST_PAUSE
    assert pause_after(failures, longest=timedelta(minutes=1)) == timedelta(minutes=1)
