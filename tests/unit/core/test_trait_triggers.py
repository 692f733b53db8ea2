"""When a reflection is due: the first reason that holds, in a fixed order (NM-01)."""

from datetime import timedelta
from typing import Any

from phronesis.traits.laws.strength import NewMemories, ReflectionTrigger, Thresholds, due
from unit.core.kept_lane import moment

NOW = moment(10)
ORDER = ("force", "session_end", "first", "importance", "elapsed")


def asked(*, memories: int = 1, importance: int = 5, hours: float | None = 1.0, **said: bool) -> ReflectionTrigger:
    since = None if hours is None else NOW - timedelta(hours=hours)
    learned = NewMemories(memories=memories, importance=importance, since=since)
    return due(learned, NOW, Thresholds(), **said)


def test_why_it_is_due_or_not() -> None:
    cases: list[tuple[dict[str, Any], str, float | None]] = [
        ({}, "not_yet", None),
        ({"hours": None}, "first", None),
        ({"importance": 29}, "not_yet", None),
        ({"importance": 30}, "importance", 30.0),
        ({"hours": 24.0}, "elapsed", 24.0),
        ({"memories": 0, "importance": 0, "hours": 50.0}, "nothing_new", None),
        ({"memories": 0, "importance": 0, "hours": 50.0, "daily": True}, "elapsed", 50.0),
        ({"memories": 0, "importance": 0, "hours": None, "daily": True}, "nothing_new", None),
        ({"memories": 0, "importance": 0, "hours": None, "force": True}, "force", None),
    ]
    for given_, reason, value in cases:
        found = asked(**given_)
        assert (found.reason, found.value, bool(found)) == (reason, value, found.due), given_
        assert found.due == (reason in ORDER), given_
