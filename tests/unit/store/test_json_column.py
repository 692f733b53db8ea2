"""Stored JSON is read as Python's own reader reads it, of the same types to the last bit."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.serialization import dumps
from phronesis.store.dialects import loads

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
VALUES = st.recursive(SCALARS, lambda one: st.lists(one) | st.dictionaries(st.text(st.characters(codec=None)), one))


def same(one: Any, other: Any) -> bool:
    """Whether two values are written alike: which tells 1 from 1.0 and 0.0 from -0.0, and a NaN is like itself."""
    return json.dumps(one) == json.dumps(other)


@given(VALUES)
def test_what_json_writes_is_read_as_it_was(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        assert same(loads(text), json.loads(text))
    assert same(loads(json.dumps(value).encode()), value)


@given(VALUES.filter(lambda value: not any(word in json.dumps(value) for word in ("NaN", "Infinity"))))
def test_what_is_stored_is_read_as_it_was(value: Any) -> None:
    assert same(loads(dumps(value)), json.loads(dumps(value)))


def test_what_other_readers_read_otherwise() -> None:
    cases: list[str] = ["12345678901234567890123456789", "1e16", "0.1", '"\\ud83d"', "[" * 300 + "]" * 300]
    for text in cases:
        assert same(loads(text), json.loads(text)), text
