"""Wording of items in a context: statements, headings with citations, excerpts, and dates for relative time words.

"Last week" and 上周 are resolved against the day on which they were said.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import MINYEAR, UTC, datetime, timedelta, tzinfo
from typing import Final

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.context import Block
from phronesis.core.data_delimiters import strip_contexts
from phronesis.core.entries import SECTION
from phronesis.core.ids import CITATION_PREFIX
from phronesis.core.items import Item, Trust, due_of, statement
from phronesis.core.results import Evidence, Source
from phronesis.core.text import ELLIPSIS, clean, label, name_of, place, title
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


def dates_of_relative_times(text: str, said: datetime, *, dated: bool = False) -> str:
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
    """Return ``dates_of_relative_times`` for the items whose text names a relative time, by id."""
    timed = [item for item in items if dates_of_relative_times(item.content, said_at(item, zone=zone))]
    sources: dict[str, list[Source]] = {}
    for lane in lanes if timed else ():
        for item_id, found in sources_of(unit, lane.lane_id, timed, as_of=wanted.as_of).items():
            sources.setdefault(item_id, []).extend(one for one in found if one.quote is not None)
    return {
        item.id: dates_of_relative_times(item.content, said_at(item, sources.get(item.id, ()), zone=zone))
        for item in timed
    }


def _format_span(time: TimeSpan) -> str:
    first, last = time.first.isoformat(), time.last.isoformat()
    if time.precision == "year" and first[:4] == last[:4]:
        return first[:4]
    if time.precision == "month" and first[:7] == last[:7]:
        return first[:7]
    return first if first == last else f"{first} – {last}"


# The text shown for an item: its statement, a cleaned message, or a structured form in words.


def words_of(item: Item) -> str:
    """Return the text that a context shows of an item."""
    if item.kind == REASONING:
        return readable_block(current_block(item))
    return strip_contexts(item.content, hosts=False).text if item.kind == "message" else statement(item)


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
    days = dates_of_relative_times(item.content, said, dated=True) if item.kind != SECTION else ""
    if evidence.conflicts:  # to distinguish its sources
        named = (source.session_id for source in evidence.sources if source.session_id is not None)
        where = label(item.session_id or next(named, ""))
        about += [f"session {where}"] if where else []
    marks = marks_of(evidence.conflicts, evidence.outdated_by)
    # The citations of a memory and of its restatements, the newest first.
    citations = " ".join(f"[mem:{one}]" for one in (item.id, *evidence.same)[:CITATIONS_SHOWN])
    return f"{citations} ({'; '.join(filter(None, [', '.join(about), days, *marks]))})"


def marks_of(conflicts: Sequence[str], outdated_by: Sequence[str]) -> tuple[str, str]:
    """Return the marks of an item that others contradict, and may have outdated; each empty where there are none."""
    return _marked("disputed by", conflicts), _marked("possibly outdated by", outdated_by)


def _marked(mark: str, ids: Sequence[str]) -> str:
    named = ", ".join(f"mem:{identity}" for identity in ids[:CITATIONS_SHOWN])
    more = len(ids) - CITATIONS_SHOWN
    return f"{mark} {named}{f' and {more} more' if more > 0 else ''}" if ids else ""


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


# Truncating a text to a number of tokens around the matched part, at the end of a sentence or word.

Count = Callable[[str], int]

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""Characters per token beyond which a text is cut before it is counted, to bound the cost. Prose has 1 to 6."""

_SAMPLED_CHARACTERS_PER_TOKEN: Final = 4
"""Size of the sample, per token of the limit, that estimates a huge text's characters per token."""

_SENTENCE_END: Final = re.compile(r"[。！？；…\n]|[.!?;](?=\s)")
_WORD_END: Final = re.compile(r"\s")
_OPENING_WINDOW: Final = 4
"""Window in which an opening is searched, as a multiple of its length."""
_SENTENCE_SHARE: Final = 0.6
"""Minimum share of the room that a cut at a sentence's end must use; otherwise the cut is at a word's end."""
_WORD_SHARE: Final = 0.8
_CAUTION: Final = 0.97
"""Tokens are not spread evenly over a text: the first cut aims slightly below the limit, which saves a count."""
_ZWJ: Final = "\u200d"


def excerpt(text: str, *, snippet: str = "", start: int | None = None, limit: int, count: Count) -> tuple[str, bool]:
    """Return at most ``limit`` tokens of ``text``, cleaned, and whether something was left out.

    A long text is shown from the sentence that holds ``snippet``; if the snippet is not part of it (a paraphrase, a
    claim), the snippet is shown instead. If ``start`` gives the matched range, it is shown from there, unless the
    snippet would then be cut off. An ellipsis marks each end that was cut. Empty if not even that fits.
    """
    uncut = fit_whole(text, limit=limit, count=count)
    if uncut is not None:
        return uncut, False
    if limit <= 0:
        return "", True
    window = limit * MAX_CHARACTERS_PER_TOKEN
    sample = clean(text if len(text) <= window else text[: limit * _SAMPLED_CHARACTERS_PER_TOKEN])
    room = len(sample) * limit / max(1, count(sample))
    if start is None:
        if snippet not in text:
            text = snippet
        at = text.find(snippet)
        near = at + len(snippet) < room * _SENTENCE_SHARE
        begin = 0 if near else _sentence_start(text, at, reach=int(room / 4))
    else:
        begin = _from(text, snippet.strip(ELLIPSIS), start, room)
    cut = text[begin : begin + window]
    return _shorten((ELLIPSIS if begin else "") + clean(cut), begin + len(cut) < len(text), limit, count), True


