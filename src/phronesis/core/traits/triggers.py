"""When a reflection is due (requirement NM-01): by what was learned since the last one, by time, or by word."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from phronesis.core.plain import Record

IMPORTANCE_DUE: Final = 30
"""The sum of new memories' importance, 1–10 each, that makes a reflection due (NM-01)."""

HOURS_DUE: Final = 24.0
"""Hours since the last one that make a reflection due where there is anything new (NM-01)."""

Reason = Literal["force", "session_end", "first", "importance", "elapsed", "nothing_new", "not_yet"]

_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """How much, or how long, makes a reflection due."""

    importance: int = IMPORTANCE_DUE
    hours: float = HOURS_DUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What was learned since the last reflection: how many memories, the sum of their importance, and since when.

    ``since`` is None where there was none before.
    """

    memories: int
    importance: int
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due(Record):
    """Whether a reflection is due, and why: true and false stand for themselves.

    ``reason`` is the first that holds: force, session_end, first, importance, elapsed; else nothing_new or not_yet.
    ``importance`` is the sum over the ``new_memories``, ``hours`` how long ago the last reflection was (None: never);
    ``importance_due`` and ``hours_due`` are what would be enough.
    """

    due: bool
    reason: Reason
    importance: int
    importance_due: int
    hours: float | None
    hours_due: float
    new_memories: int

    def __bool__(self) -> bool:
        return self.due

    @property
    def value(self) -> float | None:
        """The figure behind the reason: the importance reached, or the hours passed; None where none decides."""
        return {"importance": float(self.importance), "elapsed": self.hours}.get(self.reason)


def due(
    learned: Learned,
    now: datetime,
    thresholds: Thresholds,
    *,
    force: bool = False,
    session_ended: bool = False,
    daily: bool = False,
) -> Due:
    """Say whether a reflection is due at ``now``.

    Without new memories it is only by force, at a session's end, or at a worker's ``daily`` visit: then time alone is
    looked at, and no model is asked.
    """
    hours = None if learned.since is None else round((now - learned.since) / _HOUR, 3)  # what is told is what decides
    late = hours is not None and hours >= thresholds.hours
    reason: Reason = "not_yet" if learned.memories else "nothing_new"
    held: dict[Reason, bool] = {
        "force": force,
        "session_end": session_ended,
        "first": bool(learned.memories) and learned.since is None,
        "importance": bool(learned.memories) and learned.importance >= thresholds.importance,
        "elapsed": late and (bool(learned.memories) or daily),
    }
    found = next((name for name, holds in held.items() if holds), None)
    return Due(
        due=found is not None, reason=found or reason, importance=learned.importance,
        importance_due=thresholds.importance, hours=hours,
        hours_due=thresholds.hours, new_memories=learned.memories,
    )  # fmt: skip
