"""Applying one entry to one store: the same code for the live lane and for a replay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from phronesis.core.changes import Changes, ChildEntry, Existing, Settled, settle
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.proposals import Refusal, refusals_in
from phronesis.core.results import Degraded
from phronesis.derive.handler import DEGRADED_ROLE, FAILED_ROLE, Outcomes, Registry, by_role
from phronesis.index.projections import Projector
from phronesis.storage.database import Unit
from phronesis.storage.derived import write_settled
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import Lane, advance_applied
from phronesis.truth.reader import fit


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying an entry came to, with its outcomes; ``refusals`` are what these say was not taken."""

    settled: Settled
    children: Sequence[ChildEntry]
    documents_changed: bool
    degraded: Sequence[Degraded] = ()
    refusals: Sequence[Refusal] = ()
    outcomes: Outcomes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stepper:
    """Applies entries with the registry's handlers."""

    registry: Registry
    projector: Projector

    def step(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome], *, log: Unit) -> Applied:
        """Apply ``entry`` to the lane within ``unit``, and move ``applied_seq`` to it.

        ``log`` is where the lane's entries are read from: the same unit when live, the live one in a replay.
        An entry that failed, or whose words were erased, changes nothing.
        """
        view = LaneView(unit, lane, log)
        roles = by_role(outcomes)
        if FAILED_ROLE in roles or is_erased(entry.payload):
            advance_applied(unit, lane.lane_id, seq=entry.seq, documents_changed=False)
            return Applied(Settled(), (), documents_changed=False, outcomes=roles)
        payload = fit(entry.payload)
        clean = entry if payload is entry.payload else replace(entry, payload=payload)
        changes = self.registry[entry.verb].apply_of(entry.handler_version)(view, clean, roles)
        held = _held(view, changes)
        if changes.patches:
            changes, held = self._followed(view, clean, changes, held)
        touched = changes.touched
        existing = Existing(items=held)
        folded = any(item.kind in self.registry.folds for item in existing.items.values())
        if folded or changes.evidence or changes.dropped_evidence:
            existing = replace(existing, evidence=[row for rows in view.evidence(touched).values() for row in rows])
        if changes.edges or changes.dropped_edges:
            leaving = [edge.from_id for edge in (*changes.edges, *changes.dropped_edges)]
            existing = replace(existing, edges=view.edges_from(leaving))
        settled = settle(
            changes, existing, entry_id=entry.id, actor=entry.actor, at=entry.recorded_at, folds=self.registry.folds
        )
        documents, closed = self.projector.project(settled, existing.items, seq=entry.seq)
        write_settled(
            unit, lane.lane_id, entry.seq, settled, documents=documents, closed=closed,
            at=to_micros(entry.recorded_at),
        )  # fmt: skip
        moved = bool(documents or closed)
        advance_applied(unit, lane.lane_id, seq=entry.seq, documents_changed=moved)
        return Applied(
            settled, changes.children, documents_changed=moved, degraded=degraded_in(roles),
            refusals=refusals_in(clean, roles), outcomes=roles,
        )  # fmt: skip

    def _followed(
        self, view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]
    ) -> tuple[Changes, Mapping[str, Item]]:
        """Give the changes with what follows from them, and the items that they touch then."""
        for follow in self.registry.consequences:
            followed = follow(view, entry, changes, held)
            if followed is not changes:
                changes, held = followed, _held(view, followed)
        return changes, held


def _held(view: LaneView, changes: Changes) -> Mapping[str, Item]:
    """Give what the lane holds of the items that some changes touch or would make."""
    touched = changes.touched
    return view.items([*touched, *(item.id for item in changes.items)]) if touched else {}


def degraded_in(roles: Outcomes) -> tuple[Degraded, ...]:
    """Give the roles in which rules stood in for a model."""
    return tuple(Degraded(**outcome.body) for outcome in roles.get(DEGRADED_ROLE, ()))