def _from(text: str, snippet: str, start: int, room: float) -> int:
    """Return the start of the excerpt: the matched range, or the sentence of a snippet that ends beyond the room."""
    start = start if start < len(text) else 0
    at = text.find(snippet, start)
    if at < 0 or at + len(snippet) - start <= room:
        return start
    return max(start, _sentence_start(text, at, reach=int(room / 4)))


def first_sentence(text: str, *, most: int) -> str:
    """Return the first sentence of ``text`` on one line, or as much of it as fits ``most`` characters."""
    flat = " ".join(text[: _OPENING_WINDOW * most].split())
    end = _SENTENCE_END.search(flat)
    first = (flat if end is None else flat[: end.end()]).strip()
    return first if len(first) <= most else first[: _before_marks(first, most - 1)].rstrip() + ELLIPSIS


def fit_whole(text: str, *, limit: int, count: Count) -> str | None:
    """Return ``text`` cleaned, or None if it is longer than ``limit`` tokens; a huge text is not counted."""
    if len(text) > max(0, limit) * MAX_CHARACTERS_PER_TOKEN:
        return None
    shown = clean(text)
    return shown if count(shown) <= limit else None


def _shorten(text: str, more: bool, limit: int, count: Count) -> str:
    """Return a prefix of nearly as many tokens as fit, with an ellipsis if anything follows."""
    shown = text + ELLIPSIS if more else text
    tokens = count(shown)
    end = len(text)
    while tokens > limit and end > 0:
        end = _good_end(text, int(end * _CAUTION * limit / tokens))
        shown = text[:end].rstrip() + ELLIPSIS
        tokens = count(shown)
    return shown if tokens <= limit and end > 0 else ""


def _good_end(text: str, end: int) -> int:
    """Return the last end of a sentence up to ``end``, or of a word, or ``end`` itself, never within a character."""
    for pattern, share in ((_SENTENCE_END, _SENTENCE_SHARE), (_WORD_END, _WORD_SHARE)):
        found = [match.end() for match in pattern.finditer(text, int(end * share), end + 1) if match.end() <= end]
        if found:
            return found[-1]
    return _before_marks(text, end)


def _before_marks(text: str, end: int) -> int:
    lowest = max(0, end - MAX_CHARACTERS_PER_TOKEN)
    while lowest < end < len(text) and (
        unicodedata.category(text[end]).startswith("M") or _ZWJ in (text[end], text[end - 1])
    ):
        end -= 1
    return end


def _sentence_start(text: str, at: int, *, reach: int) -> int:
    """Return the start of the sentence around ``at``, at most ``reach`` characters before it; else a word's start."""
    lowest = max(0, at - reach)
    for pattern in (_SENTENCE_END, _WORD_END):
        found = [match.end() for match in pattern.finditer(text, lowest, at)]
        if found:
            return found[-1] + len(text[found[-1] : at]) - len(text[found[-1] : at].lstrip())
    return at


MIN_EXCERPT: Final = 48
"""Minimum tokens of an excerpt: a shorter one would cost more in headings than it says."""


def fit_text(text: str, limit: int, *, cut: bool, count: Count) -> tuple[str | None, bool]:
    """Return the whole text, or with ``cut`` an excerpt of a useful length, or None; and whether it was cut."""
    uncut = fit_whole(text, limit=limit, count=count) if limit >= 0 else None
    if uncut is not None:
        return uncut, False
    if not cut or limit < MIN_EXCERPT:
        return None, False
    return excerpt(text, limit=limit, count=count)[0] or None, True


# Who said a turn.

PLAIN_ROLES: Final = frozenset({"user", "assistant"})
"""Roles that a recent turn may keep in a list of messages; any other is shown as data under the user's role."""
_NAMED_ROLES: Final = PLAIN_ROLES | {"system", "developer", "tool", "function"}


def is_separate_turn(block: Block) -> bool:
    """Return whether a recent turn keeps its role in a list of messages."""
    return block.role in PLAIN_ROLES and not block.fenced


def speaker(block: Block) -> str:
    """Return the attributes of a turn's tag: its role, and its name if it has one."""
    # An unknown role is not shown: after cleaning it could read "user".
    role = block.role if block.role in _NAMED_ROLES else "other"
    name = name_of(block.name or "")
    return f'role="{"quoted " if block.fenced else ""}{role}"' + (f' name="{name}"' if name else "")


def message_prefix(block: Block) -> str:
    """Return the name before a user's message; None for the assistant's, because a model would imitate it."""
    name = name_of(block.name or "") if block.role == "user" else ""
    return f"{name}: " if name else ""
