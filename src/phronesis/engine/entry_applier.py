"""Apply one entry to one store, live or in a replay.

Also: the replacement of items by ``supersedes`` and the uniqueness of external ids within a lane.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.changes import Changes, ChildEntry, CurrentState, Patch, ResolvedChanges, settle
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.items import Item
from phronesis.core.proposals import Refusal, refusals_in
from phronesis.core.relations import Edge
from phronesis.core.results import Degraded
from phronesis.core.timestamps import to_micros
from phronesis.engine.handler import DEGRADED_ROLE, FAILED_ROLE, Outcomes, Registry, by_role
from phronesis.errors import Conflict
from phronesis.index.projections import Projector
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.log.payloads import fit
from phronesis.store.database import Unit
from phronesis.store.lane_state import write_settled
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, advance_applied


@dataclass(frozen=True, slots=True)
class AppliedEntry:
    """The result of applying an entry, with its outcomes; ``refusals`` are the refused proposals named in them."""

    settled: ResolvedChanges
    children: Sequence[ChildEntry]
    documents_changed: bool
    degraded: Sequence[Degraded] = ()
    refusals: Sequence[Refusal] = ()
    outcomes: Outcomes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EntryApplier:
    """Applies entries with the registry's handlers."""

    registry: Registry
    projector: Projector

    def step(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome], *, log: Unit) -> AppliedEntry:
        """Apply ``entry`` to the lane within ``unit``, and move ``applied_seq`` to it.

        The lane's entries are read from ``log``: the same unit when live, the live one in a replay. An entry that
        failed, or whose payload was erased, changes nothing.
        """
        roles = by_role(outcomes)
        if FAILED_ROLE in roles or is_erased(entry.payload):
            advance_applied(unit, lane.lane_id, seq=entry.seq, documents_changed=False)
            return AppliedEntry(ResolvedChanges(), (), documents_changed=False, outcomes=roles)
        applied, held = self.resolve(LaneView(unit, lane, log), entry, roles)
        documents, closed = self.projector.project(applied.settled, held, seq=entry.seq)
        write_settled(
            unit,
            lane.lane_id,
            entry.seq,
            applied.settled,
            documents=documents,
            closed=closed,
            at=to_micros(entry.recorded_at),
        )
        moved = bool(documents or closed)
        advance_applied(unit, lane.lane_id, seq=entry.seq, documents_changed=moved)
        return replace(applied, documents_changed=moved)

    def resolve(self, view: LaneView, entry: Entry, roles: Outcomes) -> tuple[AppliedEntry, Mapping[str, Item]]:
        """Return what an entry does to its lane, and the items that it touches as they were. Nothing is written."""
        clean = replace(entry, payload=fit(entry.payload))
        changes = self.registry[entry.verb].apply_of(entry.handler_version)(view, clean, roles)
        held = _held_items(view, changes)
        if changes.patches:
            changes, held = self._add_consequences(view, clean, changes, held)
        touched = changes.touched
        existing = CurrentState(items=held)
        folded = any(item.kind in self.registry.folds for item in existing.items.values())
        if folded or changes.evidence or changes.dropped_evidence:
            existing = replace(existing, evidence=[row for rows in view.evidence(touched).values() for row in rows])
        if changes.edges or changes.dropped_edges:
            leaving = [edge.from_id for edge in (*changes.edges, *changes.dropped_edges)]
            existing = replace(existing, edges=view.edges_from(leaving))
        settled = settle(
            changes, existing, entry_id=entry.id, actor=entry.actor, at=entry.recorded_at, folds=self.registry.folds
        )
        applied = AppliedEntry(
            settled,
            changes.children,
            documents_changed=False,
            degraded=degraded_in(roles),
            refusals=refusals_in(clean, roles),
            outcomes=roles,
        )
        return applied, existing.items

    def _add_consequences(
        self, view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]
    ) -> tuple[Changes, Mapping[str, Item]]:
        """Return the changes with their consequences, and the items that both touch."""
        for follow in self.registry.consequences:
            followed = follow(view, entry, changes, held)
            if followed is not changes:
                changes, held = followed, _held_items(view, followed)
        return changes, held


def _held_items(view: LaneView, changes: Changes) -> Mapping[str, Item]:
    """Return the lane's items that some changes touch or would create."""
    touched = changes.touched
    return view.items([*touched, *(item.id for item in changes.items)]) if touched else {}


def degraded_in(roles: Outcomes) -> tuple[Degraded, ...]:
    """Return the roles in which rules replaced an unavailable model."""
    return tuple(Degraded(**outcome.body) for outcome in roles.get(DEGRADED_ROLE, ()))


