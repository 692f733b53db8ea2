"""Contradicting evidence, and what may be outdated by later evidence, shown side by side."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from phronesis.compose.item_wording import CITATIONS_SHOWN
from phronesis.core.results import Evidence
from phronesis.core.timestamps import to_micros
from phronesis.recall.as_of import drawn_by, live_at
from phronesis.recall.browse import items_by_id
from phronesis.recall.evidence import sources_of
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane
from phronesis.store.relations import contradicting_pairs
from phronesis.traits.laws.strength import is_recalled

MAX_FETCHED: Final = 24
"""Maximum number of items read because a result is in conflict with them."""


def side_by_side(
    unit: Unit, lanes: Sequence[Lane], found: Sequence[Evidence], wanted: ReadConditions, *, apart: frozenset[str]
) -> list[Evidence]:
    """Return evidence with what disputes it, or may have outdated it, right after it: moved up if found, else read.

    Items ``apart`` are shown elsewhere. Items that may not be shown are not named either.
    """
    known = {evidence.item.id: evidence for evidence in found}
    missing = dict.fromkeys(other for one in found for other in _shown_conflicts(one) if other not in known)
    fetched = _fetch_evidence(unit, lanes, [other for other in missing if other not in apart][:MAX_FETCHED], wanted)
    partners = known | fetched
    visible = partners.keys() | apart
    disputed_by = _mirror_disputes([*found, *fetched.values()])
    out: dict[str, Evidence] = {}
    for one in found:
        for identity in (one.item.id, *(other for other in _shown_conflicts(one) if other in partners)):
            evidence = partners[identity]
            conflicts = tuple(other for other in disputed_by.get(identity, ()) if other in visible)
            outdated_by = tuple(other for other in evidence.outdated_by if other in visible)
            out.setdefault(identity, dataclasses.replace(evidence, conflicts=conflicts, outdated_by=outdated_by))
    return list(out.values())


def live_disputes(
    unit: Unit, lanes: Sequence[Lane], item_ids: Sequence[str], wanted: ReadConditions
) -> dict[str, list[str]]:
    """Return the ids of the live items that contradict each of these at the requested time.

    Items with other attributes are left out.
    """
    found: dict[str, list[str]] = {}
    for lane in lanes if item_ids else ():
        for one, other, _ in drawn_by(unit, lane.lane_id, contradicting_pairs(unit, lane.lane_id), wanted.as_of):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    found = {item_id: found[item_id] for item_id in item_ids if item_id in found}
    others = [other for named in found.values() for other in named]
    live = [item for lane in lanes if others for item in live_at(unit, lane, others, wanted.as_of).values()]
    shown = {item.id for item in live if is_recalled(item) and wanted.carries(item)}
    return {item_id: sorted({*named} & shown) for item_id, named in found.items()}


def outweighed_items(
    unit: Unit, lanes: Sequence[Lane], item_ids: Sequence[str], wanted: ReadConditions
) -> frozenset[str]:
    """Return the items that a live, eligible item disputes and outweighs: by more trust, then by a later time.

    Of two that are equal in both, the one with the later id wins.
    """
    disputes = live_disputes(unit, lanes, item_ids, wanted)
    named = {one for item_id, others in disputes.items() for one in (item_id, *others)}
    items = {one.id: one for lane in lanes if named for one in read_items(unit, lane, named).values()}

    def rank(item_id: str) -> tuple[int, int, str]:
        item = items[item_id]
        return int(item.trust), to_micros(item.occurred_at or item.recorded_at), item_id

    return frozenset(one for one, others in disputes.items() if any(rank(other) > rank(one) for other in others))


def _shown_conflicts(evidence: Evidence) -> Sequence[str]:
    return evidence.beside[:CITATIONS_SHOWN]


def _mirror_disputes(found: Sequence[Evidence]) -> dict[str, list[str]]:
    """Return the disputes in both directions: an edge is stored on one side only."""
    out: dict[str, list[str]] = {}
    for evidence in found:
        for other in evidence.conflicts:
            for one, against in ((evidence.item.id, other), (other, evidence.item.id)):
                named = out.setdefault(one, [])
                if against not in named:
                    named.append(against)
    return out


def _fetch_evidence(
    unit: Unit, lanes: Sequence[Lane], ids: Sequence[str], wanted: ReadConditions
) -> dict[str, Evidence]:
    out: dict[str, Evidence] = {}
    for lane in lanes if ids else ():
        items = [
            item
            for item in items_by_id(unit, [lane], ids, wanted).values()
            if is_recalled(item) and wanted.carries(item)
        ]
        sources = sources_of(unit, lane.lane_id, items, as_of=wanted.as_of)
        out |= {item.id: Evidence(item, 0.0, sources=tuple(sources[item.id])) for item in items}
    return out
