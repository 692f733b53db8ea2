"""Prospective memory: intentions and tasks, when they are due, and when they end (requirement NM-15).

An intention or a task may have a due time (``data.due``) and an end (``valid_to``). An item does not change when either
passes: a read compares them with its own time, so that no timer is needed and a read as of a time is exact. A due time
at midnight means the whole day, in the time zone of ``now``.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Final

from phronesis.core.items import Item
from phronesis.core.timestamps import parse_moment

DUE: Final = "due"
"""The member of an item's ``data`` with its due time, ISO 8601 in UTC."""

PROSPECTIVE: Final = ("intention", "task")
"""Kinds with a due time."""

COMING: Final = timedelta(days=1)
"""How long before its due time an item is shown (this project's choice: a day)."""

OVERDUE_SHOWN: Final = timedelta(days=14)
"""How long after its due time something without an end is shown in contexts (this project's choice): most of what
people say they will do is never said to be done. A list of what is due leaves nothing out."""

_DAY: Final = timedelta(days=1)
_LAST_DAY: Final = datetime(9999, 12, 31, tzinfo=UTC)


def due_of(item: Item) -> datetime | None:
    """Return when an item is due; None without a due time."""
    said = item.data.get(DUE)
    return parse_moment(said, field=DUE) if isinstance(said, str) and item.kind in PROSPECTIVE else None


def is_expired(item: Item, now: datetime) -> bool:
    """Return whether the end of an intention has passed."""
    return item.valid_to is not None and item.valid_to <= now


def surfaces(item: Item, now: datetime, within: timedelta = COMING) -> bool:
    """Return whether an item is due now or ``within`` a duration, and its end has not passed."""
    due = due_of(item)
    return due is not None and due - _clock(due, now) <= within and not is_expired(item, now)


def is_lapsed(item: Item, now: datetime) -> bool:
    """Return whether an item without an end has been overdue for so long that contexts no longer show it."""
    due = due_of(item)
    return due is not None and item.valid_to is None and _clock(due, now) - _end_of_due(due) > OVERDUE_SHOWN


def is_overdue(item: Item, now: datetime) -> bool:
    """Return whether the due time of an item has passed: of a due day, its end."""
    due = due_of(item)
    return due is not None and _clock(due, now) > _end_of_due(due)


def urgency(item: Item) -> tuple[datetime, int, datetime, str]:
    """Return the sort key of due items: the earliest first, then the more important, then the oldest."""
    due = due_of(item) or _LAST_DAY
    return due, -item.importance, item.recorded_at, item.id


def in_words(item: Item, now: datetime) -> str:
    """Return when an item is due, as text with absolute days; empty without a due time.

    A due time at midnight is that day, and passes when the day does: "due 2026-04-03", "was due 2026-04-02 10:00 UTC".
    """
    due = due_of(item)
    if due is None:
        return ""
    said = f"{'was due' if is_overdue(item, now) else 'due'} {_format_due(due)}"
    return said if item.valid_to is None else f"{said}; expires {_format_due(item.valid_to)}"


def _is_day(due: datetime) -> bool:
    return due.time() == time.min


def _clock(due: datetime, now: datetime) -> datetime:
    """Return the local time that a due day is compared with, or the time itself."""
    return now.replace(tzinfo=UTC) if _is_day(due) else now


def _end_of_due(due: datetime) -> datetime:
    """Return when a due time has passed; the last representable day has no end."""
    return due + _DAY if _is_day(due) and due < _LAST_DAY else due


def _format_due(moment: datetime) -> str:
    day = moment.date().isoformat()
    return day if _is_day(moment) else f"{day} {moment:%H:%M} UTC"
