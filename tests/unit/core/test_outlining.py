"""Headings become sections that stand in order, do not overlap, and have words of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.documents import Section
from phronesis.resources.laws import outline
from phronesis.resources.laws.outline import Heading, first_headings, has_words, sections_of

TEXT = "Before.\n# A\nOf a.\n## B\n### C\nOf c.\n# D\n"


def heading(title: str, *, level: int, text: str = TEXT) -> Heading:
    start = text.index("#" * level + " " + title)
    return Heading(level, title, start, text.index("\n", start))


HEADINGS = [heading("A", level=1), heading("B", level=2), heading("C", level=3), heading("D", level=1)]


def test_the_path_is_made_of_the_headings_above() -> None:
    found = [(section.path, TEXT[section.start : section.end]) for section in sections_of(TEXT, HEADINGS)]
    assert found == [((), "Before."), (("A",), "Of a."), (("A", "B", "C"), "Of c.")]


def test_an_untitled_heading_ends_what_is_above() -> None:
    text = "a\nb\nc\n"
    headings = [Heading(1, "A", 0, 0), Heading(2, "B", 2, 2), Heading(0, "", 4, 4)]
    assert sections_of(text, headings) == (Section(("A",), 0, 1), Section(("A", "B"), 2, 3), Section((), 4, 5))


def test_a_text_of_headings_alone_is_one_section() -> None:
    assert sections_of("# A\n", [Heading(1, "A", 0, 3)]) == (Section((), 0, 3),)
    assert sections_of("---\n", []) == ()


def test_a_long_section_is_several_of_one_path() -> None:
    text = ("    " + "word " * 300 + "\n\n") * 20 + "_ " * 4_100
    found = sections_of(text, [Heading(1, "T", 0, 0)])
    assert len(found) == 4  # what holds no word is none
    assert {section.path for section in found} == {("T",)}
    assert all(section.end - section.start <= outline.MAX_SECTION + 4 for section in found)
    assert all(text[section.start :].startswith("    word") for section in found[:-1])


def test_the_deepest_headings_go_first_when_there_are_too_many() -> None:
    count = outline.MAX_SECTIONS
    text = "ab" * (count + 20)
    many = [Heading(1 + (n % 10 > 0), f"h{n}", 2 * n, 2 * n) for n in range(count + 20)]
    assert {section.path for section in sections_of(text, many)} == {(f"h{n}",) for n in range(0, count + 20, 10)}
    flat = [Heading(1, f"h{n}", 2 * n, 2 * n) for n in range(count + 20)]
    found = sections_of(text, flat)
    assert len(found) == count
    assert found[-1].end == len(text)


def test_so_many_headings_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "MAX_HEADINGS", 2)
    assert first_headings(iter(HEADINGS)) == HEADINGS[:2]


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
