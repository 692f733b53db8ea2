"""Rebuild the search documents of a kind from its items, as if each version were projected in turn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from phronesis.core.changes import Delta, ResolvedChanges, as_of
from phronesis.core.items import Item
from phronesis.core.timestamps import to_micros
from phronesis.index.projections import Projector, part_name
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_items
from phronesis.store.document_tables import home_of
from phronesis.store.documents import (
    DocumentRow,
    delete_documents,
    documents_of_items,
    insert_documents,
    stray_documents,
)
from phronesis.store.items import each_item, ids_of_kind
from phronesis.store.lanes import Lane, list_lanes, lock_lane, mark_documents, next_epoch
from phronesis.store.log import seqs_of_entries

BATCH: Final = 500
"""Items of one transaction, so that writers wait for a fraction of a second."""


@dataclass(slots=True)
class ReindexResult:
    """Counts of examined and repaired documents; ``counted`` are current documents of the requested part."""

    items: int = 0
    counted: int = 0
    documents: int = 0
    repaired: int = 0


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Repairs the search documents of a kind, lane by lane."""

    database: Database
    projector: Projector

    def run(self, tenant: str, kind: str, *, counted: str) -> ReindexResult:
        """Repair the documents of a tenant's items of ``kind``; ``counted`` names the part that is counted."""
        done = ReindexResult()
        with self.database.transaction(tenant, "read") as unit:
            lane_ids = [lane.lane_id for lane in list_lanes(unit)]
        for lane_id in lane_ids:
            before, after = done.repaired, ""
            while True:
                with self.database.transaction(tenant, "derive") as unit:
                    lane = lock_lane(unit, lane_id)
                    batch = ids_of_kind(unit, lane, kind, after=after, limit=BATCH)
                    held = documents_of_items(unit, lane.lane_id, list(batch), home=home_of(kind))
                    self._repair(unit, lane, batch, held, counted=counted, done=done)
                    if len(batch) < BATCH:
                        self._finish(unit, lane, kind, done, before)
                        break
                    after = next(reversed(batch))
        return done

    def _repair(
        self,
        unit: Unit,
        lane: Lane,
        made_by: Mapping[str, str],
        held: Sequence[DocumentRow],
        *,
        counted: str,
        done: ReindexResult,
    ) -> None:
        """Repair the documents of some items, given with their entries; ``held`` are the existing ones."""
        stored = {row.id: row for row in held}
        missing: list[DocumentRow] = []
        wrong = []
        # What is right is not kept: collecting garbage would go through all of it, again and again.
        for row in self._documents(unit, lane, made_by):
            done.documents += 1
            done.counted += row.current_to is None and part_name(row.part) == counted
            found = stored.pop(row.id, None)
            if found != row:
                missing.append(row)
                wrong += [] if found is None else [found]
        done.repaired += len(missing) + len(stored)
        wrong += stored.values()
        delete_documents(unit, lane.lane_id, wrong)
        insert_documents(unit, lane.lane_id, missing)
        done.items += len(made_by)

    def _finish(self, unit: Unit, lane: Lane, kind: str, done: ReindexResult, before: int) -> None:
        """Remove documents without an item, and make every process reload the lane's documents."""
        strays = stray_documents(unit, lane.lane_id, kind)
        delete_documents(unit, lane.lane_id, strays)
        done.repaired += len(strays)
        if done.repaired > before:
            mark_documents(unit, lane.lane_id, seq=lane.applied_seq)
            next_epoch(unit, lane.lane_id)

    def _documents(self, unit: Unit, lane: Lane, made_by: Mapping[str, str]) -> Iterator[DocumentRow]:
        deltas = deltas_of_items(unit, lane.lane_id, list(made_by))
        entries = {*made_by.values(), *(delta.entry_id for found in deltas.values() for delta in found)}
        seqs = seqs_of_entries(unit, sorted(entries))
        for item in each_item(unit, lane, made_by):
            yield from self._of_item(item, deltas.get(item.id, ()), seqs)

    def _of_item(self, item: Item, deltas: Sequence[Delta], seqs: Mapping[str, int]) -> list[DocumentRow]:
        first, later = (deltas[0].entry_id if deltas else item.entry_id), deltas[1:]
        version = _item_before(item, later, item.recorded_at)
        rows, _ = self.projector.project(ResolvedChanges(created=(version,)), {}, seq=seqs[first])
        for n, delta in enumerate(later):
            older, version = version, _item_before(item, later[n + 1 :], delta.recorded_at)
            fresh, closed = self.projector.project(
                ResolvedChanges(updated=(version,)), {item.id: older}, seq=seqs[delta.entry_id]
            )
            if closed:
                at, seq = to_micros(delta.recorded_at), seqs[delta.entry_id]
                rows = [
                    row if row.current_to is not None else row._replace(current_to=at, changed_seq=seq) for row in rows
                ]
            rows += fresh
        return rows


def _item_before(item: Item, later: Sequence[Delta], at: datetime) -> Item:
    """Return an item as it was before some of its changes, last changed ``at``."""
    before = as_of(item, list(later)[::-1])
    return before if before.updated_at == at else replace(before, updated_at=at)
