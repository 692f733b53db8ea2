"""When two values are one: the form that is compared, and a value said more fully."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.core.statements import MAX_FORM, Held, Saying, Statement, alike, extends, form_of, plain_form

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lyon", " lyon. "),
        ("ＬＹＯＮ", "lyon"),
        ("green  tea", "Green tea!"),
        ("成都。", "成都"),
        (1, 1),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_case_width_spaces_and_end_punctuation_do_not_count(one: object, other: object) -> None:
    assert plain_form(one) == plain_form(other)


@pytest.mark.parametrize(("one", "other"), [(True, 1), (1, "1"), (None, "null"), ("C", "C++"), ("Ålice", "Alice")])
def test_what_is_not_the_same_is_told_apart(one: object, other: object) -> None:
    assert plain_form(one) != plain_form(other)


@given(text=st.text(max_size=40))
def test_the_form_of_a_form_is_itself(text: str) -> None:
    assert plain_form(plain_form(text)) == plain_form(text)
    assert len(plain_form(text * 100)) <= MAX_FORM


def test_the_form_of_an_item_is_that_of_its_value_or_of_its_words() -> None:
    item = Item(id="i", kind="fact", content="Home is Lyon.", entry_id="e", recorded_at=AT, updated_at=AT)
    assert form_of(item) == "home is lyon"
    assert form_of(item.with_fields({"value": "LYON"})) == "lyon"
    assert form_of(item.with_fields({"value": "French", "data.compared": "fr"})) == "fr"


@pytest.mark.parametrize(
    ("longer", "shorter", "one", "many"),
    [
        ("lyon, near the station", "lyon", True, True), ("wei zhang", "wei", True, False),
        ("leonardo", "leo", False, False), ("tea (green)", "tea", True, True), ("tea - green", "tea", True, True),
        ("lyon", "lyon", False, False), ("tea-time", "tea", True, False), ("北京大学", "北京", False, False),
        ("北京，海淀", "北京", True, True), ("x", "", False, False),
    ],
)  # fmt: skip
def test_a_value_said_more_fully(longer: str, shorter: str, one: bool, many: bool) -> None:
    assert (extends(longer, shorter, "one"), extends(longer, shorter, "many")) == (one, many)
    assert not extends(shorter, longer, "one")
    assert alike(shorter, longer, "one") == (one or longer == shorter)


def test_since_when_a_statement_holds() -> None:
    new = Statement(id="i", kind="profile", key="k", form="x", saying=Saying(at=AT))
    assert (new.since, new.closed) == (AT, False)


def test_when_something_was_said() -> None:
    later = AT.replace(year=2027)
    item = Item(id="i", kind="fact", content="x", entry_id="e", recorded_at=AT, updated_at=AT)
    held = Held(item=item, sayings=(Saying(at=later), Saying(at=AT)))
    assert (held.first, held.last, held.current, held.past) == (AT, later, True, False)
