"""What stands beside what was found: items that say otherwise, and what was so before."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from phronesis.core.items import Item
from phronesis.core.results import Evidence
from phronesis.core.traits.recalling import recalled
from phronesis.recall.evidence import sources_of
from phronesis.recall.past import drawn_by, known_at, live_at
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.items import read_items
from phronesis.storage.lanes import Lane
from phronesis.storage.relations import read_edges

MAX_STEPS: Final = 4
"""How far back a question for what was before follows the line of what took whose place."""

MAX_QUESTION: Final = 500
"""Characters of a question that are looked at."""

_BEFORE: Final = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|earlier|used to|originally|prior to|in the past|no longer|any ?more"
    r"|replaced?|instead of|chang(?:e|ed|es)|switch(?:ed)?|the old|last time|history of)\b"
    r"|以前|之前|从前|原来|原先|原本|曾经|过去|改成|改为|换成|变成|变了|变化|改变|取代|替换|不再|旧的|上一个|上次",
    re.IGNORECASE,
)


def asks_for_past(text: str) -> bool:
    """Tell whether a question asks what was before, or what changed; English and Chinese."""
    return _BEFORE.search(text[:MAX_QUESTION]) is not None


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a search decides what stands beside its results."""

    text: str
    wanted: Wanted
    limit: int


def with_related(unit: Unit, lanes: Sequence[Lane], found: Sequence[Evidence], asked: Asked) -> list[Evidence]:
    """Give the evidence with its conflicts; where the question asks for the past, what each took the place of after it.

    What was before has no score of its own: it stands where the item stands that took its place.
    """
    derived = [one.item.id for one in found if one.item.kind != "message" and one.item.key is not None]
    if not derived:
        return list(found)
    conflicts: dict[str, list[str]] = {}
    before: dict[str, list[Evidence]] = {}
    past = asks_for_past(asked.text) and not asked.wanted.filters
    for lane in lanes:
        conflicts |= _conflicts(unit, lane, derived, asked.wanted.as_of)
        if past:
            before |= _before(unit, lane, found, asked.wanted)
    shown = {one.item.id for one in found}
    out: list[Evidence] = []
    for one in found:
        out.append(replace(one, conflicts=tuple(conflicts.get(one.item.id, ()))))
        out += [older for older in before.get(one.item.id, ()) if older.item.id not in shown]
        shown |= {older.item.id for older in before.get(one.item.id, ())}
    return out[: asked.limit]


def _conflicts(unit: Unit, lane: Lane, ids: Sequence[str], as_of: int | None) -> dict[str, list[str]]:
    """Give, by item, the items that say otherwise and hold as well, or did ``as_of`` a time."""
    edges = read_edges(unit, lane.lane_id, ids, types=("contradicts",))
    edges = drawn_by(unit, lane.lane_id, edges, as_of)
    ends = {one for edge in edges for one in (edge.from_id, edge.to_id)}
    live = live_at(unit, lane, sorted(ends), as_of)
    out: dict[str, list[str]] = {}
    for edge in edges:
        if edge.from_id in live and edge.to_id in live and recalled(live[edge.to_id]):
            out.setdefault(edge.from_id, []).append(edge.to_id)
    return out


def _before(unit: Unit, lane: Lane, found: Sequence[Evidence], wanted: Wanted) -> dict[str, list[Evidence]]:
    line: dict[str, list[str]] = {one.item.id: [] for one in found}
    for _ in range(MAX_STEPS):
        ends = {ids[-1] if ids else start: start for start, ids in line.items()}
        edges = read_edges(unit, lane.lane_id, ends, types=("supersedes",))
        edges = drawn_by(unit, lane.lane_id, edges, wanted.as_of)
        taken = {older for ids in line.values() for older in ids}
        added = [edge for edge in edges if edge.to_id not in taken and edge.to_id not in line]
        for edge in added:
            line[ends[edge.from_id]].append(edge.to_id)
        if not added:
            break
    items = _allowed(unit, lane, [older for ids in line.values() for older in ids], wanted)
    sources = sources_of(unit, lane.lane_id, list(items.values()), as_of=wanted.as_of)
    scores = {one.item.id: one.score for one in found}
    return {
        start: [Evidence(items[older], scores[start], sources=tuple(sources[older])) for older in ids if older in items]
        for start, ids in line.items()
        if ids
    }


def _allowed(unit: Unit, lane: Lane, ids: Iterable[str], wanted: Wanted) -> Mapping[str, Item]:
    """Give those of the items that the search may show: superseded ones, of its kinds and attributes."""
    items = [item for item in read_items(unit, lane, ids).values() if item.quarantine is None]
    if wanted.as_of is not None:
        items = known_at(unit, lane.lane_id, items, wanted.as_of)
    return {
        item.id: item
        for item in items
        if item.ended == "superseded"
        and item.status == "active"
        and item.quarantine is None
        and recalled(item)
        and (wanted.kinds is None or item.kind in wanted.kinds)
        and wanted.carries(item)
    }
