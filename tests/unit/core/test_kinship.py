"""Words for relatives."""

from phronesis.core.values import plain_relative

LONGER_WORD_PLAIN: list[tuple[str, str]] = [
    ("妹", "妹妹"),
    ("gf", "girlfriend"),
    ("sister in law", "sister-in-law"),
    ("sis in law", "sister-in-law"),
    ("Anna", "Anna"),
]


def test_a_longer_word_is_the_plain_one() -> None:
    for word, plain in LONGER_WORD_PLAIN:
        assert plain_relative(word) == plain, word
