"""When two values are one: the form that is compared, and a value said more fully."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.statements import MAX_FORM, alike, extends, plain_form


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
