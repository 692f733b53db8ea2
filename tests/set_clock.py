"""A clock that stands still until a test moves it, or goes on by the same step at each look."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass
class Clock:
    now: datetime = datetime(2026, 3, 1, tzinfo=UTC)
    step: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        self.now += self.step
        return self.now

    def pass_days(self, days: float) -> datetime:
        self.now += timedelta(days=days)
        return self.now

    def pass_hours(self, hours: float) -> datetime:
        self.now += timedelta(hours=hours)
        return self.now
