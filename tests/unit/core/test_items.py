"""An item's forms: stored, flat, shown; and the next version."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import FIELDS, Item, Trust, flat_row, nested_row
from unit.core.kept_lane import edge, item_of, moment, piece

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


def test_a_member_that_is_none_counts_as_absent() -> None:
    item = item_of("i", data={"a": None, "b": 1})
    assert flat_row({**item.to_row(), "data": None}).keys() & {"data.a", "data.b", "data"} == set()
    assert nested_row(flat_row(item.to_row()))["data"] == {"b": 1}


MEMBERS_SET_ONE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {"a": 1, "b": 2}),
    ({"data.a": None}, {"b": 2}),
    ({"data.c": 3}, {"a": 1, "b": 2, "c": 3}),
    ({"data": {"z": 0}}, {"z": 0}),
    ({"data": {"z": 0}, "data.y": 1}, {"z": 0, "y": 1}),
]


def test_members_are_set_one_by_one() -> None:
    for fields, expected in MEMBERS_SET_ONE:
        item = item_of("i", data={"a": 1, "b": 2})
        assert item.with_fields({**fields, "subject": "s"}) == item_of("i", subject="s", data=expected), fields


def test_the_next_version() -> None:
    after = item_of("i").changed({"subject": "s", "data.a": 1}, at=moment(2))
    assert (after.version, after.updated_at, after.subject, after.data) == (2, moment(2), "s", {"a": 1})


ORDINARY_READS_SEE: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"status": "archived"}, False),
    ({"ended": "retired"}, False),
    ({"quarantine": "looks"}, False),
]


def test_what_ordinary_reads_see() -> None:
    for fields, live in ORDINARY_READS_SEE:
        assert item_of("i", **fields).live is live, fields


def test_the_shown_form_is_plain() -> None:
    item = item_of("i", trust=Trust.TOOL, occurred_at=datetime(2026, 1, 1, 1, tzinfo=UTC) + timedelta(hours=1))
    shown = item.to_dict()
    assert tuple(shown) == FIELDS
    assert (shown["trust"], shown["occurred_at"], item.citation) == ("tool", "2026-01-01T02:00:00Z", "mem:i")


def test_edges_and_evidence_restate_what_says_the_same() -> None:
    assert edge("a", at=1).restates(edge("a", at=2))
    assert not edge("a", weight=0.5).restates(edge("a"))
    assert piece("a", grade="A").restates(piece("a", at=3))
    assert not piece("a", part="c").restates(piece("a"))


def test_evidence_comes_back_from_its_stored_form_and_is_shown_with_times() -> None:
    row = piece("a", occurred_at=moment(1), part="c", span_start=2)
    assert type(row).from_row(row.to_row()) == row
    assert row.to_dict()["occurred_at"] == "2026-01-02T00:00:00Z"


def test_a_time_at_the_ends_of_the_calendar_stays_in_utc() -> None:
    first = datetime.min.replace(tzinfo=UTC)
    item = item_of("a")
    assert item.local(first) == first
    assert item.local(datetime(2026, 5, 1, tzinfo=UTC)).utcoffset() == timedelta(0)
