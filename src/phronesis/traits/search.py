"""Search documents of traits, and `TraitReader`, which lists traits, evidence and reflections (NM-12, NM-14)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.timestamps import to_micros
from phronesis.index.projections import Part, whole
from phronesis.recall.as_of import created_by_entry, known_at, live_at, was_valid_at
from phronesis.recall.evidence import known_evidence
from phronesis.store.database import Database, Unit
from phronesis.store.eligible import ReadConditions, newest_items
from phronesis.store.items import lane_of_item, of_kinds, read_items, read_where
from phronesis.store.lanes import Lane, find_lane, get_lane
from phronesis.store.relations import read_edges
from phronesis.store.schema import VISIBLE, items
from phronesis.traits.laws.records import (
    CONTEXTS,
    CYCLE,
    ReflectionCycle,
    Trait,
    TraitEvidence,
    cycle_of,
    evidence_record,
    trait_of,
)
from phronesis.traits.laws.strength import RANKS, SIDE_OF, TRAIT, is_recalled

# Projection of a trait: its text, while it may be recalled.


def project_trait(item: Item) -> list[Part]:
    """Return the search document of a trait, or nothing while it may not be recalled."""
    return whole(item) if is_recalled(item) else []


SUBTYPES: Final = ("behavior", "preference", "core")
DEFAULT_STAGE: Final = "emerging"
"""Default minimum stage (NM-12): lower ones are too uncertain to act on."""

LOOKED_AT: Final = 16
"""Reflections read first to find the last completed one; doubled while all of them failed."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Selection of traits. An unknown value counts as absent."""

    min_stage: str = DEFAULT_STAGE
    subtype: str | None = None
    context: str | None = None

    @classmethod
    def of(cls, min_stage: object, subtype: object, context: object) -> "Filter":
        """Return the filter for a caller's arguments."""
        stages, subtypes, contexts = (
            [name for name in known if name == given]
            for known, given in ((RANKS, min_stage), (SUBTYPES, subtype), (CONTEXTS, context))
        )
        return cls((*stages, DEFAULT_STAGE)[0], (*subtypes, None)[0], (*contexts, None)[0])

    @property
    def stages(self) -> Sequence[str]:
        """The selected stages, ascending."""
        return RANKS[RANKS.index(self.min_stage) :]

    def matches(self, trait: Trait) -> bool:
        """Return whether a trait has the subtype, and the context, itself or in one of its sides."""
        contexts = {trait.context, *(side.context for side in trait.sides)}
        return self.subtype in (None, trait.subtype) and (self.context is None or self.context in contexts)


