"""Overview of a scope and list of a tenant's users, each read in one transaction."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from phronesis.core.ids import Scope
from phronesis.core.items import KINDS, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.relations import CONTEXT_OUTCOME, CONTRADICTED, latest_outcomes
from phronesis.core.reports import RECORDED_KINDS, Dispute, Overview, UserInfo
from phronesis.core.timestamps import from_micros, isoformat, to_micros
from phronesis.recall.as_of import visible_lanes
from phronesis.store.database import Database, Unit
from phronesis.store.eligible import ItemPosition, ReadConditions, newest_items
from phronesis.store.items import count_quarantined, counts_by_lane, read_items
from phronesis.store.lanes import Lane, list_lanes
from phronesis.store.log import find_entry
from phronesis.store.relations import contradicting_pairs, nodes_reached, read_edges, read_evidence

if TYPE_CHECKING:
    from phronesis.experience import provenance
    from phronesis.experience.laws import records
    from phronesis.traits.laws import strength
else:
    provenance = lazy_module("phronesis.experience.provenance")
    records = lazy_module("phronesis.experience.laws.records")
    strength = lazy_module("phronesis.traits.laws.strength")

CORRECT: Final = "correct"
"""The polarity of the judgement that an item is right."""
LEARNED_KINDS: Final = tuple(kind for kind in KINDS if kind not in RECORDED_KINDS)


@dataclass(frozen=True, slots=True)
class OverviewReader:
    """Reads overviews and user lists."""

    database: Database

    def overview(self, tenant: str, scope: Scope, since: datetime, *, limit: int) -> Overview:
        """Return an overview of a scope, at most ``limit`` items in each list."""
        with self.database.transaction(tenant, "read") as unit:
            lanes = visible_lanes(unit, scope)
            # One statement for a whole tenant, which may have thousands of lanes.
            asked = [None] if scope.across_tenant else [lane.lane_id for lane in lanes]
            held = dict(pair for one in asked for pair in counts_by_lane(unit, one).items())
            counts: Counter[str] = Counter()
            for kinds in held.values():
                counts.update(kinds)
            proving = [lane for lane in lanes if held.get(lane.lane_id, {}).get(records.PRINCIPLE)]
            return Overview(
                since=since,
                counts=dict(sorted(counts.items())),
                learned=_learned_items(unit, lanes, since, limit),
                disputes=_disputes(unit, lanes, limit),
                quarantined=sum(count_quarantined(unit, one) for one in asked),
                unproven=_unproven(unit, proving, limit),
                contradicted=_contradicted(unit, lanes, limit),
            )

    def users(self, tenant: str) -> list[UserInfo]:
        """Return the users that have a lane in the tenant, most recently active first."""
        with self.database.transaction(tenant, "read") as unit:
            held = counts_by_lane(unit)
            found = [
                UserInfo(lane.name, from_micros(lane.last_recorded_at), held.get(lane.lane_id, {}))
                for lane in list_lanes(unit)
                if lane.kind == "user" and lane.name is not None
            ]
        return sorted(found, key=lambda one: (one.last_recorded_at, one.user_id), reverse=True)


def _learned_items(unit: Unit, lanes: Sequence[Lane], since: datetime, limit: int) -> list[Item]:
    """Return the items learned last.

    Lanes are read in the order of their last write, as far as needed.
    """
    wanted = ReadConditions(kinds=LEARNED_KINDS, filters={"recorded_at": {"gte": isoformat(since)}})
    found: list[Item] = []
    for lane in sorted(lanes, key=lambda one: -one.last_recorded_at):
        written = from_micros(lane.last_recorded_at)
        if written < since or (len(found) >= limit and written < found[limit - 1].recorded_at):
            break
        found = sorted([*found, *newest_items(unit, lane, wanted, limit=limit)], key=ItemPosition.of, reverse=True)[
            :limit
        ]
    return found


def _disputes(unit: Unit, lanes: Sequence[Lane], limit: int) -> list[Dispute]:
    """Return the pairs of live items that contradict each other, each pair once, the latest first."""
    out: list[Dispute] = []
    for lane in lanes:
        pairs = {frozenset((one, other)) for one, other, _ in contradicting_pairs(unit, lane.lane_id) if one != other}
        named = sorted({one for pair in pairs for one in pair})
        live = {
            item.id: item for item in read_items(unit, lane, named).values() if item.live and strength.is_recalled(item)
        }
        for pair in pairs:
            both = sorted((live[one] for one in pair if one in live), key=ItemPosition.of, reverse=True)
            if len(both) == 2:  # noqa: PLR2004 - a pair
                out.append(Dispute(*both))
    return sorted(out, key=lambda one: (ItemPosition.of(one.one), one.other.id), reverse=True)[:limit]


def _contradicted(unit: Unit, lanes: Sequence[Lane], limit: int) -> Sequence[Item]:
    """Return the live items that were contradicted in use, and neither edited nor judged correct since.

    The last contradicted first.
    """
    found: list[tuple[int, Item]] = []
    for lane in lanes:
        named = nodes_reached(unit, lane.lane_id, CONTEXT_OUTCOME, grade=CONTRADICTED)
        outcomes = read_edges(unit, lane.lane_id, named, incoming=True, types=(CONTEXT_OUTCOME,)) if named else []
        said: dict[str, int] = {}
        for edge in latest_outcomes(outcomes):
            if edge.grade == CONTRADICTED and (entry := find_entry(unit, edge.entry_id)) is not None:
                said[edge.to_id] = max(said.get(edge.to_id, 0), entry.recorded_at)
        evidence = read_evidence(unit, lane.lane_id, said)
        for item in read_items(unit, lane, said).values():
            confirmed = (row.recorded_at for row in evidence.get(item.id, ()) if row.polarity == CORRECT)
            if item.live and to_micros(max(item.updated_at, *confirmed, item.recorded_at)) <= said[item.id]:
                found.append((said[item.id], item))
    return [item for _, item in sorted(found, key=lambda one: (-one[0], one[1].id))[:limit]]


def _unproven(unit: Unit, lanes: Sequence[Lane], limit: int) -> Sequence[Item]:
    wanted = ReadConditions(kinds=(records.PRINCIPLE,))
    learned = [
        one for lane in lanes for one in provenance.as_records(unit, newest_items(unit, lane, wanted, limit=None))
    ]
    return [one for one in learned if isinstance(one, records.Principle) and one.needs_validation][:limit]
