"""The letters a match can begin with: what is given is true, and what is not plain is not given."""

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.derive.extracting.first_letters import first_letters, words_after_slot


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("live in", "l"), ("(?:live|reside)s?", "lr"), ("(?:am )?based", "ab"), ("(?:a|)b", "ab"),
        ("(?P<p1_x>yes)", "y"),
        ("(?!no)yes", "y"), (r"\bso", "s"), (r"\d{2}", "0123456789"), ("a{0,2}b", "ab"),
        ("a*?b", "ab"), (r"\+?1", "+1"),
        ("(?:[xy])?b", None), (".", None), ("[ab]c", None), ("(?:a)?", None), (r"\w", None), ("", None),
        ("a(?:[)]|b)", "a"), (r"a(?:\))", "a"), ("(?<=x)a", "a"),
    ],
)  # fmt: skip
def test_the_letters_of_a_pattern(pattern: str, letters: str | None) -> None:
    assert first_letters(pattern) == (None if letters is None else frozenset(letters))


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "ca", r"\d", "[ab]", ".", r"\b"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda one: f"(?:{one})?"),
        inner.map(lambda one: f"(?!{one})"),
    ),
    max_leaves=6,
)


@given(pattern=PATTERNS, text=st.text(alphabet=string.ascii_lowercase[:4] + "1 ", max_size=5))
def test_whatever_matches_begins_with_one_of_them(pattern: str, text: str) -> None:
    letters = first_letters(pattern)
    found = re.match(pattern, text)
    assert letters is None or found is None or text[:1] in letters


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("{thing} is my hobby", {"is"}),
        ("{thing=[a-z]{2,4}} (?:is|are) (?:my|our) hobby", {"is", "are"}),
        ("{thing} makes? me happy", {"make", "makes"}),
        ("{thing} (?:(?:done|taken care of))", {"done", "taken"}),
        ("{thing}是我的", None),
        ("my {thing} is", None),
        ("{thing} (?:is)?", None),
        ("{thing} .+", None),
        ("{thing}", None),
    ],
)
def test_the_words_of_which_one_must_stand_after_the_first_slot(pattern: str, words: set[str] | None) -> None:
    assert words_after_slot(pattern) == (None if words is None else frozenset(words))
