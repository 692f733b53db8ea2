"""Items as they were known at an earlier time."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.undo import as_of
from phronesis.storage.database import Unit
from phronesis.storage.deltas import deltas_of_items
from phronesis.storage.relations import read_evidence


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