@dataclass(frozen=True, slots=True)
class TraitReader:
    """Reads traits. It never writes, and reading applies no decay: confidence is that of the last reflection."""

    database: Database

    def listed(self, tenant: str, name: LaneName, wanted: ReadConditions, which: Filter) -> list[Trait]:
        """Return a user's traits by descending stage, then confidence."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            return [] if lane is None else _list_traits(unit, lane, wanted, which)

    def as_trait(self, tenant: str, item: Item, as_of: int | None = None) -> Trait:
        """Return the trait of an item, as of a time."""
        with self.database.transaction(tenant, "read") as unit:
            lane = get_lane(unit, lane_of_item(unit, item.id) or 0)
            return _to_traits(unit, lane, [item], as_of)[0]

    def evidence(self, tenant: str, item: Item, as_of: int | None = None) -> list[TraitEvidence]:
        """Return the evidence for and against a trait, oldest first, each with its memory's text."""
        with self.database.transaction(tenant, "read") as unit:
            lane = get_lane(unit, lane_of_item(unit, item.id) or 0)
            rows = known_evidence(unit, lane.lane_id, [item.id], as_of=as_of).get(item.id, [])
            memories = read_items(unit, lane, [row.source_key for row in rows])
            if as_of is not None:
                memories = {item.id: item for item in known_at(unit, lane.lane_id, memories.values(), as_of)}
        counted = [row for row in rows if row.polarity in ("support", "contra")]
        counted.sort(key=lambda row: (row.recorded_at, row.occurred_at or row.recorded_at, row.source_key))
        return [evidence_record(row, memories.get(row.source_key)) for row in counted]

    def cycles(self, tenant: str, name: LaneName, *, limit: int) -> list[ReflectionCycle]:
        """Return a user's reflections, newest first, without rolled-back ones."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            found = [] if lane is None else newest_items(unit, lane, ReadConditions(kinds=[CYCLE]), limit=limit)
        return [cycle_of(item) for item in found]

    def cycle(self, tenant: str, cycle_id: str) -> ReflectionCycle:
        """Return a reflection by its id."""
        with self.database.transaction(tenant, "read") as unit:
            lane = get_lane(unit, lane_of_item(unit, cycle_id) or 0)
            return cycle_of(read_items(unit, lane, [cycle_id])[cycle_id])


def last_reflected(unit: Unit, lane: Lane, as_of: int | None = None) -> datetime | None:
    """Return when a lane was last reflected on, up to a time, or None."""
    limit = LOOKED_AT
    while True:
        found = newest_items(unit, lane, ReadConditions(kinds=[CYCLE], as_of=as_of), limit=limit)
        moments = [item.recorded_at for item in found if item.data["status"] == "completed"]
        if as_of is not None:
            moments = [moment for moment in moments if to_micros(moment) <= as_of]
        if moments or len(found) < limit:
            return max(moments, default=None)
        limit *= 2


def _list_traits(unit: Unit, lane: Lane, wanted: ReadConditions, which: Filter) -> list[Trait]:
    """Return the traits of a filter, as of the requested times; sides of live traits are listed within them."""
    if wanted.as_of is None:
        found = read_where(unit, lane, *of_kinds((TRAIT,)), *VISIBLE, items.c.stage.in_(which.stages))
    else:
        every = read_where(unit, lane, items.c.kind == TRAIT, items.c.recorded_at <= wanted.as_of)
        known = known_at(unit, lane.lane_id, every, wanted.as_of)
        found = [item for item in known if item.live and item.stage in which.stages]
    if wanted.valid_at is not None:
        found = [item for item in found if was_valid_at(item, wanted.valid_at)]
    sides = {str(item.data[SIDE_OF]) for item in found if item.data.get(SIDE_OF)}
    wholes = live_at(unit, lane, sides, wanted.as_of)
    found = [item for item in found if item.data.get(SIDE_OF) not in wholes]
    traits = _to_traits(unit, lane, found, wanted.as_of) if found else []
    kept = [trait for trait in traits if which.matches(trait)]
    return sorted(kept, key=lambda one: (-RANKS.index(one.stage or RANKS[0]), -(one.confidence or 0.0), one.id))


def _to_traits(unit: Unit, lane: Lane, found: Sequence[Item], as_of: int | None) -> list[Trait]:
    sides = live_at(unit, lane, {one for item in found for one in item.data.get("sides", ())}, as_of)
    every = [*found, *sides.values()]
    ids = [item.id for item in every]
    rows = known_evidence(unit, lane.lane_id, ids, as_of=as_of)
    drawn = read_edges(unit, lane.lane_id, ids, incoming=True, types=("parent_of",))
    edges = created_by_entry(unit, lane.lane_id, drawn, as_of)
    above = live_at(unit, lane, {edge.from_id for edge in edges}, as_of)
    parents: dict[str, list[str]] = {}
    for edge in edges:
        if edge.from_id in above:
            parents.setdefault(edge.to_id, []).append(edge.from_id)
    at = last_reflected(unit, lane, as_of)

    def as_trait(item: Item, *, of: Sequence[Trait] = ()) -> Trait:
        moment = item.updated_at if at is None else at
        ordered = sorted(rows.get(item.id, ()), key=lambda row: (row.recorded_at, row.source_key))
        return trait_of(item, moment, evidence=ordered, parents=sorted(parents.get(item.id, ())), sides=of)

    as_sides = {one: as_trait(item) for one, item in sides.items()}
    return [
        as_trait(item, of=[as_sides[one] for one in item.data.get("sides", ()) if one in as_sides]) for item in found
    ]