# Replacement: the items named in ``add(…, supersedes=id)`` end as superseded by the new item.

SUPERSEDES: Final = "supersedes"
"""The payload member with the ids of the items to supersede."""

_REASON: Final = "superseded by what was added"


def end_replaced_items(view: LaneView, entry: Entry, changes: Changes) -> Changes:
    """Return an entry's changes with the end of the live items that it replaces.

    Items extracted from a message replace them rather than the message itself. Nothing ends that the entry made or
    ended itself, or where it made nothing visible.
    """
    wanted: Sequence[str] = entry.payload.get(SUPERSEDES, ())
    made = [item for item in changes.items if item.live and item.quarantine is None]
    if not wanted or not made:
        return changes
    by = next((item for item in made if item.kind != "message"), made[0])
    held = view.items(wanted)
    over = {patch.item_id for patch in changes.patches if patch.fields.get("ended")}
    live = [item for one in wanted if (item := held.get(one)) is not None and item.live and one not in over]
    patches = [Patch(item.id, _end(item, by), _REASON) for item in live]
    edges = [
        Edge(type="supersedes", from_kind="item", from_id=by.id, to_kind="item", to_id=item.id, entry_id=entry.id)
        for item in live
    ]
    return replace(changes, patches=[*changes.patches, *patches], edges=[*changes.edges, *edges])


def _end(item: Item, by: Item) -> dict[str, object]:
    """Return the fields of a superseded item: it was valid until the new one began."""
    begins = by.valid_from
    if begins is None or (item.valid_from is not None and begins < item.valid_from):
        begins = item.valid_from
    return {"ended": "superseded", "ended_by": by.entry_id, "valid_to": begins}


# External ids: at most one live item (neither archived nor ended) of a lane has a given external id.

NAMED_SINCE: Final = 2
"""The version of entries with messages from which a message's ``external_id`` is its item's name."""


def name_taken(item: Item) -> Conflict:
    """Return the error of a call that gives one item's external id to another."""
    return Conflict(
        f"external_id {item.external_id!r:.80} is that of item {item.id}, which says something else: change that item"
        " with update, replace it with supersedes, or delete it first",
        field=EXTERNAL_ID,
        details={"id": item.id},
    )


def field_for_new_name(view: LaneView, item: Item, payload: Mapping[str, Any]) -> dict[str, str]:
    """Return the field of an update that names an item; {} where another item has the name."""
    external_id = payload.get(EXTERNAL_ID)
    held = None if external_id is None else view.named(external_id)
    return {} if external_id is None or (held is not None and held.id != item.id) else {EXTERNAL_ID: external_id}


def is_taken(view: LaneView, entry: Entry, external_id: str) -> bool:
    """Return whether another item has the name, and the entry does not replace it."""
    held = view.named(external_id)
    replaced: Sequence[str] = entry.payload.get(SUPERSEDES, ())
    return held is not None and held.id not in replaced


def name_stated_item(view: LaneView, external_id: str | None, changes: Changes) -> Changes:
    """Return the changes of a stated item, naming the existing item that it confirms if that has no name."""
    if external_id is None or any(item.external_id == external_id for item in changes.items):
        return changes
    said_again = [row.item_id for row in changes.evidence if row.polarity == "support"]
    held = view.item(said_again[0]) if said_again else None
    if held is None or held.external_id is not None:
        return changes
    own = next((one for one in changes.patches if one.item_id == held.id), Patch(held.id, {}, "named"))
    named = replace(own, fields={**own.fields, EXTERNAL_ID: external_id})
    return replace(changes, patches=[*(one for one in changes.patches if one.item_id != held.id), named])


def drop_duplicate_names(view: LaneView, _entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return the changes without names of restored items that another item has taken meanwhile."""
    if all(item.external_id is None for item in held.values()) and all(
        one.fields.get(EXTERNAL_ID) is None for one in changes.patches
    ):
        return changes
    after = {one.item_id: held[one.item_id].with_fields(one.fields) for one in changes.patches if one.item_id in held}
    back = {one.id: one for one in after.values() if one.keeps_name and not held[one.id].keeps_name}
    lost: list[str] = []
    for one in back.values():
        other = view.named(str(one.external_id))
        if other is not None and after.get(other.id, other).keeps_name:
            lost.append(one.id)
    if not lost:
        return changes
    gone: Mapping[str, Any] = {EXTERNAL_ID: None}
    patches = [replace(one, fields={**one.fields, **gone}) if one.item_id in lost else one for one in changes.patches]
    return replace(changes, patches=patches)
