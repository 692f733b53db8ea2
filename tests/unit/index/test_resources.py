"""Sections as search documents: chunks that hold all of a text, each under its headings."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.index.projections import no_parts, own_words
from phronesis.resources.search import project_section
from phronesis.wiring.engines import find_engines

AT = datetime(2026, 1, 1, tzinfo=UTC)


def section(content: str, **data: Any) -> Item:
    return Item(id="s", kind="section", content=content, entry_id="e", recorded_at=AT, updated_at=AT, data=data)


@given(text=st.text(st.sampled_from("ab .\n。汉"), max_size=200).map(lambda one: one * 60))
def test_every_character_but_white_space_is_in_a_chunk_and_shown_from_its_place(text: str) -> None:
    item = section(text, title="T", path=["H"])
    seen = [False] * len(text)
    for part in project_section(item):
        start = int(part.part.removeprefix("chunk:"))
        assert part.text is not None
        words = part.text.partition("\n")[2]
        assert text[start : start + len(words)] == words
        assert own_words(item, part.part, part.text).startswith(words)
        seen[start : start + len(words)] = [True] * len(words)
    assert all(there or text[place].isspace() for place, there in enumerate(seen))


def test_documents_are_searched_by_nothing_and_ended_sections_neither() -> None:
    projector = find_engines().projector
    assert projector.by_kind["document"] is no_parts
    assert projector.by_kind["section"] is project_section
    assert projector.parts(section("Boil it.")) != []
    assert projector.parts(section("Boil it.").with_fields({"ended": "superseded"})) == []
