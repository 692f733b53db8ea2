"""A server is asked no faster than it allows."""

import pytest

from phronesis.models.call_policy import Limits
from phronesis.reasoning.catalysis.pubchem import PER_SECOND, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock=clock, sleep=clock.sleep)


def limits(clock: Clock, seconds: float = 30.0) -> Limits:
    return Limits(clock, clock.now + seconds)


def test_at_most_five_begin_within_any_second(clock: Clock, pace: Pace) -> None:
    began = []
    for _ in range(12):
        assert pace.take(limits(clock))
        began.append(clock.now)
    assert began[0] == 100.0
    assert all(later - earlier >= 1.0 - 1e-9 for earlier, later in zip(began, began[5:], strict=False))
    assert PER_SECOND == 5.0


def test_a_turn_that_comes_too_late_is_not_waited_for(clock: Clock, pace: Pace) -> None:
    pace.hold(10)
    assert not pace.take(limits(clock, 5))
    assert clock.now == 100.0
    assert pace.take(limits(clock, 11))
    assert clock.now == pytest.approx(110.0)


@pytest.mark.parametrize(
    ("headers", "held"),
    [
        ({}, 0.0),
        ({"x-throttling-control": "Request Count status: Yellow (60%), Service status: Green (20%)"}, 0.0),
        ({"x-throttling-control": "Request Count status: Green (0%), Request Time status: Red (80%)"}, 1.0),
        ({"x-throttling-control": "Request Count status: Black (100%), Service status: Red (20%)"}, 10.0),
        ({"retry-after": "7"}, 7.0),
    ],
)
def test_what_a_server_says_of_its_load_is_heeded(
    headers: dict[str, str], held: float, clock: Clock, pace: Pace
) -> None:
    pace.heed(headers)
    assert pace.take(limits(clock, 2000))
    assert clock.now - 100.0 == pytest.approx(held)
