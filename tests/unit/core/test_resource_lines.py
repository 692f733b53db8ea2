"""Lines of stretches of a text."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.resources.laws.outline import Lines


def test_a_stretch_is_on_the_lines_of_its_words() -> None:
    """Blank lines around it do not count."""
    text = "one\n\ntwo\nthree\n\n"
    lines = Lines.of(text)
    assert lines.between(3, len(text)) == (3, 4)
    assert lines.between(0, 3) == (1, 1)
    assert lines.between(4, 5) == (3, 3)


@given(st.text(alphabet="a \n", max_size=40), st.data())
def test_lines_are_those_that_splitting_gives(text: str, data: st.DataObject) -> None:
    """Each word stands where counting line feeds before it says."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = Lines.of(text).between(start, end)
    words = text[start:end]
    if words.strip():
        assert first == text.count("\n", 0, start + len(words) - len(words.lstrip())) + 1
        assert last == first + words.strip().count("\n")
