"""Wording of items in a context: statements, cleaned messages, forms as text, and dates for relative time words.

"Last week" and 上周 are resolved against the day on which they were said.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import MINYEAR, UTC, datetime, timedelta, tzinfo
from typing import Final

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.data_delimiters import own_text
from phronesis.core.items import Item, statement
from phronesis.core.results import Source
from phronesis.core.text import label
from phronesis.reasoning.laws.block_format import told
from phronesis.reasoning.laws.claim_status import current_block
from phronesis.reasoning.laws.records import REASONING
from phronesis.recall.evidence import sources_of
from phronesis.store.database import Unit
from phronesis.store.eligible import Wanted
from phronesis.store.lanes import Lane

MAX_SHOWN: Final = 3
"""Maximum number of times in one text that are explained."""

_MAX_LOOKED_AT: Final = 2_000
"""Number of characters of a text that are scanned for times."""

_DAY: Final = timedelta(days=1)
_STATED: Final = ("message", "section", "document")
"""Kinds whose ``occurred_at`` is when they were said; for extracted items it is when the fact held."""


def told_days(text: str, said: datetime, *, dated: bool = False) -> str:
    """Return the dates of a text's relative times: ``last week: 2025-11-10 – 2025-11-16``; empty if it has none.

    For a time before or after the day of the statement ("on Monday") that day is given, unless the line is ``dated``
    with it.
    """
    looked = text[:_MAX_LOOKED_AT]
    times = [one for one in find_times(looked, said) if one.relative]
    if not times:
        return ""
    before = said - _DAY if said.year > MINYEAR else said  # said on a Monday, "on Monday" is read as today
    floating = _floating(looked, said) | _floating(looked, before)
    fixed = [one for one in times if (one.start, one.end) not in floating]
    told = dict.fromkeys(f"{label(looked[one.start : one.end])}: {_written(one)}" for one in fixed)
    if told:
        return "; ".join(list(told)[:MAX_SHOWN])
    return "" if dated else f"said {said.date().isoformat()}"


def _floating(text: str, said: datetime) -> set[tuple[int, int]]:
    """Return the positions of times whose last and next occurrences are different days."""
    last, following = (
        {(one.start, one.end): one.first for one in find_times(text, said, lean=lean)} for lean in (-1, 1)
    )
    return {place for place in last.keys() | following.keys() if last.get(place) != following.get(place)}


def said_at(item: Item, sources: Sequence[Source] = (), *, zone: tzinfo = UTC) -> datetime:
    """Return when an item was said, in the original offset; for extracted items from ``sources``.

    Without them it is when the item was recorded. Times without an offset are shown in ``zone``.
    """
    at = item.occurred_at or item.recorded_at
    if item.kind not in _STATED and item.source_type == "chat":
        named = [one.occurred_at for one in sources if one.occurred_at is not None]
        at = named[0] if named else item.recorded_at
    return item.local(at, zone)


def days_of_items(
    unit: Unit, lanes: Sequence[Lane], items: Sequence[Item], wanted: Wanted, zone: tzinfo = UTC
) -> dict[str, str]:
    """Return ``told_days`` for the items whose text names a relative time, by id."""
    timed = [item for item in items if told_days(item.content, said_at(item, zone=zone))]
    sources: dict[str, list[Source]] = {}
    for lane in lanes if timed else ():
        for item_id, found in sources_of(unit, lane.lane_id, timed, as_of=wanted.as_of).items():
            sources.setdefault(item_id, []).extend(one for one in found if one.quote is not None)
    return {item.id: told_days(item.content, said_at(item, sources.get(item.id, ()), zone=zone)) for item in timed}


def _written(time: TimeSpan) -> str:
    first, last = time.first.isoformat(), time.last.isoformat()
    if time.precision == "year" and first[:4] == last[:4]:
        return first[:4]
    if time.precision == "month" and first[:7] == last[:7]:
        return first[:7]
    return first if first == last else f"{first} – {last}"


# The text shown for an item: its statement, a cleaned message, or a structured form in words.

_IN_WORDS: Final[Mapping[str, Callable[[Item], str]]] = {REASONING: lambda item: told(current_block(item))}


def words_of(item: Item) -> str:
    """Return the text that a context shows of an item."""
    in_words = _IN_WORDS.get(item.kind)
    if in_words is not None:
        return in_words(item)
    return own_text(item.content, hosts=False).text if item.kind == "message" else statement(item)
