"""When a reflection is due: the first reason that holds, in a fixed order (NM-01)."""

from datetime import timedelta
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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


def test_the_first_reason_that_holds_is_the_one() -> None:
    for force, ended, heavy, late in product([False, True], repeat=4):
        found = asked(importance=30 if heavy else 1, hours=30.0 if late else 1.0, force=force, session_ended=ended)
        names = {"force": force, "session_end": ended, "importance": heavy, "elapsed": late}
        assert found.reason == next((name for name in ORDER if names.get(name)), "not_yet"), names


@given(st.integers(0, 50), st.integers(0, 100), st.none() | st.floats(-5, 100), st.tuples(*[st.booleans()] * 3))
def test_without_new_memories_only_word_and_a_daily_visit_make_it_due(
    memories: int, importance: int, hours: float | None, said: tuple[bool, bool, bool]
) -> None:
    force, session_ended, daily = said
    found = asked(
        memories=memories, importance=importance, hours=hours, force=force, session_ended=session_ended, daily=daily
    )
    if force or session_ended:
        assert found.reason == ("force" if force else "session_end")
    elif not memories:
        assert found.due == (daily and hours is not None and round(hours, 3) >= 24)
    else:
        assert found.due == (hours is None or importance >= 30 or round(hours, 3) >= 24)
