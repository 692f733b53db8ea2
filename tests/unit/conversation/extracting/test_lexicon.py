"""No pattern is lost by trying only those whose words a text holds: the same is found as by trying them all."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis.conversation.extracting.lexicon import (
    Expression,
    Lexicon,
    Macros,
    _any_of,  # pyright: ignore[reportPrivateUsage]
)
from phronesis.conversation.extracting.tables import Language, Matched, PatternTable, load_language

CODES = ("en", "zh")


@cache
def language(code: str) -> Language:
    """Give a language's tables, once."""
    return load_language(code)


def expressions(code: str) -> Iterator[Expression]:
    """Give the expressions of a language outside its tables."""
    known = language(code)
    for section in (known.text, known.gates, known.only, known.never):
        yield from section.values()


def unfiltered(table: PatternTable, text: str, position: int) -> list[Matched]:
    """Give what every pattern of a table holds, each tried."""
    found = (table.match(n, text, position) for n in range(len(table.patterns)))
    return [one for one in found if one is not None]


@cache
def vocabulary(code: str) -> list[str]:
    """Give the words of a language's tables, in Chinese the runs of characters too, and marks."""
    source = (files("phronesis.conversation.extracting") / f"{code}.toml").read_text("utf-8")
    found = set(re.findall(r"[A-Za-z]{1,14}|[一-鿿]{1,6}", source))
    others = [",", ".", "'s", "’s", ":", "(", "!", "\ue000", "\ue001", "34", "１２", "2021", "ſ", "İ", "\u212a", "\n"]
    return [*sorted(found), *others]


def texts(code: str) -> st.SearchStrategy[str]:
    """Give texts of the tables' own words, in any case and width."""
    likely = ["I", "i", "my", "am", "is", "have", "to", "a", "the", "我", "的", "是", "在", "了", "不", "他"]
    word = st.one_of(st.sampled_from(vocabulary(code)), st.sampled_from(likely))
    changes: list[Callable[[str], str]] = [str, str, str, str.upper, str.title, lambda one: one.replace("a", "ａ")]
    put = st.sampled_from(changes)
    between = st.sampled_from([" ", " ", " ", "", "-", "  "]) if code == "en" else st.sampled_from(["", "", " "])
    return st.lists(st.tuples(word, put, between), min_size=1, max_size=14).map(
        lambda parts: "".join(change(one) + space for one, change, space in parts)
    )


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_tables_find_what_all_their_patterns_find(code: str, data: st.DataObject) -> None:
    text = data.draw(texts(code))
    position = data.draw(st.sampled_from([0, *(match.end() for match in re.finditer(r"\s|\w", text))]))
    for given_text in (text.lower(), text):
        for table in language(code).tables.values():
            assert list(table.matches(given_text, position)) == unfiltered(table, given_text, position)


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_other_expressions_find_what_they_would_by_themselves(code: str, data: st.DataObject) -> None:
    text = data.draw(texts(code))
    for one in expressions(code):
        alone = one.compiled()
        assert [match.span() for match in one.finditer(text)] == [match.span() for match in alone.finditer(text)]
        first, expected = one.search(text), alone.search(text)
        assert (first and first.span()) == (expected and expected.span())
        assert one.sub("<>", text, count=1) == alone.sub("<>", text, count=1)


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_each_pattern_is_found_in_what_is_made_for_it(code: str, data: st.DataObject) -> None:
    table = data.draw(st.sampled_from([one for one in language(code).tables.values() if one.patterns]))
    n = data.draw(st.integers(0, len(table.patterns) - 1))
    text = data.draw(st.from_regex(table.compiled(n), fullmatch=True, alphabet=st.characters(codec="utf-8")))
    expected = table.match(n, text)
    assert expected is None or expected in list(table.matches(text))


def test_most_patterns_need_something() -> None:
    for code in CODES:
        tried = [match for table in language(code).tables.values() for match in table.candidates("\ue000")]
        assert len(tried) <= 20  # of some 2,000


def test_an_expression_is_compiled_when_a_text_holds_what_it_needs() -> None:
    literals = Macros().of_expression("(?:no|never) more")
    one = Expression("here", lambda: "(?:no|never) more", Lexicon(), literals)
    assert one.search("once more") is None
    assert one.match("once more") is None
    found = one.search("no more")
    assert found is not None
    assert found[0] == "no more"


def test_words_that_share_their_beginnings_are_one_expression() -> None:
    words = ["a", "at", "atom", "bus", "bus driver", "c++"]
    found = re.compile(_any_of(words))
    assert [word for word in words if found.fullmatch(word)] == words
    assert not any(found.fullmatch(word) for word in ("", "ato", "bus d", "c+", "b"))
    assert _any_of(["one"]) == "(?:one)"
