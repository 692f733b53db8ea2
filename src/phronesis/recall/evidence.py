"""Evidence records: built from found rows, with contradicting, agreeing and earlier items attached."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from phronesis.core.changes import Delta
from phronesis.core.items import Item, statement
from phronesis.core.relations import OUTDATED_BY, Edge, EvidenceRow
from phronesis.core.results import Evidence, Source
from phronesis.core.timestamps import to_micros
from phronesis.index.tokens import question_terms
from phronesis.recall.as_of import created_by_entry, known_at, live_at
from phronesis.store.database import Unit
from phronesis.store.deltas import deltas_of_items, edits_of_items
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import read_items
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane
from phronesis.store.relations import read_edges, read_evidence
from phronesis.traits.laws.strength import is_recalled

if TYPE_CHECKING:
    from phronesis.recall.query import Query

# Building Evidence from found rows: items, matched parts and sources.

LEARNED_KINDS = frozenset({"trait", "pattern", "principle"})
"""Kinds that are only derived from evidence."""

SNIPPET_CHARACTERS = 240
"""Characters of a snippet: two or three sentences."""


def snippet(text: str, words: Sequence[str] = ()) -> str:
    """Return the part of ``text`` around the first of ``words`` that occurs, or its beginning."""
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET_CHARACTERS:
        return flat
    lowered = flat.casefold()
    places = [place for place in (lowered.find(word) for word in words) if place >= 0]
    start = max(0, min(places, default=0) - SNIPPET_CHARACTERS // 4)
    end = start + SNIPPET_CHARACTERS
    return ("…" if start else "") + flat[start:end].strip() + ("…" if end < len(flat) else "")


def source_of_item(item: Item, *, quote: str | None = None) -> Source:
    """Return an item's own source: the entry that made it, and its text then (default: its current text)."""
    return Source(
        entry_id=item.entry_id,
        source_ref=item.source_ref,
        session_id=item.session_id,
        message_id=item.message_id,
        occurred_at=item.occurred_at,
        quote=item.content if quote is None else quote,
    )


def _stating_sources(item: Item, deltas: Sequence[Delta]) -> list[Source]:
    """Return the entry that made an item, with its text then, and the entry that set its current text.

    Text that came with evidence is among what that evidence names.
    """
    changed = [delta for delta in deltas if "content" in delta.patch]
    if not changed:
        return [source_of_item(item)]
    first = source_of_item(item, quote=changed[0].patch["content"][0])
    edits = [delta for delta in changed if not (delta.evidence_added or delta.evidence_removed)]
    if not edits or item.content == first.quote:  # reverted
        return [first]
    return [first, Source(entry_id=edits[-1].entry_id, occurred_at=edits[-1].recorded_at, quote=item.content)]


def known_evidence(
    unit: Unit, lane_id: int, item_ids: Sequence[str], *, as_of: int | None = None
) -> dict[str, list[EvidenceRow]]:
    """Return the evidence of items, by item; with ``as_of`` (microseconds) without later evidence."""
    found = read_evidence(unit, lane_id, item_ids)
    if as_of is None:
        return found
    return {item: [row for row in rows if to_micros(row.recorded_at) <= as_of] for item, rows in found.items()}


def sources_of(
    unit: Unit, lane_id: int, items: Sequence[Item], *, as_of: int | None = None
) -> Mapping[str, list[Source]]:
    """Return each item's sources: its evidence's quotations; for a stated item, its own entry first.

    The entry that made a derived item is not a source of it: without evidence it has none. Items extracted from
    messages have those messages, each with the quoted text; items derived from memories have those, in their original
    text. With ``as_of`` (microseconds) the items are in their state of then, and later sources are left out.
    """
    rows = known_evidence(unit, lane_id, [item.id for item in items if item.kind != "message"], as_of=as_of)
    edited = _edits(unit, lane_id, [item for item in items if item.kind not in LEARNED_KINDS], rows, as_of)
    learned_of = {item.id for item in items if item.kind in LEARNED_KINDS}
    quoting = [
        row for found in rows.values() for row in found if row.span_start is not None or row.item_id in learned_of
    ]
    quoted = _quoted_items(unit, lane_id, quoting)
    out: dict[str, list[Source]] = {}
    for item in items:
        found = sorted(rows.get(item.id, ()), key=lambda row: (row.recorded_at, row.span_start or 0, row.source_key))
        said = [row for row in found if row.polarity == "source"]
        if said:  # confirmations are among the sources already
            itself = source_of_item(item)
            own = [row for row in said if row.source_item_id is None and row.source_entry_id == item.entry_id]
            out[item.id] = [itself] * bool(own) + [_source(row, quoted) for row in said if row not in own]
            continue
        learned = [_source(row, quoted) for row in found if row.polarity == "support"]
        stated = [] if item.kind in LEARNED_KINDS else _stating_sources(item, edited.get(item.id, ()))
        out[item.id] = stated + learned
    return out


