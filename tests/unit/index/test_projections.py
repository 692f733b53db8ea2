"""Search documents: every character of an item is in one, they move only when words do, and what is read off them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.core.changes import ResolvedChanges
from phronesis.core.items import Item
from phronesis.index.projections import CHUNK_CHARACTERS, CHUNK_OVERLAP, WHOLE, Part, Projector, in_words, whole
from phronesis.index.tokens import marks_of
from phronesis.recall.scoring.text_properties import ASKS, NAMES_TIME, SAID, SHARES_PHOTO, Marks

AT = datetime(2026, 5, 1, tzinfo=UTC)


def item(content: str = "Alice lives in Kyoto", **more: Any) -> Item:
    fields = {"id": "i", "kind": "fact", "entry_id": "e", "recorded_at": AT, "updated_at": AT, **more}
    return Item(content=content, **fields)


@given(st.integers(0, 5 * CHUNK_CHARACTERS))
def test_chunks_cover_a_text_and_share_their_ends(length: int) -> None:
    text = "".join(chr(0x4E00 + n % 20_000) for n in range(length))
    parts = whole(item(text))
    if length <= CHUNK_CHARACTERS:
        assert parts == [Part(WHOLE, None)]
        return
    assert len({part.part for part in parts}) == len(parts)
    starts = [int(part.part.removeprefix("chunk:")) for part in parts]
    ends = [start + len(part.text or "") for start, part in zip(starts, parts, strict=True)]
    assert [text[start:end] for start, end in zip(starts, ends, strict=True)] == [part.text for part in parts]
    assert (starts[0], ends[-1]) == (0, length)
    assert all(end - start >= CHUNK_OVERLAP for end, start in zip(ends, starts[1:], strict=False))
    assert max(len(part.text or "") for part in parts) <= CHUNK_CHARACTERS


def settled(created: tuple[Item, ...] = (), updated: tuple[Item, ...] = ()) -> ResolvedChanges:
    return ResolvedChanges(created=created, updated=updated)


def test_new_words_make_a_new_document_from_then_on() -> None:
    after = item().changed({"content": "Alice lives in Osaka"}, at=AT + timedelta(seconds=1))
    [row], closed = Projector().project(settled(updated=(after,)), {"i": item()}, seq=2)
    assert closed == ["i"]
    assert row.current_from == 1_000_000 + int(AT.timestamp()) * 1_000_000
    [first], _ = Projector().project(settled((item(),)), {}, seq=1)
    assert row.id != first.id


def test_long_words_are_searched_in_pieces_and_none_have_no_document() -> None:
    assert in_words("") == []
    parts = in_words("x" * (CHUNK_CHARACTERS + 1))
    assert [part.part for part in parts] == ["prose:0", f"prose:{CHUNK_CHARACTERS - CHUNK_OVERLAP}"]


def marks(content: str, **more: Any) -> Marks:
    return marks_of(item(content, kind="message", **more), content)


def test_what_a_text_does() -> None:
    cases: list[tuple[str, int]] = [
        ("Where is it?", ASKS),
        ("在哪儿？", ASKS),
        ("Look! [shares a photo: a cat]", SHARES_PHOTO),
        ("![plot](a.png)", SHARES_PHOTO),
        ("【图片】看", SHARES_PHOTO),
        ("I went yesterday", NAMES_TIME),
        ("我昨天去的", NAMES_TIME),
    ]
    for text, flag in cases:
        assert marks(text).flags == SAID | flag


@pytest.mark.parametrize("piece", ["[", "![", " ?"])
def test_the_time_goes_with_the_length(piece: str) -> None:
    assert_linear(marks, repeated(piece), 50_000)
