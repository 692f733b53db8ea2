"""What is read off a text when it is projected."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from growth import assert_linear, repeated
from phronesis.core.items import Item
from phronesis.index.packed_features import marks_of
from phronesis.recall.scoring.packed_features import ASKS, NAMES_TIME, SAID, SHARES_PHOTO, Marks

AT = datetime(2023, 5, 10, 8, tzinfo=UTC)


def item(content: str, **more: Any) -> Item:
    fields = {"id": "i", "kind": "message", "entry_id": "e", "recorded_at": AT, "updated_at": AT, **more}
    return Item(content=content, **fields)


def marks(content: str, **more: Any) -> Marks:
    return marks_of(item(content, **more), content)


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


def test_what_lifts_a_memory_is_its_importance_and_a_traits_stage() -> None:
    cases: list[tuple[str, str | None, tuple[int, int]]] = [
        ("message", None, (7, 0)),
        ("trait", "candidate", (7, 0)),
        ("trait", None, (7, 0)),
        ("trait", "emerging", (7, 1)),
        ("trait", "established", (7, 2)),
        ("trait", "core", (7, 3)),
        ("reasoning", None, (0, 0)),
    ]
    for kind, stage, lifted in cases:
        found = marks("Hello", kind=kind, stage=stage, importance=7)
        assert (found.importance, found.stage) == lifted


def test_relative_times_count_from_when_it_was_said() -> None:
    said = datetime(2022, 3, 5, tzinfo=UTC)
    found = marks("We met yesterday, and again in May 2021.", occurred_at=said)
    may = (date(2021, 5, 1).toordinal(), date(2021, 5, 31).toordinal())
    assert found.day == said.toordinal()
    assert found.dates == ((said.toordinal() - 1, said.toordinal() - 1), may)


@pytest.mark.parametrize("piece", ["[", "![", " ?"])
def test_the_time_goes_with_the_length(piece: str) -> None:
    assert_linear(marks, repeated(piece), 50_000)
