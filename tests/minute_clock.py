"""A clock for tests in which every look is a minute later than the one before."""

from datetime import UTC, datetime, timedelta


class Clock:
    """A minute later each time."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now
