"""Words for relatives."""

from phronesis.core.values import plain_relative


def test_a_longer_word_is_the_plain_one() -> None:
    cases: list[tuple[str, str]] = [
        ("妹", "妹妹"),
        ("gf", "girlfriend"),
        ("sister in law", "sister-in-law"),
        ("sis in law", "sister-in-law"),
        ("Anna", "Anna"),
    ]
    for word, plain in cases:
        assert plain_relative(word) == plain, word
