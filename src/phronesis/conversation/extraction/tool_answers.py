"""Calendar entries in what a tool answers as JSON: a title and a start make an appointment."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from phronesis.conversation.extraction.memory_types import MemoryTypes
from phronesis.core.calendar import find_times
from phronesis.core.proposals import USER, Proposal

CONFIDENCE: Final = 0.9
"""Of what a tool states in fields: the gate's threshold for tools."""

MAX_EVENTS: Final = 20

TITLES: Final = ("title", "summary", "subject", "event", "name", "标题", "主题", "名称")
STARTS: Final = (
    "start",
    "start_time",
    "starts_at",
    "start_date",
    "date",
    "when",
    "begin",
    "开始",
    "开始时间",
    "时间",
    "日期",
)
"""Fields of a calendar's answer."""


def is_json(text: str) -> bool:
    """Return whether a text looks like an object or a list of JSON."""
    return text.lstrip().startswith(("{", "["))


def appointments(n: int, text: str, at: datetime, types: MemoryTypes) -> list[Proposal]:
    """Return the appointments in a tool's answer; none where it is no JSON or no calendar."""
    row = types.find("appointment")
    try:
        found = list(_events(json.loads(text)))
    except (ValueError, RecursionError):
        return []
    proposals = []
    for title, start in found[:MAX_EVENTS]:
        place, times = text.find(title), find_times(start, at)
        if row is None or place < 0 or not times:
            continue
        proposals.append(
            Proposal(
                n=n,
                quote=title,
                start=place,
                end=place + len(title),
                kind=row.kind,
                subject=USER,
                key=row.key,
                content=f"{title} ({start})",
                value=title,
                cardinality=row.cardinality,
                basis="tool",
                confidence=CONFIDENCE,
                importance=row.importance,
                occurred_at=f"{times[0].first.isoformat()}T00:00:00Z",
            )
        )
    return proposals


def _events(answer: Any) -> Iterator[tuple[str, str]]:
    """Yield titles and starts: of an object, of a list of them, or of a field that holds a list."""
    if isinstance(answer, list):
        for one in answer[:MAX_EVENTS]:
            yield from _events(one)
    elif isinstance(answer, dict):
        said = {str(key).lower(): value for key, value in answer.items() if isinstance(value, str)}
        title, start = _first(said, TITLES), _first(said, STARTS)
        if title is not None and start is not None:
            yield title, start
            return
        for value in answer.values():
            if isinstance(value, list):
                yield from _events(value)


def _first(said: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((said[name] for name in names if said.get(name, "").strip()), None)
