"""An item's forms: stored, flat, shown; and the next version."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import items
from phronesis.core.items import COMING, DUE, OVERDUE_SHOWN, Item, Trust, flat_row, nested_row
from phronesis.core.reports import entity_kind
from phronesis.core.timestamps import isoformat
from unit.core.kept_lane import item_of, moment

DATA = st.dictionaries(st.sampled_from(["a", "b.c", "data.d"]), st.sampled_from([1, "x", [1], {"deep": None}]))
ITEMS = st.builds(
    item_of,
    st.just("i"),
    data=DATA,
    trust=st.sampled_from(Trust),
    pinned=st.booleans(),
    occurred_at=st.none() | st.just(moment(3)),
    metadata=DATA,
    value=st.none() | DATA,
)


@given(ITEMS)
def test_stored_and_flat_forms_come_back(item: Item) -> None:
    assert Item.from_row(item.to_row()) == item
    assert Item.from_row(nested_row(flat_row(item.to_row()))) == item


def test_members_are_set_one_by_one() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {"a": 1, "b": 2}),
        ({"data.a": None}, {"b": 2}),
        ({"data.c": 3}, {"a": 1, "b": 2, "c": 3}),
        ({"data": {"z": 0}}, {"z": 0}),
        ({"data": {"z": 0}, "data.y": 1}, {"z": 0, "y": 1}),
    ]
    for fields, expected in cases:
        item = item_of("i", data={"a": 1, "b": 2})
        assert item.with_fields({**fields, "subject": "s"}) == item_of("i", subject="s", data=expected), fields


def test_what_ordinary_reads_see() -> None:
    cases: list[tuple[dict[str, Any], bool]] = [
        ({}, True),
        ({"status": "archived"}, False),
        ({"ended": "retired"}, False),
        ({"quarantine": "looks"}, False),
    ]
    for fields, live in cases:
        assert item_of("i", **fields).live is live, fields


def test_a_time_at_the_ends_of_the_calendar_stays_in_utc() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    item = item_of("a")
    assert item.local(first) == first
    assert item.local(datetime(2026, 5, 1, tzinfo=UTC)).utcoffset() == timedelta(0)


# What an entity is follows from what is said of it, and from whose name it is.


def test_a_kind_is_stated_or_follows_from_keys() -> None:
    assert entity_kind({"attribute.kind": "project", "job": "nurse"}, set()) == "project"
    assert entity_kind({}, {"sibling"}) == "person"
    assert entity_kind({}, {"employer"}) == "organisation"
    assert entity_kind({}, {"home_city"}) == "place"
    assert entity_kind({"job": "nurse"}, set()) == "person"
    assert entity_kind({"attribute.deadline": "May"}, set()) == "project"
    assert entity_kind({"attribute.color": "red"}, set()) == "thing"
    assert entity_kind({"fact": "it is old"}, set()) == "unknown"


# What is due comes up in time, passes, and is over when its time is.


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
    assert items.is_due_within(item, now) == (due <= now + COMING)
    if items.is_due_within(item, now):
        assert items.is_due_within(item, now + later)
    over = task(due, valid_to=due + later)
    assert items.is_due_within(over, now) == (due <= now + COMING and now < due + later)
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
    assert not items.is_due_within(task(None), NOW)
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
