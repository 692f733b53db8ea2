"""An item's forms: stored, flat, shown; and the next version."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item, Trust, flat_row, nested_row
from phronesis.core.reports import entity_kind
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
