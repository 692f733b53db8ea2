"""One text for one value, and nothing that would not come back."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import serialization
from phronesis.core.serialization import parse_folded, split_words
from phronesis.errors import InputError, PhronesisError, TooLarge

ANY_TEXT = st.text(st.characters(), max_size=6)  # lone surrogates too
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | st.integers(-(1 << 63) + 1, (1 << 63) - 1) | FLOATS | ANY_TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4), max_leaves=12
)


@given(VALUES)
def test_plain_is_what_comes_back(value: Any) -> None:
    once = serialization.plain(value, field="f")
    assert serialization.plain(once, field="f") == once
    back = serialization.decode(serialization.encode(once))
    assert serialization.encode(back) == serialization.encode(once)
    text = json.dumps(once, ensure_ascii=True)
    if json.loads(text) == once:  # else two surrogates were the halves of one character
        assert back == once


@given(st.dictionaries(ANY_TEXT, FLOATS, max_size=6))
def test_the_order_of_keys_does_not_matter(value: dict[str, float]) -> None:
    turned = dict(reversed(list(value.items())))
    one, other = (serialization.plain(each, field="f") for each in (value, turned))
    assert serialization.encode(one) == serialization.encode(other)
    assert serialization.digest(one) == serialization.digest(other)


@given(FLOATS)
def test_rounding_is_done_once_and_knows_no_minus_zero(value: float) -> None:
    once = serialization.round_stored(value)
    assert serialization.round_stored(once) == once
    assert (
        math.copysign(1, serialization.round_stored(-0.0)) == math.copysign(1, serialization.round_stored(-1e-12)) == 1
    )
    assert serialization.dumps(serialization.round_stored(-0.0)) == "0.0"


def nest(levels: int, value: Any) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def knot() -> Any:
    out: list[Any] = []
    out.append(out)
    return out


def test_what_would_not_come_back_is_refused_where_it_stands() -> None:
    cases: list[tuple[Any, str]] = [
        ({"a": [1, math.nan]}, "f.a[1]"),
        (1 << 63, "f"),
        (-(1 << 63), "f"),
        ({"a": {1: 2}}, "f.a"),
        (b"x", "f"),
    ]
    for bad, where in cases:
        with pytest.raises(InputError) as caught:
            serialization.plain(bad, field="f")
        assert caught.value.field == where, bad


def test_nesting_has_an_end() -> None:
    assert serialization.plain(nest(serialization.MAX_DEPTH, 1), field="f")
    for bad in (nest(serialization.MAX_DEPTH + 1, 1), knot()):
        with pytest.raises(InputError, match="levels deep"):
            serialization.plain(bad, field="f")


def test_lone_surrogates_are_escaped_and_other_text_is_not() -> None:
    assert serialization.encode({"é": "一"}) == '{"é":"一"}'.encode()
    assert serialization.encode("a\ud800é") == b'"a\\ud800\\u00e9"'
    assert serialization.decode(serialization.encode("a\ud800é")) == "a\ud800é"


def test_an_object_with_too_many_members_is_refused() -> None:
    full = {f"k{n}": None for n in range(serialization.MAX_KEYS)}
    assert serialization.plain([full, full], field="f") == [full, full]
    with pytest.raises(TooLarge, match=r"f.a has 10,001 members"):
        serialization.plain({"a": full | {"more": None}}, field="f")


# A folded string is the string that was folded.


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
