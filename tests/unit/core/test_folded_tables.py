"""A folded string is the string that was folded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.serialization import parse_folded, split_words
from phronesis.errors import PhronesisError


def test_a_line_that_begins_with_a_space_continues_the_one_before() -> None:
    source = "one = '''(?:a\n    |b\n  |c)'''\nnumber = 3\nmany = ['''x\n y''']\n[in]\nwords = '''\na b\nc'''"
    assert parse_folded("t.toml", source) == {
        "one": "(?:a|b|c)",
        "number": 3,
        "many": ["xy"],
        "in": {"words": "a b\nc"},
    }


@given(st.lists(st.text("abc|()", min_size=1), min_size=1))
def test_what_is_folded_is_unfolded(parts: list[str]) -> None:
    source = "p = '''" + "\n    ".join(parts) + "'''\nn = 3"
    assert parse_folded("t.toml", source) == {"p": "".join(parts), "n": 3}


def test_what_is_no_toml_is_refused_by_its_name() -> None:
    with pytest.raises(PhronesisError, match=r"t\.toml is no TOML"):
        parse_folded("t.toml", "= 3")


def test_words_are_separated_by_commas() -> None:
    assert split_words("a, b\n  c,,d") == ["a", "b c", "d"]
