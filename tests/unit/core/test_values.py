"""Values in the form in which they are compared."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.values import NORMALISERS, language_code, normal_value

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
