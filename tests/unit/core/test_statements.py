"""When two values are one: the form that is compared, and a value said more fully."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.core.statements import (
    MAX_FORM,
    HeldStatement,
    Occurrence,
    Statement,
    alike,
    extends,
    form_of,
    plain_form,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


CASE_WIDTH_SPACES: list[tuple[object, object]] = [
    ("Lyon", " lyon. "),
    ("ＬＹＯＮ", "lyon"),
    ("green  tea", "Green tea!"),
    ("成都。", "成都"),
    (1, 1),
    ({"a": 1}, {"a": 1}),
]


def test_case_width_spaces_and_end_punctuation_do_not_count() -> None:
    for one, other in CASE_WIDTH_SPACES:
        assert plain_form(one) == plain_form(other), one


NOT_SAME_TOLD: list[tuple[object, object]] = [(True, 1), (1, "1"), (None, "null"), ("C", "C++"), ("Ålice", "Alice")]


def test_what_is_not_the_same_is_told_apart() -> None:
    for one, other in NOT_SAME_TOLD:
        assert plain_form(one) != plain_form(other), one


@given(text=st.text(max_size=40))
def test_the_form_of_a_form_is_itself(text: str) -> None:
    assert plain_form(plain_form(text)) == plain_form(text)
    assert len(plain_form(text * 100)) <= MAX_FORM


def test_the_form_of_an_item_is_that_of_its_value_or_of_its_words() -> None:
    item = Item(id="i", kind="fact", content="Home is Lyon.", entry_id="e", recorded_at=AT, updated_at=AT)
    assert form_of(item) == "home is lyon"
    assert form_of(item.with_fields({"value": "LYON"})) == "lyon"
    assert form_of(item.with_fields({"value": "French", "data.compared": "fr"})) == "fr"


VALUE_SAID_MORE: list[tuple[str, str, bool, bool]] = [
    ("lyon, near the station", "lyon", True, True),
    ("leonardo", "leo", False, False),
    ("tea - green", "tea", True, True),
    ("北京大学", "北京", False, False),
    ("x", "", False, False),
]


def test_a_value_said_more_fully() -> None:
    for longer, shorter, one, many in VALUE_SAID_MORE:
        assert (extends(longer, shorter, "one"), extends(longer, shorter, "many")) == (one, many), longer
        assert not extends(shorter, longer, "one"), longer
        assert alike(shorter, longer, "one") == (one or longer == shorter), longer


def test_since_when_a_statement_holds() -> None:
    new = Statement(id="i", kind="profile", key="k", form="x", saying=Occurrence(at=AT))
    assert (new.since, new.closed) == (AT, False)


def test_when_something_was_said() -> None:
    later = AT.replace(year=2027)
    item = Item(id="i", kind="fact", content="x", entry_id="e", recorded_at=AT, updated_at=AT)
    held = HeldStatement(item=item, sayings=(Occurrence(at=later), Occurrence(at=AT)))
    assert (held.first, held.last, held.current, held.past) == (AT, later, True, False)