def _edits(
    unit: Unit, lane_id: int, items: Sequence[Item], rows: Mapping[str, Sequence[EvidenceRow]], as_of: int | None
) -> Mapping[str, Sequence[Delta]]:
    """Return the deltas that `_stating_sources` needs for stated items, up to a time (microseconds)."""
    stated = [
        item.id
        for item in items
        if item.version > 1 and not any(row.polarity == "source" for row in rows.get(item.id, ()))
    ]
    edits = _deltas_by(edits_of_items(unit, lane_id, stated), as_of) if stated else {}
    # Whether a delta that changed evidence also changed the text, folding it shows.
    unsure = [
        one
        for one, found in edits.items()
        if any(
            d.op != "create" and (d.evidence_added or d.evidence_removed) and "content" not in d.patch for d in found
        )
    ]
    return {**edits, **_deltas_by(deltas_of_items(unit, lane_id, unsure), as_of)} if unsure else edits


def _deltas_by(found: Mapping[str, Sequence[Delta]], moment: int | None) -> Mapping[str, Sequence[Delta]]:
    """Return the deltas, by item, recorded by ``moment``; all for None."""
    if moment is None:
        return found
    return {one: [delta for delta in deltas if to_micros(delta.recorded_at) <= moment] for one, deltas in found.items()}


def _quoted_items(unit: Unit, lane_id: int, rows: Sequence[EvidenceRow]) -> Mapping[str, tuple[Item, str]]:
    """Return the items that evidence quotes, by id, each with its original text, before any edit."""
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
        entry_id=row.source_entry_id or row.entry_id,
        source_ref=row.source_ref,
        occurred_at=row.occurred_at,
        session_id=message.session_id if message is not None else None,
        message_id=message.message_id if message is not None else None,
        quote=words[row.span_start : row.span_end] if message is not None else None,
    )


MAX_STEPS: Final = 4
"""Maximum number of supersessions that a question about the past follows back."""

MAX_QUESTION: Final = 500
"""Characters of a question that are scanned."""

_BEFORE: Final = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|earlier|used to|originally|prior to|in the past|no longer|any ?more"
    r"|replaced?|instead of|chang(?:e|ed|es)|switch(?:ed)?|the old|last time|history of)\b"
    r"|以前|之前|从前|原来|原先|原本|曾经|过去|改成|改为|换成|变成|变了|变化|改变|取代|替换|不再|旧的|上一个|上次",
    re.IGNORECASE,
)


_ENDINGS: Final = ("", ".", "!", "。", "！")
"""Endings that do not distinguish two texts."""

_BEHIND: Final = frozenset({"source", "support"})
"""Polarities of evidence that supports an item."""

_AGGREGATED: Final = frozenset({"trait", "pattern", "principle", "cycle", "summary"})
"""Kinds with many sources: one is forgotten if all its sources are."""


def items_with_same_content(view: LaneView, chosen: Sequence[Item], words: str | None = None) -> list[Item]:
    """Return the live items of a lane with the same content as the ``chosen`` ones, without these.

    These are items derived from a chosen message, the source messages of a chosen item, and items of any kind with the
    same text, or the same value under the same key of the same subject.

    Args:
        view: the lane.
        chosen: its items that were named, or found by a query.
        words: the query, or None if the items were named. Of the items derived from a message that the query found,
            only those that share a word with it are returned, or all if none does.
    """
    messages = [item for item in chosen if item.kind == "message"]
    found = {item.id: item for item in chosen}
    for item in _derived_items(view, messages, words, named=set(found)):
        found.setdefault(item.id, item)
    for item in _equal(view, [*found.values()]):
        found.setdefault(item.id, item)
    items = [item for item in found.values() if item.kind != "message"]
    told_in = {
        row.source_item_id
        for rows in view.evidence([item.id for item in items]).values()
        for row in rows
        if row.polarity in _BEHIND and row.source_item_id
    }
    sources = [item for item in view.items(told_in).values() if item.kind == "message"]
    for item in [*sources, *_equal(view, sources)]:
        found.setdefault(item.id, item)
    for item in _resting_on(view, found):
        found.setdefault(item.id, item)
    named = {item.id for item in chosen}
    return [item for item in found.values() if item.id not in named and item.live]


def _derived_items(
    view: LaneView, messages: Sequence[Item], words: str | None, *, named: Collection[str]
) -> list[Item]:
    """Return the items derived from messages, limited to those that share a word with a query.

    If a message is named together with some of its derived items, the others are not included.
    """
    asked = set(question_terms(words)) if words else set()
    out: list[Item] = []
    for message in messages:
        rows = [row for row in view.evidence_from([message.id]) if row.polarity in _BEHIND]
        held = view.items({row.item_id for row in rows}).values()
        found = [item for item in held if item.live and item.kind not in _AGGREGATED]
        if words is None and any(item.id in named for item in found):
            continue
        close = [item for item in found if asked & set(question_terms(f"{item.content} {statement(item)}"))]
        out += close or found
    return out


