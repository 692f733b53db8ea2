"""Experiences in the log keep the label that the version they were written with gives them."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from phronesis.core.entries import Entry
from phronesis.experience.event_handlers import handlers
from phronesis.experience.laws.input import EVENTS, EXPERIENCE

LONG: dict[str, Any] = {"error": "The request was refused: " + "x " * 100}


def test_a_long_error_is_one_from_version_three_on() -> None:
    cases: list[tuple[int, str]] = [(1, "unknown"), (2, "unknown"), (3, "failure")]
    for version, label in cases:
        nei = {
            "attempt": "call the API",
            "source_type": "run",
            "source_ref": "r",
            "label": "unknown",
            "observations": LONG,
        }
        entry = Entry(
            id="e",
            lane_id=1,
            seq=1,
            verb=EXPERIENCE,
            handler_version=version,
            actor="agent",
            recorded_at=datetime(2026, 3, 2, tzinfo=UTC),
            payload={EVENTS: [nei]},
        )
        handler = next(one for one in handlers(None) if one.verb == EXPERIENCE)
        view = cast("Any", SimpleNamespace(scope_fields=dict))
        (item,) = handler.apply_of(version)(view, entry, cast("Any", {})).items
        assert item.label == label
