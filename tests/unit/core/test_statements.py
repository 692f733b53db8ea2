"""When two values are one: the form that is compared, and a value said more fully."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Trust
from phronesis.core.proposals import Conflict
from phronesis.core.statements import MAX_FORM, Occurrence, Statement, alike, extends, plain_form


def test_case_width_spaces_and_end_punctuation_do_not_count() -> None:
    cases: list[tuple[object, object]] = [
        ("Lyon", " lyon. "),
        ("ＬＹＯＮ", "lyon"),
        ("green  tea", "Green tea!"),
        ("成都。", "成都"),
        (1, 1),
        ({"a": 1}, {"a": 1}),
    ]
    for one, other in cases:
        assert plain_form(one) == plain_form(other), one


def test_what_is_not_the_same_is_told_apart() -> None:
    cases: list[tuple[object, object]] = [(True, 1), (1, "1"), (None, "null"), ("C", "C++"), ("Ålice", "Alice")]
    for one, other in cases:
        assert plain_form(one) != plain_form(other), one


@given(text=st.text(max_size=40))
def test_the_form_of_a_form_is_itself(text: str) -> None:
    assert plain_form(plain_form(text)) == plain_form(text)
    assert len(plain_form(text * 100)) <= MAX_FORM


def test_a_value_said_more_fully() -> None:
    cases: list[tuple[str, str, bool, bool]] = [
        ("lyon, near the station", "lyon", True, True),
        ("leonardo", "leo", False, False),
        ("tea - green", "tea", True, True),
        ("北京大学", "北京", False, False),
        ("x", "", False, False),
    ]
    for longer, shorter, one, many in cases:
        assert (extends(longer, shorter, "one"), extends(longer, shorter, "many")) == (one, many), longer
        assert not extends(shorter, longer, "one"), longer
        assert alike(shorter, longer, "one") == (one or longer == shorter), longer


def test_the_rule_for_conflicts_says_which_statement_wins() -> None:
    early, late = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))
    later = Occurrence(at=late, trust=Trust.TOOL, by=None)
    cases: list[tuple[Conflict, bool]] = [("keep_both", False), ("trust", True), ("occurred", False)]
    for conflict, wins in cases:
        saying = Occurrence(at=early, trust=Trust.USER, by=None)
        new = Statement(id="a", kind="profile", key="job", form="x", saying=saying, conflict=conflict)
        assert new.beats(later) is wins, conflict
