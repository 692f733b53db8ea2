"""What may be an id and what may be a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import text
from phronesis.errors import InputError

ANY_TEXT = st.text(st.characters(), max_size=20)


@given(ANY_TEXT)
def test_storable_text_is_what_every_database_holds(given_text: str) -> None:
    out = text.replace_unstorable(given_text)
    assert len(out) == len(given_text)
    assert "\x00" not in out
    out.encode()
    assert text.replace_unstorable(out) == out
    assert all(b in {a, "\ufffd"} for a, b in zip(given_text, out, strict=True))


def test_ids_that_are_kept() -> None:
    cases: list[str] = ["a", "A\u030alice", " a", "用户", "x" * 256]
    for good in cases:
        assert text.check_id(good, field="f") == good, good


def test_ids_that_are_refused() -> None:
    cases: list[object] = [None, b"a", "", "a\n", "x" * 257]
    for bad in cases:
        with pytest.raises(InputError):
            text.check_id(bad, field="f")


def test_a_text_is_kept_with_every_character() -> None:
    odd = " \x00\ud800\u202e "
    assert text.check_text(odd, field="f") == odd
    assert text.check_text("x" * text.MAX_TEXT_LENGTH, field="f")
    assert text.check_text("", field="f", allow_empty=True) == ""


def test_texts_that_are_refused() -> None:
    cases: list[object] = [None, 5, b"x", "", " \n", "x" * (text.MAX_TEXT_LENGTH + 1)]
    for bad in cases:
        with pytest.raises(InputError) as caught:
            text.check_text(bad, field="f")
        assert len(str(caught.value)) < 200, bad
