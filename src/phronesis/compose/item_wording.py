"""Wording of items in a context: statements, cleaned messages, forms as text, and dates for relative time words.

"Last week" and 上周 are resolved against the day on which they were said.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import MINYEAR, UTC, datetime, timedelta, tzinfo
from typing import Final

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.data_delimiters import own_text
from phronesis.core.documents import SECTION
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import Item, Trust, statement
from phronesis.core.prospective import due_of
from phronesis.core.results import Evidence, Source
from phronesis.core.text import label, name_of, place, title
from phronesis.reasoning.laws.claim_status import current_block, readable_block
from phronesis.reasoning.laws.records import REASONING
from phronesis.recall.evidence import sources_of
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
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
    floating = _relative_positions(looked, said) | _relative_positions(looked, before)
    fixed = [one for one in times if (one.start, one.end) not in floating]
    told = dict.fromkeys(f"{label(looked[one.start : one.end])}: {_format_span(one)}" for one in fixed)
    if told:
        return "; ".join(list(told)[:MAX_SHOWN])
    return "" if dated else f"said {said.date().isoformat()}"


def _relative_positions(text: str, said: datetime) -> set[tuple[int, int]]:
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
    unit: Unit, lanes: Sequence[Lane], items: Sequence[Item], wanted: ReadConditions, zone: tzinfo = UTC
) -> dict[str, str]:
    """Return ``told_days`` for the items whose text names a relative time, by id."""
    timed = [item for item in items if told_days(item.content, said_at(item, zone=zone))]
    sources: dict[str, list[Source]] = {}
    for lane in lanes if timed else ():
        for item_id, found in sources_of(unit, lane.lane_id, timed, as_of=wanted.as_of).items():
            sources.setdefault(item_id, []).extend(one for one in found if one.quote is not None)
    return {item.id: told_days(item.content, said_at(item, sources.get(item.id, ()), zone=zone)) for item in timed}


def _format_span(time: TimeSpan) -> str:
    first, last = time.first.isoformat(), time.last.isoformat()
    if time.precision == "year" and first[:4] == last[:4]:
        return first[:4]
    if time.precision == "month" and first[:7] == last[:7]:
        return first[:7]
    return first if first == last else f"{first} – {last}"


# The text shown for an item: its statement, a cleaned message, or a structured form in words.

_IN_WORDS: Final[Mapping[str, Callable[[Item], str]]] = {REASONING: lambda item: readable_block(current_block(item))}


def words_of(item: Item) -> str:
    """Return the text that a context shows of an item."""
    in_words = _IN_WORDS.get(item.kind)
    if in_words is not None:
        return in_words(item)
    return own_text(item.content, hosts=False).text if item.kind == "message" else statement(item)


# Headings of memories in a context (citation, date, speaker, status, disputes), and short citation aliases.

# Short citation aliases: ``[m1]`` for ``[mem:<uuid>]``, numbered in order of appearance.

PREFIX: Final = "m"
"""Prefix of an alias; a number follows."""

_CITED: Final = re.compile(rf"\b(?:{CITATION_PREFIX}[\w-]+|policy:[0-9]+)")
_SAMPLE: Final = f"{PREFIX}100"
"""An alias of typical length, used to estimate a heading's cost before the numbers are known."""


def aliases(headings: Iterable[str]) -> dict[str, str]:
    """Return the alias of each citation in headings, numbered in their order."""
    found = dict.fromkeys(cited[0] for heading in headings for cited in _CITED.finditer(heading))
    return {citation: f"{PREFIX}{n}" for n, citation in enumerate(found, 1)}


def shorten_heading(heading: str, known: Mapping[str, str]) -> str:
    """Return a heading with aliases for citations."""
    return _CITED.sub(lambda cited: known.get(cited[0], cited[0]), heading)


def estimate_heading(heading: str) -> str:
    """Return a heading of about the length that it has with aliases."""
    return _CITED.sub(_SAMPLE, heading)


CITATIONS_SHOWN: Final = 3
"""Maximum citations before a block, and conflicts in a memory's heading; each costs about 25 tokens."""

_MAX_DEPTH: Final = 16
"""Maximum number of a section's headings that are read."""

_LINES: Final = re.compile(r"#(L[0-9]{1,9}(?:-L[0-9]{1,9})?)\Z")
"""The line suffix of a reference."""

_LONGEST_LINES: Final = len("#L-L") + 2 * 9

_NOWHERE: Final = "entry:"
"""Prefix of the address of a document without a URI."""


def heading_of(evidence: Evidence, zone: tzinfo = UTC) -> str:
    """Return the heading of a memory, on one line; it contains no text of the memory except cleaned names.

    A time without an offset is shown as a day of ``zone``.
    """
    item = evidence.item
    said = said_at(item, evidence.sources, zone=zone)
    about = [said.date().isoformat(), *_source(item)]
    if item.kind == SECTION:
        about += _section_place(item)
    if item.valid_to is not None:
        about.append(f"until {item.valid_to.date().isoformat()}")
    if item.ended:
        about.append(label(item.ended))
    due = due_of(item)
    about += [f"due {due.date().isoformat()}"] if due is not None else []
    days = told_days(item.content, said, dated=True) if item.kind != SECTION else ""
    where = _session(evidence) if evidence.conflicts else ""
    about += [f"session {where}"] if where else []
    marks = marks_of(evidence.conflicts, evidence.outdated_by)
    return f"{_format_citations(evidence)} ({'; '.join(filter(None, [', '.join(about), days, *marks]))})"


def marks_of(conflicts: Sequence[str], outdated_by: Sequence[str]) -> tuple[str, str]:
    """Return the marks of an item that others contradict, and may have outdated; each empty where there are none."""
    return _marked("disputed by", conflicts), _marked("possibly outdated by", outdated_by)


def _marked(mark: str, ids: Sequence[str]) -> str:
    named = ", ".join(f"mem:{identity}" for identity in ids[:CITATIONS_SHOWN])
    more = len(ids) - CITATIONS_SHOWN
    return f"{mark} {named}{f' and {more} more' if more > 0 else ''}" if ids else ""


def _format_citations(evidence: Evidence) -> str:
    """Return the citations of a memory and of its restatements, the newest first."""
    return " ".join(f"[mem:{one}]" for one in (evidence.item.id, *evidence.same)[:CITATIONS_SHOWN])


def _session(evidence: Evidence) -> str:
    """Return the session of a disputed memory, to distinguish its sources."""
    named = (source.session_id for source in evidence.sources if source.session_id is not None)
    return label(evidence.item.session_id or next(named, ""))


def _source(item: Item) -> list[str]:
    """Return the speaker, and the trust if it is below the user's and not implied by the speaker."""
    who = name_of(item.name or "") or label(item.role or "") or item.kind
    trust = item.trust.name.lower()
    return [who, trust] if item.trust < Trust.USER and trust != who else [who]


def _section_place(item: Item) -> list[str]:
    """Return a section's document and headings, and its address with lines."""
    path = item.data.get("path") or ()
    named = title([one for one in (item.data.get("title"), *path[-_MAX_DEPTH:]) if isinstance(one, str)])
    reference = item.source_ref or ""
    lines = _LINES.search(reference, max(0, len(reference) - _LONGEST_LINES))
    uri = item.data.get("uri")
    if not isinstance(uri, str):  # from another server
        uri = reference if lines is None else reference[: lines.start()]
    address = "" if uri.startswith(_NOWHERE) else place(uri)
    stands = " ".join(filter(None, [address, "" if lines is None else lines[1]]))
    return [one for one in (named, stands) if one]
