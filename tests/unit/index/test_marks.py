"""What is read off a text when it is projected."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from phronesis.core.items import Item
from phronesis.index.packed_features import asks, marks_of
from phronesis.recall.scoring.packed_features import (
    ASKS,
    FROM_ASSISTANT,
    FROM_USER,
    NAMES_TIME,
    SAID,
    SHARES_PHOTO,
    Marks,
)

AT = datetime(2023, 5, 10, 8, tzinfo=UTC)


def item(content: str, **more: Any) -> Item:
    fields = {"id": "i", "kind": "message", "entry_id": "e", "recorded_at": AT, "updated_at": AT, **more}
    return Item(content=content, **fields)


def marks(content: str, **more: Any) -> Marks:
    return marks_of(item(content, **more), content)


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("Where is it?", ASKS), ("在哪儿？", ASKS), ("Look! [shares a photo: a cat]", SHARES_PHOTO),
        ("![plot](a.png)", SHARES_PHOTO), ("【图片】看", SHARES_PHOTO), ("I went yesterday", NAMES_TIME),
        ("我昨天去的", NAMES_TIME),
    ],
)  # fmt: skip
def test_what_a_text_does(text: str, flag: int) -> None:
    assert marks(text).flags == SAID | flag


def test_plain_words_do_nothing() -> None:
    assert marks("Tea, please.", importance=3) == Marks(SAID, AT.toordinal(), (), 3)


def test_roles_and_kinds() -> None:
    assert marks("Hello", role="user").flags == SAID | FROM_USER
    assert marks("Hello", role="assistant").flags == SAID | FROM_ASSISTANT
    assert marks("Hello", kind="fact").flags == 0


@pytest.mark.parametrize(("given", "kept"), [(-3, 1), (0, 1), (10, 10), (999, 10)])
def test_an_importance_beyond_its_ends_counts_as_the_end(given: int, kept: int) -> None:
    assert marks("Hello", importance=given).importance == kept


@pytest.mark.parametrize(
    ("kind", "stage", "lifted"),
    [
        ("message", None, (7, 0)),
        ("trait", "candidate", (7, 0)),
        ("trait", None, (7, 0)),
        ("trait", "emerging", (7, 1)),
        ("trait", "established", (7, 2)),
        ("trait", "core", (7, 3)),
        ("reasoning", None, (0, 0)),
    ],
)  # fmt: skip
def test_what_lifts_a_memory_is_its_importance_and_a_traits_stage(
    kind: str, stage: str | None, lifted: tuple[int, int]
) -> None:
    found = marks("Hello", kind=kind, stage=stage, importance=7)
    assert (found.importance, found.stage) == lifted


def test_a_note_after_the_question_mark_does_not_hide_it() -> None:
    assert asks("Is this yours? [shares a photo: a hat]")
    assert not asks("It is mine. [is it?]")


def test_relative_times_count_from_when_it_was_said() -> None:
    said = datetime(2022, 3, 5, tzinfo=UTC)
    found = marks("We met yesterday, and again in May 2021.", occurred_at=said)
    may = (date(2021, 5, 1).toordinal(), date(2021, 5, 31).toordinal())
    assert found.day == said.toordinal()
    assert found.dates == ((said.toordinal() - 1, said.toordinal() - 1), may)


@pytest.mark.parametrize("text", ["[" * 50_000, "![" * 20_000, " " * 50_000 + "?", "a [" + "x" * 50_000])
def test_hostile_text_takes_no_time(text: str) -> None:
    marks(text)
