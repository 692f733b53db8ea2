"""Headings become sections that stand in order, do not overlap, and have words of their own."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.resources.laws.outline import Heading, has_words, sections_of


@given(st.text(max_size=300), st.data())
def test_sections_are_disjoint_and_in_order(text: str, data: st.DataObject) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    spans = zip(places[::2], places[1::2], strict=False)
    headings = [
        Heading(data.draw(st.integers(0, 4)), data.draw(st.text(max_size=5)), start, end) for start, end in spans
    ]
    found = sections_of(text, headings)
    assert bool(found) == any(char.isalnum() for char in text)
    end = 0
    for section in found:
        assert end <= section.start < section.end <= len(text)
        assert has_words(text, section.start, section.end)
        assert all(title.strip() == title != "" for title in section.path)
        end = section.end
