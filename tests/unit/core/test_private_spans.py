"""Private spans: what of a text is left for a store or a search."""

import pytest

from phronesis.core.private_spans import without_private, without_private_values


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no span </private> here", "no span </private> here"),
        ("a <private>b</private> c <PRIVATE>d</PRIVATE> e", "a [private] c [private] e"),
        ("a <private>b<private>c</private>d</private> e", "a [private] e"),
        ("a <private>b", "a [private]"),
        ("a <private>b<private>c</private> d", "a [private]"),
        ("a < private\n>b< / Private > c", "a [private] c"),
        ("一＜private＞二＜／private＞三", "一[private]三"),
    ],
)
def test_a_span_is_hidden_to_its_own_end(text: str, left: str) -> None:
    assert without_private(text) == left


def test_the_texts_of_json_data_lose_their_spans() -> None:
    given = {"a<private>b": [1, None, {"c": "d <private>e</private>"}]}
    assert without_private_values(given) == {"a[private]": [1, None, {"c": "d [private]"}]}
