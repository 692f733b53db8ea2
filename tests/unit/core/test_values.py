"""Values in the form in which they are compared."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.core.items import KINDS, Trust
from phronesis.core.proposals import Conflict
from phronesis.core.statements import MAX_FORM, STATED, Occurrence, Statement, adds_detail, compared_form, is_same_value
from phronesis.core.values import KEYS, NORMALISERS, is_known, language_code, names_of, normal_value, rule_for

AT = datetime(2026, 3, 10, tzinfo=UTC)


def test_values_are_brought_into_form() -> None:
    cases: list[tuple[str, str, str]] = [
        ("text", "The Green  Tea.", "green tea"),
        ("text", "“Dune”", "dune"),
        ("place", "the City of London", "london"),
        ("number", "thirty-four", "34"),
        ("number", "many", "many"),
        ("number", "9 to 5", "9 to 5"),
        ("language", "Klingon", "klingon"),
        ("email", "<Wei@Example.ORG>", "<wei@example.org>"),
        ("phone", "+33 6 12-34", "+3361234"),
        ("phone", "none", "none"),
        ("url", "HTTPS://Example.org/Path/", "https://example.org/Path"),
        ("url", "Example.org/", "example.org"),
        ("date", "May 4", "--05-04"),
        ("date", "May 2023", "2023-05"),
        ("date", "2023年", "2023"),
        ("date", "next Friday", "next friday"),
        ("date", "--05-04", "--05-04"),
        ("date", "sometime", "sometime"),
    ]
    for form, value, normal in cases:
        assert normal_value(form, value) == normal, form


def test_a_relative_date_is_read_against_the_day_it_was_said() -> None:
    assert normal_value("date", "next Friday", at=AT) == "2026-03-20"
    assert normal_value("date", "上个月", at=AT) == "2026-02"


def test_there_are_only_these_forms() -> None:
    with pytest.raises(KeyError):
        normal_value("colour", "red")


SAID = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="the an一只了的 +0123456789.-kABcé市岁“”/:@", max_size=24),
    st.sampled_from(
        ["May 4", "五月四日", "next Friday", "2023-05-04", "34 years old", "三十四岁", "French", "Ünïted KINGDOM"]
    ),
)


@given(form=st.sampled_from(sorted(NORMALISERS)), value=SAID)
def test_bringing_a_value_into_form_twice_changes_nothing(form: str, value: str) -> None:
    normal = normal_value(form, value)
    assert normal_value(form, normal) == normal


def test_a_language_is_known_by_its_names_and_its_code() -> None:
    assert [language_code(name) for name in ("German", "德语", "Deutsch", "DE", "nonsense")] == [
        "de",
        "de",
        "de",
        "de",
        None,
    ]


# When two values are one: the form that is compared, and a value said more fully.


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
        assert compared_form(one) == compared_form(other), one


def test_what_is_not_the_same_is_told_apart() -> None:
    cases: list[tuple[object, object]] = [(True, 1), (1, "1"), (None, "null"), ("C", "C++"), ("Ålice", "Alice")]
    for one, other in cases:
        assert compared_form(one) != compared_form(other), one


@given(text=st.text(max_size=40))
def test_the_form_of_a_form_is_itself(text: str) -> None:
    assert compared_form(compared_form(text)) == compared_form(text)
    assert len(compared_form(text * 100)) <= MAX_FORM


def test_a_value_said_more_fully() -> None:
    cases: list[tuple[str, str, bool, bool]] = [
        ("lyon, near the station", "lyon", True, True),
        ("leonardo", "leo", False, False),
        ("tea - green", "tea", True, True),
        ("北京大学", "北京", False, False),
        ("x", "", False, False),
    ]
    for longer, shorter, one, many in cases:
        assert (adds_detail(longer, shorter, "one"), adds_detail(longer, shorter, "many")) == (one, many), longer
        assert not adds_detail(shorter, longer, "one"), longer
        assert is_same_value(shorter, longer, "one") == (one or longer == shorter), longer


def test_the_rule_for_conflicts_says_which_statement_wins() -> None:
    early, late = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))
    later = Occurrence(at=late, trust=Trust.TOOL, by=None)
    cases: list[tuple[Conflict, bool]] = [("keep_both", False), ("trust", True), ("occurred", False)]
    for conflict, wins in cases:
        saying = Occurrence(at=early, trust=Trust.USER, by=None)
        new = Statement(id="a", kind="profile", key="job", form="x", saying=saying, conflict=conflict)
        assert new.wins_over(later) is wins, conflict


# The names that a policy uses: those of the page, the nearest first.


def test_the_keys_are_those_of_the_page() -> None:
    types = list(load_memory_types())
    assert tuple(dict.fromkeys(row.key for row in types)) == KEYS
    assert {row.kind for row in types} <= STATED <= set(KINDS)


def test_the_nearest_name_counts() -> None:
    assert names_of("favorite.color", "preference") == ("favorite.color", "favorite.*", "preference")
    assert names_of("home_city", "profile") == ("home_city", "profile")
    rules = {"preference": 1, "favorite.*": 2, "favorite.颜色": 3}
    found = [rule_for(rules, key, "preference") for key in ("likes", "favorite.color", "favorite.颜色")]
    assert found == [1, 2, 3]
    assert rule_for(rules, "home_city", "profile") is None


def test_a_name_is_known_or_not() -> None:
    known = ["home_city", "favorite.*", "favorite.color", "favorite.颜色", "event"]
    assert [
        name for name in (*known, "favorite.", "favorite", "colour.x", "message", "") if is_known(name, STATED)
    ] == (known)
