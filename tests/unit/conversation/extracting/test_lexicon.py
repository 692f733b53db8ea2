"""No pattern is lost by trying only those whose words a text holds: the same is found as by trying them all."""

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis.conversation.extracting.lexicon import (
    Expression,
    Lexicon,
    Macros,  # pyright: ignore[reportPrivateUsage]
)
from phronesis.conversation.extracting.tables import Language, load_language

CODES = ("en", "zh")


@cache
def language(code: str) -> Language:
    """Give a language's tables, once."""
    return load_language(code)


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
