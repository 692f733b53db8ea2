"""A folded pattern is the pattern that was folded, and a piece stands for its text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.pattern_tables import Pieces, parse_folded
from phronesis.errors import PhronesisError


def test_a_line_that_begins_with_a_space_continues_the_one_before() -> None:
    source = "one = '''(?:a\n    |b\n  |c)'''\nmany = ['''x\n y''']\n[in]\nwords = '''\na b\nc'''"
    assert parse_folded("t.toml", source) == {"one": "(?:a|b|c)", "many": ["xy"], "in": {"words": "a b\nc"}}


@given(st.lists(st.text("abc|()", min_size=1), min_size=1))
def test_what_is_folded_is_unfolded(parts: list[str]) -> None:
    source = "p = '''" + "\n    ".join(parts) + "'''\nn = 3"
    assert parse_folded("t.toml", source) == {"p": "".join(parts), "n": 3}


def test_what_is_no_toml_is_refused_by_its_name() -> None:
    with pytest.raises(PhronesisError, match=r"t\.toml is no TOML"):
        parse_folded("t.toml", "= 3")


def test_a_piece_stands_for_its_text_in_patterns_and_later_pieces() -> None:
    pieces = Pieces.of("t.toml", {"one": "a|b", "two": "(?:<one>)c"})
    assert pieces.expanded("(?P<two><two>)$") == "(?P<two>(?:a|b)c)$"
    assert pieces.compiled("it", "<two>$") == re.compile("(?:a|b)c$")
    assert pieces.compiled("it", "<two>", re.IGNORECASE).fullmatch("BC") is not None


def test_what_is_wrong_is_said_with_the_file_and_the_pattern() -> None:
    with pytest.raises(PhronesisError, match=r"t\.toml: there is no piece <two>, in '<two>c'"):
        Pieces.of("t.toml", {"one": "<two>c", "two": "d"})
    with pytest.raises(PhronesisError, match=r"t\.toml: a pattern of 'it' is no regular expression"):
        Pieces.of("t.toml", {}).compiled("it", "(a")
