"""Evidence that contradicts evidence: shown side by side, so that neither wins in silence."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from phronesis.compose.pieces import CITATIONS_SHOWN
from phronesis.core.results import Evidence
from phronesis.core.traits.recalling import recalled
from phronesis.recall.browse import items_by_id
from phronesis.recall.evidence import sources_of
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.lanes import Lane

MAX_FETCHED: Final = 24
"""Items read because something found says that they dispute it."""


def side_by_side(
    unit: Unit, lanes: Sequence[Lane], found: Sequence[Evidence], wanted: Wanted, *, apart: frozenset[str]
) -> list[Evidence]:
    """Give evidence with what disputes it right behind it: moved up where it was found, else read.

    What ``apart`` names is shown elsewhere. What may not be shown is not named either.
    """
    known = {evidence.item.id: evidence for evidence in found}
    missing = dict.fromkeys(other for one in found for other in _others(one) if other not in known)
    fetched = _fetched(unit, lanes, [other for other in missing if other not in apart][:MAX_FETCHED], wanted)
    partners = known | fetched
    visible = partners.keys() | apart
    disputed_by = _both_ways([*found, *fetched.values()])
    out: dict[str, Evidence] = {}
    for one in found:
        for identity in (one.item.id, *(other for other in _others(one) if other in partners)):
            evidence = partners[identity]
            conflicts = tuple(other for other in disputed_by.get(identity, ()) if other in visible)
            same = tuple(evidence.conflicts) == conflicts
            out.setdefault(identity, evidence if same else dataclasses.replace(evidence, conflicts=conflicts))
    return list(out.values())


def _others(evidence: Evidence) -> Sequence[str]:
    return evidence.conflicts[:CITATIONS_SHOWN]


def _both_ways(found: Sequence[Evidence]) -> dict[str, list[str]]:
    """Give who disputes whom: an edge stands on one side alone."""
    out: dict[str, list[str]] = {}
    for evidence in found:
        for other in evidence.conflicts:
            for one, against in ((evidence.item.id, other), (other, evidence.item.id)):
                named = out.setdefault(one, [])
                if against not in named:
                    named.append(against)
    return out


def _fetched(unit: Unit, lanes: Sequence[Lane], ids: Sequence[str], wanted: Wanted) -> dict[str, Evidence]:
    out: dict[str, Evidence] = {}
    for lane in lanes if ids else ():
        items = [item for item in items_by_id(unit, [lane], ids, wanted).values() if recalled(item)]
        sources = sources_of(unit, lane.lane_id, items, as_of=wanted.as_of)
        out |= {item.id: Evidence(item, 0.0, sources=tuple(sources[item.id])) for item in items}
    return out
