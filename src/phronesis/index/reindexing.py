"""Making the search documents of a kind anew from its items: what projecting each version in its turn would give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from phronesis.core.changes import Delta, Settled
from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.undo import as_of
from phronesis.index.projections import Projector, part_name
from phronesis.storage.database import Database, Unit
from phronesis.storage.deltas import deltas_of_items
from phronesis.storage.documents import (
    DocumentRow,
    delete_documents,
    delete_vectors,
    documents_of_items,
    insert_documents,
    stray_documents,
)
from phronesis.storage.items import items_of_kind
from phronesis.storage.lanes import Lane, list_lanes, lock_lane, mark_documents, next_epoch
from phronesis.storage.log import seqs_of_entries

BATCH: Final = 500
"""Items of one transaction: writers wait for a fraction of a second."""


@dataclass(slots=True)
class Reindexed:
    """How much was looked at and put right; ``counted`` are current documents of the part that was asked for."""

    items: int = 0
    counted: int = 0
    documents: int = 0
    repaired: int = 0


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Repairs the search documents of a kind of item, lane by lane."""

    database: Database
    projector: Projector

    def run(self, tenant: str, kind: str, *, counted: str) -> Reindexed:
        """Put the documents of a tenant's items of ``kind`` right; ``counted`` names the part that is counted."""
        done = Reindexed()
        with self.database.transaction(tenant, "read") as unit:
            lane_ids = [lane.lane_id for lane in list_lanes(unit)]
        for lane_id in lane_ids:
            before, after = done.repaired, ""
            while True:
                with self.database.transaction(tenant, "derive") as unit:
                    lane = lock_lane(unit, lane_id)
                    batch = items_of_kind(unit, lane, kind, after=after, limit=BATCH)
                    self._repair(unit, lane, batch, counted, done)
                    if len(batch) < BATCH:
                        self._finish(unit, lane, kind, done, before)
                        break
                    after = batch[-1].id
        return done

    def _repair(self, unit: Unit, lane: Lane, items: Sequence[Item], counted: str, done: Reindexed) -> None:
        ids = [item.id for item in items]
        stored = {row.id: row for row in documents_of_items(unit, lane.lane_id, ids)}
        right = {row.id: row for row in self._documents(unit, lane, items)}
        wrong = [row.id for row in stored.values() if right.get(row.id) != row]
        missing = [row for row in right.values() if stored.get(row.id) != row]
        delete_documents(unit, lane.lane_id, [stored[one] for one in wrong])
        delete_vectors(unit, lane.lane_id, wrong)
        insert_documents(unit, lane.lane_id, missing)
        done.items += len(items)
        done.documents += len(right)
        done.counted += sum(row.current_to is None and part_name(row.part) == counted for row in right.values())
        done.repaired += len({*wrong, *(row.id for row in missing)})

    def _finish(self, unit: Unit, lane: Lane, kind: str, done: Reindexed, before: int) -> None:
        """Remove what belongs to no item, and have every process read the lane's documents anew."""
        strays = stray_documents(unit, lane.lane_id, kind)
        delete_documents(unit, lane.lane_id, strays)
        delete_vectors(unit, lane.lane_id, [row.id for row in strays])
        done.repaired += len(strays)
        if done.repaired > before:
            mark_documents(unit, lane.lane_id, seq=lane.applied_seq)
            next_epoch(unit, lane.lane_id)

    def _documents(self, unit: Unit, lane: Lane, items: Sequence[Item]) -> list[DocumentRow]:
        deltas = deltas_of_items(unit, lane.lane_id, [item.id for item in items])
        entries = {item.entry_id for item in items} | {delta.entry_id for found in deltas.values() for delta in found}
        seqs = seqs_of_entries(unit, sorted(entries))
        return [row for item in items for row in self._of_item(item, deltas.get(item.id, ()), seqs)]

    def _of_item(self, item: Item, deltas: Sequence[Delta], seqs: Mapping[str, int]) -> list[DocumentRow]:
        first, later = (deltas[0].entry_id if deltas else item.entry_id), deltas[1:]
        version = _before(item, later, item.recorded_at)
        rows, _ = self.projector.project(Settled(created=(version,)), {}, seq=seqs[first])
        for n, delta in enumerate(later):
            older, version = version, _before(item, later[n + 1 :], delta.recorded_at)
            fresh, closed = self.projector.project(
                Settled(updated=(version,)), {item.id: older}, seq=seqs[delta.entry_id]
            )
            if closed:
                at, seq = to_micros(delta.recorded_at), seqs[delta.entry_id]
                rows = [row if row.current_to is not None else replace(row, current_to=at, changed_seq=seq)
                        for row in rows]  # fmt: skip
            rows += fresh
        return rows


def _before(item: Item, later: Sequence[Delta], at: datetime) -> Item:
    """Give an item as it was before some of its changes, last changed ``at``."""
    return replace(as_of(item, list(later)[::-1]), updated_at=at)
