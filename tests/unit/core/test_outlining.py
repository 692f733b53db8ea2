"""Headings become sections that stand in order, do not overlap, and have words of their own."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.resources.laws import outline
from phronesis.resources.laws.outline import Heading, has_words, sections_of

TEXT = "Before.\n# A\nOf a.\n## B\n### C\nOf c.\n# D\n"


def heading(title: str, *, level: int, text: str = TEXT) -> Heading:
    start = text.index("#" * level + " " + title)
    return Heading(level, title, start, text.index("\n", start))


HEADINGS = [heading("A", level=1), heading("B", level=2), heading("C", level=3), heading("D", level=1)]


def test_the_path_is_made_of_the_headings_above() -> None:
    found = [(section.path, TEXT[section.start : section.end]) for section in sections_of(TEXT, HEADINGS)]
    assert found == [((), "Before."), (("A",), "Of a."), (("A", "B", "C"), "Of c.")]


def test_a_long_section_is_several_of_one_path() -> None:
    text = ("    " + "word " * 300 + "\n\n") * 20 + "_ " * 4_100
    found = sections_of(text, [Heading(1, "T", 0, 0)])
    assert len(found) == 4  # what holds no word is none
    assert {section.path for section in found} == {("T",)}
    assert all(section.end - section.start <= outline.MAX_SECTION + 4 for section in found)
    assert all(text[section.start :].startswith("    word") for section in found[:-1])


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


def test_the_deepest_headings_go_first_when_there_are_too_many() -> None:
    count = outline.MAX_SECTIONS
    text = "ab" * (count + 20)
    many = [Heading(1 + (n % 10 > 0), f"h{n}", 2 * n, 2 * n) for n in range(count + 20)]
    assert {section.path for section in sections_of(text, many)} == {(f"h{n}",) for n in range(0, count + 20, 10)}
    flat = [Heading(1, f"h{n}", 2 * n, 2 * n) for n in range(count + 20)]
    found = sections_of(text, flat)
    assert len(found) == count
    assert found[-1].end == len(text)
