"""From an event, or the reference of one, back to what was handed in: the raw text with its lines, payload and hints.

The log has kept them; nothing here is derived.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.entries import Entry, is_erased
from phronesis.core.experience.nei import EVENTS, EXPERIENCE, SOURCE
from phronesis.core.experience.records import L1
from phronesis.core.experience.results import EventSource
from phronesis.core.ids import CITATION_PREFIX, is_id, item_id
from phronesis.core.items import Item
from phronesis.core.scope import Scope
from phronesis.errors import InputError, NotFound
from phronesis.recall.lanes import visible_lanes
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Place, Wanted, items_before
from phronesis.storage.items import lane_of_item, read_items
from phronesis.storage.lanes import get_lane
from phronesis.storage.log import find_entry
from phronesis.truth.reader import fit, load_entry

ENTRY: Final = "entry:"
"""What the reference of a text begins with that nobody named."""

_LINES: Final = re.compile(r"(?P<whole>.+?)(?:#L(?P<first>[0-9]{1,9})(?:-L(?P<last>[0-9]{1,9}))?)?", re.DOTALL)
_PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference taken apart: what it names, and the lines of it."""

    whole: str
    lines: tuple[int, int] | None

    @classmethod
    def read(cls, text: str) -> "Reference":
        """Read ``build.log``, ``build.log#L3`` or ``build.log#L3-L7``."""
        found = _LINES.fullmatch(text)
        if found is None or found["first"] is None:
            return cls(text, None)
        return cls(found["whole"], (int(found["first"]), int(found["last"] or found["first"])))


def find_source(unit: Unit, scope: Scope, named: str) -> EventSource:
    """Give the source of an event by its id, or by a reference; NotFound where there is none."""
    event = _by_id(unit, named.removeprefix(CITATION_PREFIX))
    if event is not None:
        return _of_event(unit, event)
    reference = Reference.read(named)
    if reference.whole.startswith(ENTRY):
        return replace(_of_entry(unit, reference.whole.removeprefix(ENTRY), reference.lines), source_ref=named)
    exact = next(_events(unit, scope, {"source_ref": named}), None)
    if exact is not None:
        return _of_event(unit, exact)
    begins = f"{reference.whole}#L"
    for near in _events(unit, scope, {"source_ref": {"contains": begins}}):
        if str(near.source_ref).startswith(begins):
            return replace(_of_entry(unit, near.entry_id, reference.lines), source_ref=named)
    raise NotFound(f"no event here has the id or the source_ref {named!r:.120}; name the user or namespace whose it is",
                   field="id")  # fmt: skip


def _by_id(unit: Unit, named: str) -> Item | None:
    lane_id = lane_of_item(unit, named) if is_id(named) else None
    if lane_id is None:
        return None
    item = read_items(unit, get_lane(unit, lane_id), [named])[named]
    if item.kind != L1:
        raise InputError(f"id is that of a {item.kind}, which was not handed in as an event; explain says what it rests"
                         " on", field="id")  # fmt: skip
    return item


def _events(unit: Unit, scope: Scope, filters: dict[str, Any]) -> Iterator[Item]:
    """Give the events that a scope sees, the newest of each lane first; what was archived or has ended too."""
    told = {**filters, "status": {"in": ["active", "archived"]}}
    wanted = Wanted(kinds=[L1], filters=told)
    for lane in visible_lanes(unit, scope):
        before: Place | None = None
        while page := items_before(unit, lane, wanted, before, limit=_PAGE):
            yield from page
            before = Place.of(page[-1])


def _of_event(unit: Unit, event: Item) -> EventSource:
    """Give the source of an event, with its own lines or what it was told with."""
    entry = _loaded(unit, event.entry_id)
    if entry.verb == SOURCE:
        lines = event.data.get("lines")
        found = _of_text(entry, None if lines is None else (lines[0], lines[1]))
    else:
        found = _of_told(entry, event)
    return replace(found, event_id=event.id, source_ref=event.source_ref or "", source_type=event.source_type or "")


def _of_entry(unit: Unit, entry_id: str, lines: tuple[int, int] | None) -> EventSource:
    """Give the text of an entry, and some lines of it."""
    entry = _loaded(unit, entry_id) if is_id(entry_id) and find_entry(unit, entry_id) is not None else None
    if entry is None or entry.verb not in (SOURCE, EXPERIENCE):
        raise NotFound(f"there is no entry {entry_id!r:.60} in this tenant that took in a source", field="id")
    if entry.verb == EXPERIENCE:
        raise NotFound(f"entry {entry_id} was told, and has no text: give the id of an event that it made", field="id")
    return _of_text(entry, lines)


def _loaded(unit: Unit, entry_id: str) -> Entry:
    """Give an entry as it was interpreted: without characters that no database holds and no terminal prints."""
    entry = load_entry(unit, entry_id)
    return replace(entry, payload=fit(entry.payload))


def _of_text(entry: Entry, lines: tuple[int, int] | None) -> EventSource:
    payload = entry.payload
    if is_erased(payload):
        return _bare(entry, erased=True)
    excerpt = "" if lines is None else _excerpt(payload["text"], *lines)
    return replace(
        _bare(entry), source_type=payload["source_type"], source_ref=payload.get("source_ref") or f"{ENTRY}{entry.id}",
        name=payload.get("name", ""), text=payload["text"], lines=lines, excerpt=excerpt,
    )  # fmt: skip


def _excerpt(text: str, first: int, last: int) -> str:
    """Give the lines ``first`` to ``last`` of a text, counted as the readers of sources count them."""
    lines = text.split("\n")
    if not 1 <= first <= last <= len(lines):
        raise NotFound(f"the text has {len(lines):,} lines, and none from {first:,} to {last:,}", field="id")
    return "\n".join(lines[first - 1 : last])


def _of_told(entry: Entry, event: Item) -> EventSource:
    told: list[Any] = entry.payload.get(EVENTS) or []
    own = next((one for n, one in enumerate(told) if item_id(entry.id, L1, str(n)) == event.id), None)
    if own is None or is_erased(own):
        return _bare(entry, erased=True)
    return replace(_bare(entry), payload=own.get("payload"), observations=own.get("observations"),
                   hints=own.get("hints") or {})  # fmt: skip


def _bare(entry: Entry, *, erased: bool = False) -> EventSource:
    return EventSource(entry_id=entry.id, recorded_at=entry.recorded_at, actor=entry.actor, source_ref="",
                       erased=erased)  # fmt: skip
