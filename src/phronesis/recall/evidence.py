"""From found rows to Evidence: items, the part that matched, and where each comes from."""

from collections.abc import Mapping, Sequence

from phronesis.core.changes import Delta
from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.results import Source
from phronesis.storage.database import Unit
from phronesis.storage.deltas import deltas_of_items, edits_of_items
from phronesis.storage.items import read_items
from phronesis.storage.lanes import get_lane
from phronesis.storage.relations import read_evidence

LEARNED_KINDS = frozenset({"trait", "pattern", "principle"})
"""Kinds that only learning makes, from evidence."""

SNIPPET_CHARACTERS = 240
"""Length of a snippet: two or three sentences, what a list of results can show of each."""


def snippet(text: str, words: Sequence[str] = ()) -> str:
    """Give the stretch of ``text`` around the first of ``words`` that it holds, or its beginning."""
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET_CHARACTERS:
        return flat
    lowered = flat.casefold()
    places = [place for place in (lowered.find(word) for word in words) if place >= 0]
    start = max(0, min(places, default=0) - SNIPPET_CHARACTERS // 4)
    end = start + SNIPPET_CHARACTERS
    return ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")


def own_source(item: Item, *, quote: str | None = None) -> Source:
    """Give where an item was said: the entry that made it, and its words then (default: as they still are)."""
    return Source(
        entry_id=item.entry_id, source_ref=item.source_ref, session_id=item.session_id, message_id=item.message_id,
        occurred_at=item.occurred_at, quote=item.content if quote is None else quote,
    )  # fmt: skip


def _stated(item: Item, deltas: Sequence[Delta]) -> list[Source]:
    """The entry that made an item with its words then, and the entry that gave it the words it has now.

    Words that came with evidence are among what that evidence names.
    """
    changed = [delta for delta in deltas if "content" in delta.patch]
    if not changed:
        return [own_source(item)]
    first = own_source(item, quote=changed[0].patch["content"][0])
    edits = [delta for delta in changed if not (delta.evidence_added or delta.evidence_removed)]
    if not edits or item.content == first.quote:  # taken back
        return [first]
    return [first, Source(entry_id=edits[-1].entry_id, occurred_at=edits[-1].recorded_at, quote=item.content)]


def known_evidence(
    unit: Unit, lane_id: int, item_ids: Sequence[str], *, as_of: int | None = None
) -> dict[str, list[EvidenceRow]]:
    """Give the evidence of items, by item; with ``as_of`` (microseconds) without what came later."""
    found = read_evidence(unit, lane_id, item_ids)
    if as_of is None:
        return found
    return {item: [row for row in rows if to_micros(row.recorded_at) <= as_of] for item, rows in found.items()}


def sources_of(
    unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None = None
) -> Mapping[str, list[Source]]:
    """Give each item's sources: what its evidence quotes or names; for what states itself, its own entry first.

    The entry that made a learned item is the act of learning, not a source of it: without evidence it has none. What
    was taken from messages has those messages, each with the words it was taken from; what was learned from memories
    has those, as they were first said. ``as_of`` a time (microseconds) the items are given as they were then, and
    nothing that came later is a source.
    """
    rows = known_evidence(unit, lane_id, [item.id for item in items if item.kind != "message"], as_of=as_of)
    edited = _edits(unit, lane_id, [item for item in items if item.kind not in LEARNED_KINDS], rows, as_of)
    learned_of = {item.id for item in items if item.kind in LEARNED_KINDS}
    quoted = _quoted(unit, lane_id, [row for found in rows.values() for row in found
                                     if row.span_start is not None or row.item_id in learned_of])  # fmt: skip
    out: dict[str, list[Source]] = {}
    for item in items:
        found = sorted(rows.get(item.id, ()), key=lambda row: (row.recorded_at, row.span_start or 0, row.source_key))
        said = [row for row in found if row.polarity == "source"]
        if said:  # confirmations count what stands among the sources already
            itself = own_source(item)
            own = [row for row in said if row.source_item_id is None and row.source_entry_id == item.entry_id]
            out[item.id] = [itself] * bool(own) + [_source(row, quoted) for row in said if row not in own]
            continue
        learned = [_source(row, quoted) for row in found if row.polarity == "support"]
        stated = [] if item.kind in LEARNED_KINDS else _stated(item, edited.get(item.id, ()))
        out[item.id] = stated + learned
    return out


def _edits(
    unit: Unit, lane_id: int, items: Sequence[Item], rows: Mapping[str, Sequence[EvidenceRow]], as_of: int | None
) -> Mapping[str, Sequence[Delta]]:
    """Give what `_stated` asks for of the items that state themselves, up to a time (microseconds)."""
    stated = [item.id for item in items
              if item.version > 1 and not any(row.polarity == "source" for row in rows.get(item.id, ()))]  # fmt: skip
    edits = _by(edits_of_items(unit, lane_id, stated), as_of) if stated else {}
    unsure = [one for one, found in edits.items() if not all(_words_came(delta) for delta in found)]
    return {**edits, **_by(deltas_of_items(unit, lane_id, unsure), as_of)} if unsure else edits


def _by(found: Mapping[str, Sequence[Delta]], moment: int | None) -> Mapping[str, Sequence[Delta]]:
    """Give the deltas, by item, that were recorded by ``moment``; all for None."""
    if moment is None:
        return found
    return {one: [delta for delta in deltas if to_micros(delta.recorded_at) <= moment] for one, deltas in found.items()}


def _words_came(delta: Delta) -> bool:
    """Whether a delta with which evidence came or went changed the words too, as where they are folded it does."""
    counted = delta.op != "create" and (delta.evidence_added or delta.evidence_removed)
    return not counted or "content" in delta.patch


def _quoted(unit: Unit, lane_id: int, rows: Sequence[EvidenceRow]) -> Mapping[str, tuple[Item, str]]:
    """Give the items that evidence quotes, by id, each with its words as they were said, before any edit."""
    ids = [row.source_item_id for row in rows if row.source_item_id is not None]
    found = read_items(unit, get_lane(unit, lane_id), ids) if ids else {}
    edited = deltas_of_items(unit, lane_id, [item.id for item in found.values() if item.version > 1])
    out: dict[str, tuple[Item, str]] = {}
    for item in found.values():
        edits = [delta.patch["content"][0] for delta in edited.get(item.id, ()) if "content" in delta.patch]
        out[item.id] = (item, str(edits[0]) if edits else item.content)
    return out


def _source(row: EvidenceRow, quoted: Mapping[str, tuple[Item, str]]) -> Source:
    message, words = quoted.get(row.source_item_id or "", (None, ""))
    return Source(
        entry_id=row.source_entry_id or row.entry_id, source_ref=row.source_ref, occurred_at=row.occurred_at,
        session_id=message.session_id if message is not None else None,
        message_id=message.message_id if message is not None else None,
        quote=words[row.span_start : row.span_end] if message is not None else None,
    )  # fmt: skip
