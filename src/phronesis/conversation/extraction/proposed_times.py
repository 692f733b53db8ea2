"""Times of a model's proposals: dates that may be partial, read against the time of the message."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal

import pydantic

from phronesis.core.timestamps import isoformat

BEGAN_PRECISION: Final = "began_precision"
"""The member of an item's ``data`` that says how exact the time is from which it holds: ``year`` or ``month``."""

_When = Annotated[str, pydantic.Field(max_length=40)] | None


class ProposedTimes(pydantic.BaseModel):
    """When something happened, begins, is due, ends and recurs, as far as the message says."""

    model_config = pydantic.ConfigDict(extra="ignore")

    happened: _When = None
    starts: _When = None
    due: _When = None
    ends: _When = None
    recurs: Annotated[str, pydantic.Field(max_length=200)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalTimes:
    """The times of a proposal, and how exact those are that are not days."""

    began: str | None
    over: str | None
    due: str | None
    recurs: str | None
    precision: Mapping[str, str]

    @classmethod
    def of(cls, given: ProposedTimes, at: datetime, *, past: bool) -> "ProposalTimes":
        """Return the times that a model gave in a message of time ``at``; what is no date is left out."""
        began = PartialDate.parse(given.starts or given.happened, at)
        ends = PartialDate.parse(given.ends, at)
        over = None if ends is None else ends.first if ends.precision == "minute" else ends.after
        if past and (over is None or over > at):
            over = at if began is None else max(at, began.first)
        due = PartialDate.parse(given.due, at)
        coarse = {BEGAN_PRECISION: began, "ends_precision": ends, "due_precision": due}
        return cls(
            began=None if began is None or began.first == at else isoformat(began.first),
            over=isoformat(over),
            due=None if due is None or due.is_past(at) else isoformat(due.last),
            recurs=given.recurs,
            precision={
                name: one.precision
                for name, one in coarse.items()
                if one is not None and one.precision in {"year", "month"}
            },
        )


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A year, a month, a day or a minute: its first moment, the one after it, and how exact it is."""

    first: datetime
    after: datetime
    precision: Literal["year", "month", "day", "minute"]

    @classmethod
    def parse(cls, text: str | None, at: datetime) -> "PartialDate | None":
        """Return the date that a text in ISO 8601 says, in the time zone of ``at``; None if it says none."""
        parts = _DATE.fullmatch((text or "").strip())
        if parts is None:
            return None
        year, month, day, clock = parts.groups()
        try:
            if clock is not None:
                first = datetime.fromisoformat(f"{year}-{month}-{day}T{clock}").replace(tzinfo=at.tzinfo or UTC)
                return cls(first, first + timedelta(minutes=1), "minute")
            first = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
            if day is not None:
                return cls(first, first + timedelta(days=1), "day")
            if month is not None:
                return cls(first, (first + timedelta(days=31)).replace(day=1), "month")
            return cls(first, first.replace(year=first.year + 1), "year")
        except (ValueError, OverflowError):
            return None

    @property
    def last(self) -> datetime:
        """The last day, at midnight; the minute itself."""
        return self.first if self.precision == "minute" else self.after - timedelta(days=1)

    def is_past(self, at: datetime) -> bool:
        """Return whether all of it lies before a moment, or before its day."""
        return self.after <= at if self.precision == "minute" else self.after.date() <= at.date()


_DATE: Final = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d)(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?)?)?")
