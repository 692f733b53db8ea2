"""A folded pattern is the pattern that was folded."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.folded import parse_folded


def test_a_line_that_begins_with_a_space_continues_the_one_before() -> None:
    source = "one = '''(?:a\n    |b\n  |c)'''\nmany = ['''x\n y''']\n[in]\nwords = '''\na b\nc'''"
    assert parse_folded(source) == {"one": "(?:a|b|c)", "many": ["xy"], "in": {"words": "a b\nc"}}


@given(st.lists(st.text("abc|()", min_size=1), min_size=1))
def test_what_is_folded_is_unfolded(parts: list[str]) -> None:
    assert parse_folded("p = '''" + "\n    ".join(parts) + "'''\nn = 3") == {"p": "".join(parts), "n": 3}


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        parse_folded("= 3")
