"""Search documents: every character of an item is in one, and they move only when words do."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.changes import ResolvedChanges
from phronesis.core.items import Item
from phronesis.index.projections import (
    CHUNK_CHARACTERS,
    CHUNK_OVERLAP,
    WHOLE,
    Part,
    Projector,
    in_words,
    match_id,
    of_content,
    part_name,
    whole,
)
from phronesis.index.tokens import pack_terms, tokenize
from phronesis.traits.search import project_trait

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


def test_a_new_item_is_searched_with_what_it_is_about() -> None:
    [row], closed = Projector().project(settled((item(subject="Bob", key="city"),)), {}, seq=3)
    assert closed == []
    assert row.terms == pack_terms(tokenize("Bob city Alice lives in Kyoto"))
    assert (row.part, row.text, row.version, row.changed_seq, row.current_to) == (WHOLE, None, 1, 3, None)


def test_what_is_not_live_has_no_documents() -> None:
    cases: list[dict[str, Any]] = [{"status": "archived"}, {"ended": "retracted"}, {"quarantine": "rule"}]
    for hidden in cases:
        before = item()
        after = before.changed(hidden, at=AT + timedelta(seconds=1))
        assert Projector().project(settled((item(**hidden),)), {}, seq=1) == ([], [])
        assert Projector().project(settled(updated=(after,)), {"i": before}, seq=2) == ([], ["i"])
        back = after.changed(dict.fromkeys(hidden, None) | {"status": "active"}, at=AT + timedelta(seconds=2))
        [row], closed = Projector().project(settled(updated=(back,)), {"i": after}, seq=3)
        assert (row.version, closed) == (3, ["i"])


def test_what_enters_as_history_was_never_current() -> None:
    past = item(ended="superseded", ended_by="j", valid_to=AT)
    [row], closed = Projector().project(settled(created=(past,)), {}, seq=4)
    assert (row.current_to, closed) == (row.current_from, [])
    hidden = item(ended="superseded", ended_by="j", valid_to=AT, quarantine="r")
    assert Projector().project(settled(created=(hidden,)), {}, seq=4) == ([], [])


def trait(stage: str | None, **more: Any) -> Item:
    return item("Plans ahead", kind="trait", stage=stage, **more)


def test_a_traits_document_begins_and_ends_with_its_stage() -> None:
    projector = Projector({"trait": project_trait})
    guess = trait("candidate")
    assert projector.project(settled((guess,)), {}, seq=1) == ([], [])
    surer = guess.changed({"confidence": 0.2}, at=AT + timedelta(seconds=1))
    assert projector.project(settled(updated=(surer,)), {"i": guess}, seq=2) == ([], [])
    risen = surer.changed({"stage": "emerging"}, at=AT + timedelta(seconds=2))
    [row], _ = projector.project(settled(updated=(risen,)), {"i": surer}, seq=3)
    assert row.current_from == 2_000_000 + int(AT.timestamp()) * 1_000_000
    fallen = risen.changed({"stage": "dissolved"}, at=AT + timedelta(seconds=3))
    assert projector.project(settled(updated=(fallen,)), {"i": risen}, seq=4) == ([], ["i"])


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


def test_a_part_has_a_name_and_an_id() -> None:
    cases: list[tuple[str, str, str, bool]] = [
        ("whole", "whole", "i", True),
        ("chunk:3800", "chunk", "i::chunk::3800", True),
        ("prose", "prose", "i", False),
        ("claim:c1", "claim", "i::claim::c1", False),
        ("claim:a:b", "claim", "i::claim::a:b", False),
    ]
    for part, name, shown, of_it in cases:
        assert (part_name(part), match_id("i", part), of_content(part)) == (name, shown, of_it)
