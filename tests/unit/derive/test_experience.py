"""Payloads of experiences: attempt and source are required, and a wrong field is named."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from phronesis.derive.experience import experience_payload
from phronesis.errors import InputError

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TRIED = {"attempt": "pin it", "source_ref": "log:1"}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"attempt": None}, "attempt"), ({"source_ref": None}, "source_ref"), ({"attempt": ""}, "attempt"),
        ({"source_ref": 7}, "source_ref"), ({"situation": []}, "situation"), ({"label": "great"}, "label"),
        ({"label": ["success"]}, "label"), ({"source_type": ""}, "source_type"),
        ({"observations": [float("nan")]}, "observations[0]"), ({"occurred_at": "soon"}, "occurred_at"),
        ({"occurred_at": NOW + timedelta(days=2)}, "occurred_at"), ({"attempts": "typo"}, "attempts"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        experience_payload({**TRIED, **given}, now=NOW)
    assert refused.value.field == field


def test_the_label_is_unknown_and_the_source_by_hand_unless_said() -> None:
    assert experience_payload({**TRIED, "goal": None}, now=NOW) == {
        **TRIED, "label": "unknown", "source_type": "manual",
    }  # fmt: skip
