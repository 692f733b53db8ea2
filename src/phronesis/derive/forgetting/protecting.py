"""What keeps an item that has faded: something that stands on it and lives."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from phronesis.core.experience.records import PATTERN, PRINCIPLE
from phronesis.core.forgetting import MESSAGE, Fading
from phronesis.derive.experience.aggregating import MIN_MEMBERS
from phronesis.storage.fading import Owner, borne_by, read_owners
from phronesis.storage.lane_view import LaneView

LEAST_SUPPORT: Final[Mapping[str, int]] = {PATTERN: MIN_MEMBERS}
"""Live items that each kind stands on at least; 1 of all others."""

_Place = tuple[str, str]
"""An item, and a part of it."""


@dataclass(slots=True)
class Standing:
    """What stands on each of some items, and how much of what it stands on is left.

    A message is kept for whatever was taken from it: it is the evidence. Anything else is kept for a living principle,
    and as the last evidence of what lives.
    """

    above: Mapping[str, list[_Place]]
    owners: Mapping[str, Owner]
    left: dict[_Place, int] = field(default_factory=dict)
    archived: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, view: LaneView, candidates: Mapping[str, str]) -> "Standing":
        """Read it for some items, given with their kinds."""
        above = borne_by(view.unit, view.lane_id, candidates.keys())
        found = dict.fromkeys(owner for places in above.values() for owner, _ in places)
        owners = read_owners(view.unit, view.lane, found)
        counted = {
            owner for one, places in above.items() if candidates[one] != MESSAGE for owner, _ in places
            if owner in owners and owners[owner].live
        }  # fmt: skip
        # A principle above a pattern keeps the pattern's events too.
        upper = borne_by(view.unit, view.lane_id, counted - above.keys()) if counted else {}
        above |= upper
        new = {owner for places in upper.values() for owner, _ in places} - owners.keys()
        out = cls(above, {**owners, **read_owners(view.unit, view.lane, sorted(new))})
        out._count(view, sorted(counted))
        return out

    def _count(self, view: LaneView, owners: Collection[str]) -> None:
        rows = [row for of in view.evidence(owners).values() for row in of if row.polarity in ("support", "source")]
        sources = read_owners(view.unit, view.lane, sorted({row.source_item_id for row in rows if row.source_item_id}))
        live = {one for one, state in sources.items() if state.live}
        for row in rows:
            if row.source_item_id is None or row.source_item_id in live:
                place = (row.item_id, row.part)
                self.left[place] = self.left.get(place, 0) + 1

    def kept_for(self, item: Fading, *, ending: bool) -> str | None:
        """Say for what an item is kept from being archived, or (``ending``) from being deleted; None: nothing is."""
        if item.kind == MESSAGE:
            return self._evidence_of(item, ending=ending)
        for owner, part in sorted(self.above.get(item.id, ())):
            kind = self._living(owner)
            if kind is None:
                continue
            if kind == PRINCIPLE or self._bears_principle(owner):
                return f"supports {kind} {owner}"
            # What is archived already is not among those that are left.
            least = LEAST_SUPPORT.get(kind, 1) if item.status == "active" else 0
            if self.left.get((owner, part), 0) <= least:
                return f"is the last evidence of {kind} {owner}"
        return None

    def _evidence_of(self, item: Fading, *, ending: bool) -> str | None:
        gone = self.deleted if ending else self.archived | self.deleted
        for owner, _ in sorted(self.above.get(item.id, ())):
            state = self.owners.get(owner)
            if state is not None and owner not in gone and (state.held if ending else state.live):
                return f"is evidence of {state.kind} {owner}"
        return None

    def _living(self, owner: str) -> str | None:
        """Give the kind of an item that lives; None of one that does not, or no longer."""
        state = self.owners.get(owner)
        return state.kind if state is not None and state.live and owner not in self.archived else None

    def _bears_principle(self, owner: str) -> bool:
        return any(self._living(one) == PRINCIPLE for one, _ in self.above.get(owner, ()))

    def take(self, item: Fading, *, ending: bool) -> None:
        """Count an item out."""
        if ending:
            self.deleted.add(item.id)
            return
        self.archived.add(item.id)
        for place in self.above.get(item.id, ()):
            self.left[place] = self.left.get(place, 0) - 1
