"""What is read off a text when it is projected."""

from datetime import UTC, datetime
from typing import Any

import pytest

from growth import assert_linear, repeated
from phronesis.core.items import Item
from phronesis.index.tokens import marks_of
from phronesis.recall.scoring.lane_arrays import ASKS, NAMES_TIME, SAID, SHARES_PHOTO, Marks

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


@pytest.mark.parametrize("piece", ["[", "![", " ?"])
def test_the_time_goes_with_the_length(piece: str) -> None:
    assert_linear(marks, repeated(piece), 50_000)
