"""What a text must hold for an expression to match in it: what is given is true, and what is not plain is not given."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.conversation.extracting.parts import letter_of, parse, small, words
from phronesis.conversation.extracting.required import first_of, is_open, needs_of, starts_of, tokens_of

MACROS = {"be": words(["am", "is", "are"]), "job": words(["nurse", "vet tech"])}


def test_the_needs_of_a_pattern() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("(?:live|lives|resides) in .+", ["live lives resides", "in"]),
        ("(?:<be>) (?:very |so )*fond of .+", ["fond", "am is are", "of"]),
        ("(?:<be>) an? (?:<job>)s?", ["nurse nurses tech techs"]),
        ("在.{2,8}(?:上班|工作)", ["上班 工作", "在"]),
        ("(?:or )?.+", []),
        ("(?:a|.b) c", ["c"]),
        ("(?!no)yes", ["yes"]),
        (r"so{2} long", ["long"]),
    ]
    for source, needs in cases:
        found = needs_of(parse(source, MACROS), begins=True, ends=True)
        assert {frozenset(need.split()) for need in needs} == set(found)


def test_what_is_sought_within_a_text_needs_whole_words_only_between_edges() -> None:
    assert needs_of(parse(r"\bkidding\b", {}), begins=False, ends=False) == [frozenset(["kidding"])]
    assert needs_of(parse(r"\bkid", {}), begins=False, ends=False) == [frozenset(["kid*"])]
    assert is_open(["kid*"])
    assert not is_open(["*"])
    assert needs_of(parse("kidding", {}), begins=False, ends=False) == []


def test_the_characters_that_a_pattern_begins_with() -> None:
    cases: list[tuple[str, str | None]] = [
        ("(?:live|reside)s?", "lr"),
        ("(?:am )?based", "ab"),
        ("(?!no)yes", "y"),
        (r"\d{2}", "0123456789"),
        ("a{0,2}b", "ab"),
        ("(?i)[b-dX]", "bcdx"),
        ("(?:a)?", None),
        ("[^a]", None),
    ]
    for source, letters in cases:
        assert first_of(parse(source, {})) == (None if letters is None else frozenset(letters))


def test_an_expression_that_begins_with_marks_says_with_which() -> None:
    assert starts_of(parse(r"\s+and\s|[,;]\d", {})) == r"[\s,;]"
    assert starts_of(parse(r"\s*and", {})) is None


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
