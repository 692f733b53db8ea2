"""Payloads of experiences: attempt and source are required, and a wrong field is named."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis.errors import InputError
from phronesis.experience.laws.input import NEI, checked_nei

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRIED = {"attempt": "pin it", "source_ref": "log:1"}


def test_a_wrong_field_is_named() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"observations": [float("nan")]}, "observations[0]"),
        ({"occurred_at": "soon"}, "occurred_at"),
        ({"occurred_at": NOW + timedelta(days=2)}, "occurred_at"),
        ({"episode_id": "e", "seq": -1}, "seq"),
        ({"hints": "failed"}, "hints"),
        ({"hints": {"artifacts": [{"type": "planet", "name": "Mars"}]}}, "hints.artifacts"),
        ({"field_origin": {"attempt": "robot"}}, "field_origin"),
    ]
    for given, field in cases:
        with pytest.raises(InputError) as refused:
            checked_nei({**TRIED, **given}, now=NOW)
        assert refused.value.field == field, given


def test_what_is_missing_says_what_is_needed() -> None:
    with pytest.raises(InputError, match=r"attempt is missing.*source_ref") as refused:
        checked_nei({"source_ref": "log:1"}, now=NOW)
    assert refused.value.field == "attempt"
    with pytest.raises(InputError, match="NEI or a mapping") as refused:
        checked_nei("pinned it", now=NOW)
    assert refused.value.field == "nei"


def test_an_input_may_be_a_record() -> None:
    said = NEI(
        attempt="pin it",
        source_ref="log:1",
        label="failure",
        episode_id="e",
        seq=0,
        hints={"failed": True},
        observations={"exit_code": 1},
        field_origin={"attempt": "human", "goal": "model"},
    )
    assert checked_nei(said, now=NOW) == {
        **TRIED,
        "label": "failure",
        "source_type": "manual",
        "episode_id": "e",
        "seq": 0,
        "hints": {"failed": True},
        "observations": {"exit_code": 1},
        "field_origin": {"attempt": "human"},
    }
    assert (
        checked_nei(NEI(attempt="pin it", source_ref="log:1", occurred_at=NOW), now=NOW)["occurred_at"]
        == "2026-01-01T00:00:00Z"
    )
