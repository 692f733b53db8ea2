"""Point-in-time reads of items, edges and evidence; lanes of a scope; names of changes; external-id lookup."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

from phronesis.core.changes import Delta, as_of
from phronesis.core.ids import LaneName, Scope
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.results import HistoryEvent
from phronesis.core.timestamps import to_micros
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_items
from phronesis.store.items import read_items, read_named
from phronesis.store.lanes import ActiveModel, Lane, active_model, find_lane, find_lanes, list_lanes
from phronesis.store.log import find_entries, find_entry
from phronesis.store.named_items import EVERY, NamedRow, RowPage, heads_between, row_named, rows_between
from phronesis.store.relations import read_evidence
from phronesis.traits.laws.strength import RANKS


class EntryRecord(Protocol):
    """A record that an entry created."""

    @property
    def entry_id(self) -> str:
        """The id of the entry that created it."""
        ...


AnyEntryRecord = TypeVar("AnyEntryRecord", bound=EntryRecord)


def known_at(unit: Unit, lane_id: int, items: Iterable[Item], moment: int) -> list[Item]:
    """Return the items as of ``moment`` (microseconds), without those that were not known yet."""
    present = [item for item in items if to_micros(item.recorded_at) <= moment]
    histories = deltas_of_items(unit, lane_id, [item.id for item in present if to_micros(item.updated_at) > moment])
    out: list[Item] = []
    for item in present:
        deltas = histories.get(item.id, ())
        later = [delta for delta in deltas if to_micros(delta.recorded_at) > moment]
        version = as_of(item, later[::-1])
        if later:  # bookkeeping is in no patch: the change before dates this version
            earlier = deltas[: len(deltas) - len(later)]
            version = replace(version, updated_at=earlier[-1].recorded_at if earlier else item.recorded_at)
        out.append(version)
    return out


def live_at(unit: Unit, lane: Lane, ids: Iterable[str], moment: int | None) -> dict[str, Item]:
    """Return the given items that ordinary reads show, or showed at ``moment``; None: now.

    An item that is in quarantine today is left out at every moment.
    """
    found = [item for item in read_items(unit, lane, sorted(set(ids))).values() if item.quarantine is None]
    if moment is not None:
        found = known_at(unit, lane.lane_id, found, moment)
    return {item.id: item for item in found if item.live}


def drawn_by(unit: Unit, lane_id: int, edges: Sequence[AnyEntryRecord], moment: int | None) -> list[AnyEntryRecord]:
    """Return the records created by an entry that was recorded by ``moment``; all for None.

    Records that were removed or replaced since are not restored.
    """
    if moment is None or not edges:
        return list(edges)
    rows = find_entries(unit, lane_id, sorted({edge.entry_id for edge in edges}))
    drawn = {row.entry_id for row in rows if row.recorded_at <= moment}
    return [edge for edge in edges if edge.entry_id in drawn]


def edges_at(unit: Unit, lane: Lane, edges: Sequence[Edge], moment: int | None) -> list[Edge]:
    """Return the edges that existed at ``moment`` between items known by then; all for None."""
    found = drawn_by(unit, lane.lane_id, edges, moment)
    if moment is None or not found:
        return found
    ends = {(edge.from_kind, edge.from_id) for edge in found} | {(edge.to_kind, edge.to_id) for edge in found}
    items = read_items(unit, lane, sorted(identity for kind, identity in ends if kind == "item"))
    # A retried entry made its items later than it was recorded.
    later = {item.id for item in items.values() if to_micros(item.recorded_at) > moment}
    return [edge for edge in found if not {edge.from_id, edge.to_id} & later]


def held_at(item: Item, moment: int) -> bool:
    """Return whether an item was valid at ``moment``."""
    starts = item.valid_from is None or to_micros(item.valid_from) <= moment
    ends = item.valid_to is not None and to_micros(item.valid_to) <= moment
    return starts and not ends and item.ended not in ("retracted", "dissolved")


def evidence_at(unit: Unit, lane_id: int, item_ids: Sequence[str], moment: int | None) -> dict[str, list[EvidenceRow]]:
    """Return the evidence of items, by item, at ``moment`` (microseconds); the current evidence for None."""
    rows = read_evidence(unit, lane_id, item_ids)
    if moment is None:
        return rows
    histories = deltas_of_items(unit, lane_id, item_ids)
    out: dict[str, list[EvidenceRow]] = {}
    for item_id in item_ids:
        held = {row.identity: row for row in rows.get(item_id, ())}
        for delta in reversed(histories.get(item_id, ())):
            if to_micros(delta.recorded_at) <= moment:
                break
            for gone in map(EvidenceRow.from_row, delta.evidence_added):
                held.pop(gone.identity, None)
            held |= {row.identity: row for row in map(EvidenceRow.from_row, delta.evidence_removed)}
        out[item_id] = [held[identity] for identity in sorted(held)]
    return out


# Resolving a scope to lanes.


def visible_lanes(unit: Unit, scope: Scope) -> list[Lane]:
    """Return the lanes that a read sees: a user's own and the shared namespace, or every lane of the tenant."""
    return list_lanes(unit) if scope.across_tenant else find_lanes(unit, scope.read_lanes)[0]


