"""Edits of JSON text: what is put in can be taken out, and every other byte stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.interfaces.hosts import json_text

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4)
COMMENTED = """{ // first
\t"a": [1, /* two */ 2,], "b": {},
}
"""


@given(OBJECTS, VALUES, st.sampled_from([None, 1, 2, "\t"]))
def test_what_is_put_in_can_be_taken_out(root: dict[str, Any], value: Any, indent: Any) -> None:
    text = json.dumps(root, indent=indent, ensure_ascii=False)
    added = json_text.put(text, ("added", "in"), value)
    assert json_text.parse(added).value == json.loads(added) == root | {"added": {"in": value}}
    assert json_text.put(added, ("added", "in"), value) == added
    assert json_text.drop(added, ("added",)) == text
    listed = json_text.extend(text, ("list",), [value, "ours"])
    fewer = json_text.drop_elements(listed, ("list",), lambda one: one == "ours")
    assert json.loads(fewer) == root | {"list": [one for one in [value] if one != "ours"]}


def test_comments_and_trailing_commas_stay() -> None:
    added = json_text.extend(json_text.put(COMMENTED, ("b", "c"), 1), ("a",), [3])
    assert json_text.parse(added).value == {"a": [1, 2, 3], "b": {"c": 1}}
    assert "// first" in added
    assert "/* two */" in added
    assert json_text.put(added, ("a",), "replaced").count("replaced") == 1
    first = json_text.drop_elements(added, ("a",), lambda one: one == 1)
    assert json_text.parse(first).value["a"] == [2, 3]
    assert json_text.drop(added, ("none",)) == json_text.drop_elements(added, ("none",), bool) == added
    assert json_text.raw(added, ("none",)) is None
    assert json_text.put_raw(added, ("none",), "1") == added


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{} {}", "more than one value"),
        ("{ /* open", "is not closed"),
        ("{a: 1}", "a key was expected"),
        ('{"a" 1}', "a colon was expected"),
        ('{"a": 1 "b": 2}', "a comma or }"),
        ("[1 2]", "a comma or ]"),
        ("", "Expecting value"),
    ],
)
def test_what_is_no_json_is_named(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        json_text.parse(text)


def test_a_place_in_no_object_is_refused() -> None:
    with pytest.raises(ValueError, match="a is no object"):
        json_text.put('{"a": 1}', ("a", "b"), 1)
    with pytest.raises(ValueError, match="a is no array"):
        json_text.extend('{"a": 1}', ("a",), [1])
