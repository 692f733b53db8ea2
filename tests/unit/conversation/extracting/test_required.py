"""What a text must hold for an expression to match in it: what is given is true, and what is not plain is not given."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.extracting.parts import letter_of, parse, small
from phronesis.conversation.extracting.required import first_of, is_open, needs_of, starts_of, tokens_of


def test_what_cannot_be_read_is_refused() -> None:
    cases: list[str] = ["(", "(?P=x)", "(?x)a", "[a"]
    for source in cases:
        with pytest.raises(ValueError, match=r".*"):
            parse(source, {})


PIECES = ["a", "be", "ca ", " ", "I", "on", "一", "是二", "ſ", r"\d", "[ab]", "[^a]", r"\b", ".", r"\s", r"[\d,]", "-"]
PATTERNS = st.recursive(
    st.sampled_from(PIECES),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        inner.map(lambda one: f"(?:{one})?"),
        inner.map(lambda one: f"(?:{one})+"),
        inner.map(lambda one: f"(?:{one}){{2}}"),
        inner.map(lambda one: f"(?!{one})"),
        inner.map(lambda one: f"(?<!{one[:1]})" if one[:1].isalpha() else f"(?:{one})"),
    ),
    max_leaves=8,
)
TEXTS = st.lists(st.sampled_from([*"abceion I是一二ſıK١,-", "be", "ca ", "a", "是二"]), max_size=12).map("".join)


@given(pattern=PATTERNS, text=TEXTS, flag=st.sampled_from(["", "(?i)"]))
def test_whatever_matches_holds_what_is_needed(pattern: str, text: str, flag: str) -> None:
    part = parse(flag + pattern, {})
    low = small(text)
    tokens = set(tokens_of(low))
    found = re.search(flag + pattern, text)
    if found is not None:
        for need in needs_of(part, begins=False, ends=False):
            assert tokens & need or any(one[:-1] in low for one in need if is_open([one]))
        first = first_of(part)
        assert first is None or letter_of(text, found.start()) in first
        starts = starts_of(part)
        assert starts is None or re.match(starts, found[0])
    whole = re.match(f"{flag}(?:{pattern})[ .!]*$", text)
    if whole is not None:
        assert all(is_open(need) or tokens & need for need in needs_of(part, begins=True, ends=True))
