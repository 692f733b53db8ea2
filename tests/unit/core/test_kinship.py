"""Words for relatives."""

import pytest

from phronesis.core.values import plain_relative


@pytest.mark.parametrize(
    ("word", "plain"),
    [("妹", "妹妹"), ("妹妹", "妹妹"), ("gf", "girlfriend"), ("sister in law", "sister-in-law"),
     ("sis in law", "sister-in-law"), ("mother-in-law", "mother-in-law"), ("Anna", "Anna")],
)  # fmt: skip
def test_a_longer_word_is_the_plain_one(word: str, plain: str) -> None:
    assert plain_relative(word) == plain
