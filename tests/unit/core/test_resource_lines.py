"""Lines of stretches of a text."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.resources.laws.outline import Lines


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
