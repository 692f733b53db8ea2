"""Items, edges and evidence as they were known at an earlier time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.undo import as_of
from phronesis.storage.database import Unit
from phronesis.storage.deltas import deltas_of_items
from phronesis.storage.items import read_items
from phronesis.storage.lanes import Lane
from phronesis.storage.log import find_entries
from phronesis.storage.relations import read_evidence


class Drawn(Protocol):
    """What an entry drew."""

    @property
    def entry_id(self) -> str:
        """The entry."""
        ...


AnyDrawn = TypeVar("AnyDrawn", bound=Drawn)


def known_at(unit: Unit, lane_id: int, items: Iterable[Item], moment: int) -> list[Item]:
    """Give the items as of ``moment`` (microseconds), leaving out those that nobody knew of yet."""
    present = [item for item in items if to_micros(item.recorded_at) <= moment]
    histories = deltas_of_items(unit, lane_id, [item.id for item in present if to_micros(item.updated_at) > moment])
    out: list[Item] = []
    for item in present:
        deltas = histories.get(item.id, ())
        later = [delta for delta in deltas if to_micros(delta.recorded_at) > moment]
        version = as_of(item, later[::-1])
        if later:  # bookkeeping stands in no patch: the change before says when this version came to be
            earlier = deltas[: len(deltas) - len(later)]
            version = replace(version, updated_at=earlier[-1].recorded_at if earlier else item.recorded_at)
        out.append(version)
    return out


def live_at(unit: Unit, lane: Lane, ids: Iterable[str], moment: int | None) -> dict[str, Item]:
    """Give those of some items that ordinary reads show, or showed at ``moment``; for None they are as they are.

    What is in quarantine today is not among them, however it was seen then.
    """
    found = [item for item in read_items(unit, lane, sorted(set(ids))).values() if item.quarantine is None]
    if moment is not None:
        found = known_at(unit, lane.lane_id, found, moment)
    return {item.id: item for item in found if item.live}


def drawn_by(unit: Unit, lane_id: int, edges: Sequence[AnyDrawn], moment: int | None) -> list[AnyDrawn]:
    """Give the edges that an entry recorded by ``moment`` drew; all for None.

    What was taken away since, or drawn anew, is not brought back.
    """
    if moment is None or not edges:
        return list(edges)
    rows = find_entries(unit, lane_id, sorted({edge.entry_id for edge in edges}))
    drawn = {row.entry_id for row in rows if row.recorded_at <= moment}
    return [edge for edge in edges if edge.entry_id in drawn]


def edges_at(unit: Unit, lane: Lane, edges: Sequence[Edge], moment: int | None) -> list[Edge]:
    """Give the edges that were there at ``moment``, between what was known by then; all for None."""
    found = drawn_by(unit, lane.lane_id, edges, moment)
    if moment is None or not found:
        return found
    ends = {(edge.from_kind, edge.from_id) for edge in found} | {(edge.to_kind, edge.to_id) for edge in found}
    items = read_items(unit, lane, sorted(identity for kind, identity in ends if kind == "item"))
    # An entry that was retried gave its items later than it was recorded.
    later = {item.id for item in items.values() if to_micros(item.recorded_at) > moment}
    return [edge for edge in found if not {edge.from_id, edge.to_id} & later]


def held_at(item: Item, moment: int) -> bool:
    """Tell whether what an item says held at ``moment``."""
    starts = item.valid_from is None or to_micros(item.valid_from) <= moment
    ends = item.valid_to is not None and to_micros(item.valid_to) <= moment
    return starts and not ends and item.ended not in ("retracted", "dissolved")


def evidence_at(unit: Unit, lane_id: int, item_ids: Sequence[str], moment: int | None) -> dict[str, list[EvidenceRow]]:
    """Give the evidence of items, by item, as it was at ``moment`` (microseconds); as it is for None."""
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
