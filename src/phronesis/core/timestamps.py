"""Times: UTC everywhere, as ``datetime`` in records and as microseconds since 1970 in rows and hashes."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from phronesis.errors import InputError

FUTURE_TOLERANCE: Final = timedelta(days=1)
"""How far ahead of our clock a given time may lie (time zones and skewed clocks; contract)."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET: Final = len("+00:00")
_MICROSECOND: Final = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC; exact, unlike ``timestamp()``."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the UTC time of ``micros`` since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def optional_micros(moment: datetime | None) -> int | None:
    """Return ``to_micros``, and None for None."""
    return None if moment is None else to_micros(moment)


def optional_moment(micros: int | None) -> datetime | None:
    """Return ``from_micros``, and None for None."""
    return None if micros is None else from_micros(micros)


Moment = datetime | str | int | float
"""A time as callers give it: a datetime, ISO 8601, or seconds since 1970 (milliseconds above 1e11)."""
FORMS: Final = "a datetime, ISO 8601 such as 2026-05-01T10:00:00Z, or seconds since 1970 (milliseconds above 1e11)"
"""The forms of a `Moment`, as errors name them."""
_MILLISECONDS: Final = 1e11
"""Values above are milliseconds; as seconds, this is the year 5138."""


def check_form(value: object) -> object:
    """Return a JSON value that may be a time, unparsed; ValueError names the accepted forms otherwise."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be {FORMS}; got {type(value).__name__}")  # noqa: TRY004 - pydantic reads this one
    return value


_EPOCH_TEXT: Final = re.compile(r"[0-9]{10}(?:[0-9]{3})?(?:\.[0-9]+)?")
"""Seconds or milliseconds as text, for the years 2001 to 2286."""


def parse_local(value: object, *, field: str) -> datetime:
    """Parse a `Moment` in its own offset; a naive one is UTC. InputError names ``field``.

    The offset decides the day: 7 in the morning of the 5th at +08:00 is the 5th, although it is the 4th in UTC.
    """
    if isinstance(value, str) and _EPOCH_TEXT.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _of_epoch(value, field=field)
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise InputError(f"{field} must be {FORMS}; got {value!r:.60}", field=field) from error
    else:
        raise InputError(f"{field} must be {FORMS}; got {type(value).__name__}", field=field)
    if moment.utcoffset() is None:  # a tzinfo may be there and still say nothing
        return moment.replace(tzinfo=UTC)
    return moment


def parse_zone(name: object, *, field: str = "time_zone") -> tzinfo:
    """Return the time zone of an IANA name; UTC for None. InputError names ``field``."""
    if name is None:
        return UTC
    try:
        if isinstance(name, str) and "/" not in name[:1]:
            return ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # no such name, no name at all, a folder of names
        pass
    raise InputError(
        f"{field} must be the IANA name of a time zone, such as Asia/Shanghai or UTC; got {name!r:.60}."
        " Install the package tzdata where this system has no time zones of its own",
        field=field,
    )


def offset_minutes(value: object) -> int | None:
    """Return the minutes east of UTC that a recorded time was given in; None for UTC, and where there is no time."""
    given = parse_local(value, field="time").utcoffset() if isinstance(value, str) else None
    return given // timedelta(minutes=1) if given else None


def parse_moment(value: object, *, field: str) -> datetime:
    """Read a `Moment` as UTC; a naive one is UTC. InputError names ``field``."""
    moment = parse_local(value, field=field)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{field} is out of range in UTC: {value!r:.60}", field=field) from error


def _of_epoch(value: float, *, field: str) -> datetime:
    """Return the time of seconds or milliseconds since 1970, to the microsecond."""
    try:
        seconds = value / 1000 if abs(value) > _MILLISECONDS else value
        return _EPOCH + timedelta(microseconds=round(seconds * 1_000_000))
    except (OverflowError, ValueError) as error:
        raise InputError(f"{field} must be {FORMS}; {value!r:.40} is out of range", field=field) from error


def parse_past(value: object, *, field: str, now: datetime) -> datetime:
    """Read a time that may not lie more than a day ahead of ``now``."""
    moment = parse_moment(value, field=field)
    if moment - now > FUTURE_TOLERANCE:
        raise InputError(
            f"{field} lies more than a day in the future ({moment.isoformat()}): what has not happened cannot be"
            " recorded; give the time it happened, or none",
            field=field,
        )
    return moment


def local_isoformat(moment: datetime) -> str:
    """Return ISO 8601 with the offset that the time has, and a Z for UTC."""
    return f"{moment.isoformat()[:-_OFFSET]}Z" if not moment.utcoffset() else moment.isoformat()


def isoformat(moment: datetime | None) -> str | None:
    """Return ISO 8601 with a Z, the form used in results; None for None."""
    if moment is None:
        return None
    there = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{there.isoformat()[:-_OFFSET]}Z"