def _resting_on(view: LaneView, found: Mapping[str, Item]) -> list[Item]:
    """Return the traits, patterns and principles all of whose sources are among these items."""
    rows = [row for row in view.evidence_from(list(found)) if row.polarity in _BEHIND]
    held = [item for item in view.items({row.item_id for row in rows}).values() if item.kind in _AGGREGATED]
    evidence = view.evidence([item.id for item in held])
    return [
        item
        for item in held
        if all(row.source_item_id in found for row in evidence.get(item.id, ()) if row.polarity in _BEHIND)
    ]


def _equal(view: LaneView, items: Sequence[Item]) -> list[Item]:
    """Return the live items that have the same text, or the same value under the same key of the same subject."""
    texts = {text for item in items for text in (item.content, statement(item))}
    plain = {text.strip().rstrip("".join(_ENDINGS)) for text in texts} - {""}
    out = view.of_words({f"{text}{ending}" for text in plain for ending in _ENDINGS})
    for item in items:
        if item.key is not None and item.value is not None:
            same = view.find(subject=item.subject, key=item.key)
            out += [one for one in same if one.subject == item.subject and one.value == item.value]
    return out


def is_about_past(text: str) -> bool:
    """Return whether a question asks about an earlier state or a change; English and Chinese."""
    return _BEFORE.search(text[:MAX_QUESTION]) is not None


def attach_related(unit: Unit, lanes: Sequence[Lane], found: Sequence[Evidence], asked: "Query") -> list[Evidence]:
    """Return the evidence with its conflicts, and with what may have outdated it.

    If the question asks about the past, each item is followed by those it superseded, which have no score of their own.
    """
    derived = [one.item.id for one in found if one.item.kind != "message" and one.item.key is not None]
    if not derived:
        return list(found)
    beside: dict[str, list[tuple[Edge, Item]]] = {}
    before: dict[str, list[Evidence]] = {}
    past = is_about_past(asked.text) and not asked.wanted.filters
    for lane in lanes:
        beside |= live_conflicts(unit, lane, derived, asked.wanted.as_of)
        if past:
            before |= _earlier_values(unit, lane, found, asked.wanted)
    shown = {one.item.id for one in found}
    out: list[Evidence] = []
    for one in found:
        conflicts, outdated_by = (
            tuple(item.id for edge, item in beside.get(one.item.id, ()) if edge.type == type_) for type_ in BESIDE
        )
        out.append(replace(one, conflicts=conflicts, outdated_by=outdated_by))
        out += [older for older in before.get(one.item.id, ()) if older.item.id not in shown]
        shown |= {older.item.id for older in before.get(one.item.id, ())}
    return out[: asked.limit]


BESIDE: Final = ("contradicts", OUTDATED_BY)
"""Types of edges to what an item is shown beside."""


def live_conflicts(unit: Unit, lane: Lane, ids: Sequence[str], as_of: int | None) -> dict[str, list[tuple[Edge, Item]]]:
    """Return, by item, what contradicts it or may have outdated it and is valid too, or was ``as_of`` a time."""
    edges = read_edges(unit, lane.lane_id, ids, types=BESIDE)
    edges = created_by_entry(unit, lane.lane_id, edges, as_of)
    ends = {one for edge in edges for one in (edge.from_id, edge.to_id)}
    live = live_at(unit, lane, sorted(ends), as_of)
    out: dict[str, list[tuple[Edge, Item]]] = {}
    for edge in edges:
        if edge.from_id in live and edge.to_id in live and is_recalled(live[edge.to_id]):
            out.setdefault(edge.from_id, []).append((edge, live[edge.to_id]))
    return out


def _earlier_values(
    unit: Unit, lane: Lane, found: Sequence[Evidence], wanted: ReadConditions
) -> dict[str, list[Evidence]]:
    line: dict[str, list[str]] = {one.item.id: [] for one in found}
    for _ in range(MAX_STEPS):
        ends = {ids[-1] if ids else start: start for start, ids in line.items()}
        edges = read_edges(unit, lane.lane_id, ends, types=("supersedes",))
        edges = created_by_entry(unit, lane.lane_id, edges, wanted.as_of)
        taken = {older for ids in line.values() for older in ids}
        added = [edge for edge in edges if edge.to_id not in taken and edge.to_id not in line]
        for edge in added:
            line[ends[edge.from_id]].append(edge.to_id)
        if not added:
            break
    found_items = read_items(unit, lane, [older for ids in line.values() for older in ids])
    allowed = [item for item in found_items.values() if item.quarantine is None]
    if wanted.as_of is not None:
        allowed = known_at(unit, lane.lane_id, allowed, wanted.as_of)
    kinds = wanted.kinds
    allowed = [item for item in allowed if item.ended == "superseded" and item.status == "active" and is_recalled(item)]
    allowed = [item for item in allowed if (kinds is None or item.kind in kinds) and wanted.carries(item)]
    items = {item.id: item for item in allowed if item.quarantine is None}
    sources = sources_of(unit, lane.lane_id, list(items.values()), as_of=wanted.as_of)
    scores = {one.item.id: one.score for one in found}
    return {
        start: [Evidence(items[older], scores[start], sources=tuple(sources[older])) for older in ids if older in items]
        for start, ids in line.items()
        if ids
    }
