"""Times are exact, in UTC, and not in the future."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import timestamps
from phronesis.errors import InputError

MOMENTS = st.datetimes(timezones=st.just(UTC))
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Nowhere(tzinfo):
    def utcoffset(self, _when: datetime | None, /) -> None:
        return None

    def dst(self, _when: datetime | None, /) -> None:
        return None

    def tzname(self, _when: datetime | None, /) -> None:
        return None


@given(MOMENTS)
def test_microseconds_keep_every_moment(moment: datetime) -> None:
    assert timestamps.from_micros(timestamps.to_micros(moment)) == moment
    assert timestamps.optional_moment(timestamps.optional_micros(moment)) == moment


@given(one=MOMENTS, other=MOMENTS)
def test_microseconds_keep_the_order(one: datetime, other: datetime) -> None:
    assert (one < other) == (timestamps.to_micros(one) < timestamps.to_micros(other))


@given(moment=st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), zone=ZONES)  # noqa: DTZ001 - the zone comes after
def test_every_zone_reads_as_utc(moment: datetime, zone: timezone) -> None:
    local = moment.replace(tzinfo=zone)
    for form in (local, local.isoformat(), f"  {local.isoformat()}\n"):
        read = timestamps.parse_moment(form, field="t")
        assert (read, read.utcoffset()) == (local, timedelta(0))
    assert timestamps.parse_moment(timestamps.isoformat(local), field="t") == local


def test_a_naive_time_is_utc_and_so_is_one_whose_zone_says_nothing() -> None:
    for naive in (datetime(2026, 5, 1), datetime(2026, 5, 1, tzinfo=Nowhere()), "2026-05-01", "20260501T000000"):  # noqa: DTZ001
        assert timestamps.parse_moment(naive, field="t") == NOW


@pytest.mark.parametrize("given", [1777593600, 1777593600000, 1777593600000.0, "1777593600", "1777593600.0"])
def test_seconds_and_milliseconds_since_1970_are_times(given: object) -> None:
    assert timestamps.parse_moment(given, field="t") == NOW


def test_what_is_no_time_is_refused_by_its_field() -> None:
    cases = [None, float("inf"), b"2026", "now", "\ud800"]
    for bad in cases:
        with pytest.raises(InputError) as caught:
            timestamps.parse_moment(bad, field="when")
        assert caught.value.field == "when", bad
        if bad != "0001-01-01T00:00+01:00":  # of the right form, and out of range
            assert all(form in str(caught.value) for form in ("when", "datetime", "ISO 8601", "seconds since 1970")), (
                bad
            )


def test_a_day_ahead_is_let_through_and_no_more() -> None:
    ahead = NOW + timestamps.FUTURE_TOLERANCE
    assert timestamps.parse_past(ahead, field="t", now=NOW) == ahead
    with pytest.raises(InputError, match="more than a day in the future"):
        timestamps.parse_past(ahead + timedelta(microseconds=1), field="t", now=NOW)


def test_without_a_name_the_zone_is_utc() -> None:
    assert timestamps.parse_zone(None) is UTC


def test_a_time_that_utc_cannot_hold_is_refused_by_its_field() -> None:
    with pytest.raises(InputError, match="out of range in UTC") as raised:
        timestamps.parse_moment("0001-01-01T00:00:00+10:00", field="due")
    assert raised.value.field == "due"
