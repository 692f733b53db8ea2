"""What is due comes up in time, passes, and is over when its time is."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import items
from phronesis.core.items import COMING, DUE, OVERDUE_SHOWN, Item
from phronesis.core.timestamps import isoformat

NOW = datetime(2026, 4, 3, 9, 30, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - the zone comes


def task(due: datetime | None, **fields: Any) -> Item:
    data = {} if due is None else {DUE: isoformat(due)}
    given = {"id": "a", "kind": "task", "content": "x", "entry_id": "e", "recorded_at": NOW, "updated_at": NOW}
    return Item(**{**given, "data": data, **fields})


@given(due=MOMENTS, now=MOMENTS, later=st.timedeltas(timedelta(0), timedelta(days=400)))
def test_what_is_due_stays_due_until_it_expires(due: datetime, now: datetime, later: timedelta) -> None:
    item = task(due)
    assert items.due_of(item) == due
    assert items.surfaces(item, now) == (due <= now + COMING)
    if items.surfaces(item, now):
        assert items.surfaces(item, now + later)
    over = task(due, valid_to=due + later)
    assert items.surfaces(over, now) == (due <= now + COMING and now < due + later)
    assert not items.is_lapsed(over, now)


@given(due=MOMENTS, now=MOMENTS)
def test_what_lapses_was_due_a_fortnight_ago(due: datetime, now: datetime) -> None:
    day = due.time() == datetime.min.time()
    assert items.is_lapsed(task(due), now) == (now - due > OVERDUE_SHOWN + (timedelta(days=1) if day else timedelta()))


@given(due=MOMENTS, now=MOMENTS)
def test_words_name_the_day(due: datetime, now: datetime) -> None:
    assert due.date().isoformat() in items.in_words(task(due), now)


def test_the_last_day_there_is_has_no_end() -> None:
    assert not items.is_lapsed(task(datetime(9999, 12, 31, tzinfo=UTC)), NOW)


def test_without_a_due_time_nothing_comes_up() -> None:
    assert items.in_words(task(None), NOW) == ""
    assert not items.surfaces(task(None), NOW)
    assert not items.is_overdue(task(None), NOW)
    assert not items.is_lapsed(task(None), NOW)
    assert items.due_of(task(NOW, kind="fact")) is None


def test_when_in_words() -> None:
    cases: list[tuple[str, str]] = [
        ("2026-04-03T00:00", "due 2026-04-03"),
        ("2026-04-04T00:00", "due 2026-04-04"),
        ("2026-04-02T00:00", "was due 2026-04-02"),
        ("2026-04-03T09:30", "due 2026-04-03 09:30 UTC"),
        ("2026-04-03T09:29", "was due 2026-04-03 09:29 UTC"),
    ]
    for due, words in cases:
        at = datetime.fromisoformat(due).replace(tzinfo=UTC)
        assert items.in_words(task(at), NOW) == words, due
        over = datetime(2026, 5, 1, 12, tzinfo=UTC)
        assert items.in_words(task(at, valid_to=over), NOW) == f"{words}; expires 2026-05-01 12:00 UTC", due