def searched_lanes(unit: Unit, scope: Scope) -> tuple[list[Lane], ActiveModel | None]:
    """Return the lanes that a read sees, and the model whose vectors searches use; None without a lane."""
    if scope.across_tenant:
        return list_lanes(unit), active_model(unit)
    return find_lanes(unit, scope.read_lanes)


# The name of a change in an item's history (requirement NM-14).

Fields = Mapping[str, Sequence[Any]]

_FOUND: Final = (("support", "reinforced"), ("contra", "contradicted"))


def change_name(
    op: str, fields: Fields, added: Iterable[Mapping[str, Any]], removed: Sequence[Mapping[str, Any]]
) -> str:
    """Return the name of a change; if it did several things, the most important one.

    ``created``; how it ended (``dissolved``, ``superseded``, ``retracted``, ``retired``) or ``revived``; ``archived``
    or ``restored``; ``quarantined`` or ``released``; ``modified``: its content changed; ``promoted`` or ``demoted``;
    ``reinforced`` or ``contradicted`` by new evidence; ``unsupported``: it lost evidence; else ``changed``.
    """
    if op == "create":
        return "created"
    return _end_of_fields(fields) or _move_of_fields(fields) or _evidence_change(added, removed)


def _end_of_fields(fields: Fields) -> str | None:
    for name, back in (("ended", "revived"), ("quarantine", "released")):
        if name in fields:
            after = fields[name][1]
            return back if after is None else str(after) if name == "ended" else "quarantined"
    if "status" in fields:
        return "archived" if fields["status"][1] == "archived" else "restored"
    return None


def _move_of_fields(fields: Fields) -> str | None:
    if "content" in fields:
        return "modified"
    before, after = fields.get("stage", (None, None))
    if before in RANKS and after in RANKS:
        return "promoted" if RANKS.index(after) > RANKS.index(before) else "demoted"
    return None


def _evidence_change(added: Iterable[Mapping[str, Any]], removed: Sequence[Mapping[str, Any]]) -> str:
    polarities = {row.get("polarity") for row in added}
    found = next((word for polarity, word in _FOUND if polarity in polarities), None)
    return found or ("unsupported" if removed else "changed")


def history_at(unit: Unit, lane: Lane, item: Item, moment: int | None) -> list[HistoryEvent]:
    """Return the events that led to ``item``, which is as it was at ``moment``."""
    deltas = deltas_of_items(unit, lane.lane_id, [item.id]).get(item.id, [])
    deltas = [delta for delta in deltas if moment is None or to_micros(delta.recorded_at) <= moment]
    return [_event(unit, item, delta, deltas[n + 1 :]) for n, delta in enumerate(deltas)]


def _event(unit: Unit, item: Item, delta: Delta, later: Sequence[Delta]) -> HistoryEvent:
    entry = find_entry(unit, delta.entry_id)
    if delta.op == "create":
        first = as_of(item, later[::-1]) if later else item
        fields: dict[str, Sequence[Any]] = {
            name: (None, value)
            for name, value in first.to_dict().items()
            if name in _CREATED and value not in (None, {}, [])
        }
    else:
        fields = {name: tuple(change) for name, change in delta.patch.items()}
    return HistoryEvent(
        delta_id=delta.id,
        entry_id=delta.entry_id,
        verb=entry.verb if entry is not None else "",
        op=delta.op,
        event=change_name(delta.op, fields, delta.evidence_added, delta.evidence_removed),
        version=delta.version,
        at=delta.recorded_at,
        actor=delta.actor,
        reason=delta.reason,
        fields=fields,
        evidence_added=delta.evidence_added,
        evidence_removed=delta.evidence_removed,
        edges_added=delta.edges_added,
        edges_removed=delta.edges_removed,
    )


_CREATED = frozenset({"kind", "content", "subject", "key", "value", "metadata", "importance", "confidence", "label"})
"""Fields of a creation that history shows; the rest is bookkeeping."""


# Looking up a lane's items by external id.


@dataclass(frozen=True, slots=True)
class NamedItems:
    """The items of a lane that have an ``external_id``; empty if the lane does not exist yet."""

    database: Database
    tenant: str
    lane: LaneName

    def find(self, external_id: str) -> Item | None:
        """Return the item that has an external id, or None."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            found = [] if lane is None else read_named(unit, lane, external_id)
        return next((item for item in reversed(found) if item.keeps_name), None)

    def row(self, external_id: str) -> NamedRow | None:
        """Return the row of the item that has an external id, or None."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return None if lane is None else row_named(unit, lane, external_id)

    def heads(self, low: str, high: str, *, until: str) -> set[str]:
        """Return the parts before the first ``until`` of the external ids in [``low``, ``high``)."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return set() if lane is None else heads_between(unit, lane, low, high, until=until)

    def rows(self, low: str, high: str, asked: RowPage = EVERY) -> list[NamedRow]:
        """Return the rows of the items in a range of external ids, most recently changed first."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return [] if lane is None else rows_between(unit, lane, low, high, asked)
