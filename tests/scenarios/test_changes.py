"""Labelled changes (.build/labelled/changes_*.jsonl): what is held and what ended, after messages in their order."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS
from phronesis import Memory
from phronesis.conversation.extraction.memory_types import load_memory_types
from scenarios.story_told import USER, Row, matched, row, rows_held, turns_of

LABELLED = LABELLED_TEXTS
LATER = datetime(2028, 1, 1, tzinfo=UTC)  # the labelled messages reach into 2027


def expected(case: Mapping[str, Any]) -> Iterator[Row]:
    """Give a case's table; a person's other name is no row of its own."""
    types = load_memory_types()
    disputed = [one for pair in case.get("disputed") or () for one in pair]
    stated = [(one, "live") for one in case["live"] if one["key"] != "alias"]
    for one, state in (
        *stated,
        *((one, one["ended"]) for one in case["ended"]),
        *((one, "disputed") for one in disputed),
    ):
        yield row(types, "", one["subject"], one["key"], value=one["value"], state=state)


def told(case: Mapping[str, Any]) -> list[Row]:
    with Memory.open("sqlite://", policy={"embedder": "none"}, clock=lambda: LATER) as memory:
        for messages in turns_of(case):
            memory.commit_turn("s", {"messages": messages}, user_id=USER)
        return rows_held(memory)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "tables"), [("en", 29), ("zh", 22)])
def test_changes_end_what_they_change_and_nothing_else(language: str, tables: int) -> None:
    lines = (LABELLED / f"changes_{language}.jsonl").read_text("utf-8").splitlines()
    right = wrongly_ended = 0
    superseded: list[bool] = []
    for case in map(json.loads, lines):
        table = list(expected(case))
        extra, missing = matched(told(case), table)
        right += not extra and not missing
        superseded += [one not in missing for one in table if one[3] == "superseded"]
        wrongly_ended += sum(still_held(one, extra) for one in missing)
    assert wrongly_ended == 0
    assert sum(superseded) / len(superseded) >= 0.55
    assert right >= tables, f"{right} of {len(lines)} tables are right"


def still_held(missing: Row, extra: Sequence[Row]) -> bool:
    """Whether what should be held is there as something that ended."""
    return missing[3] == "live" and any(one[:3] == missing[:3] and one[3] != "live" for one in extra)
