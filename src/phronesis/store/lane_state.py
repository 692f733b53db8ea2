"""Write, discard, compare and copy the derived state of a lane, and create in-memory stores for replays."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.changes import ResolvedChanges
from phronesis.core.ids import document_id
from phronesis.core.serialization import encode, round_stored
from phronesis.store import documents as document_store
from phronesis.store.compiled_statements import batches, insert, own_rows
from phronesis.store.conversations import write_conversation, write_resources
from phronesis.store.database import Unit, in_memory
from phronesis.store.deltas import insert_deltas
from phronesis.store.documents import DocumentRow, by_table_set, delete_vectors
from phronesis.store.items import insert_items, update_items
from phronesis.store.lanes import Lane
from phronesis.store.migrations import sqlite_statements
from phronesis.store.relations import drop_entities, write_edges, write_entities, write_evidence
from phronesis.store.schema import DERIVED, TABLE_SETS, lanes

# Write the changes of one entry, and discard a lane's derived state.


def write_settled(
    unit: Unit,
    lane_id: int,
    seq: int,
    settled: ResolvedChanges,
    *,
    documents: Sequence[DocumentRow],
    closed: Sequence[str],
    at: int,
) -> None:
    """Write the state after the entry at ``seq``.

    ``documents`` are the new search documents; ``closed`` the updated items whose current documents end at ``at``.
    """
    changes = settled.changes
    insert_items(unit, lane_id, settled.created)
    update_items(unit, settled.updated)
    insert_deltas(unit, lane_id, seq, settled.deltas, {item.id: item.entry_id for item in settled.created})
    if changes.edges or changes.dropped_edges:
        write_edges(unit, lane_id, changes.edges, changes.dropped_edges)
    if changes.evidence or changes.dropped_evidence:
        write_evidence(unit, lane_id, changes.evidence, changes.dropped_evidence)
    if changes.dropped_entities or changes.dropped_mentions:
        drop_entities(unit, lane_id, changes.dropped_entities, changes.dropped_mentions)
    if changes.entities or changes.mentions:
        write_entities(unit, lane_id, changes.entities, changes.mentions)
    if changes.conversation is not None:
        write_conversation(unit, lane_id, changes.conversation, {item.id for item in settled.created})
    if changes.resources is not None:
        write_resources(unit, lane_id, changes.resources)
    if closed:
        kinds = {item.id: item.kind for item in settled.updated}
        for home, ids in by_table_set((kinds[item_id], item_id) for item_id in closed):
            document_store.close_documents(unit, lane_id, ids, at=at, seq=seq, home=home)
    document_store.insert_documents(unit, lane_id, documents)


def clear_lane(unit: Unit, lane_id: int) -> None:
    """Delete a lane's derived rows and vectors."""
    for table in (*DERIVED, *(home.vectors for home in TABLE_SETS)):
        unit.run(sa.delete(table).where(*own_rows(unit, table, lane_id=lane_id)))


RowKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A lane's derived rows by table and primary key, each as its canonical bytes."""

    tables: Mapping[str, Mapping[RowKey, bytes]]

    @property
    def digest(self) -> str:
        """One hash over all rows: equal exactly when all rows are equal."""
        total = hashlib.sha256()
        for name in sorted(self.tables):
            total.update(name.encode())
            for key in sorted(self.tables[name]):
                total.update(self.tables[name][key])
        return total.hexdigest()


_SKIPPED: Final = frozenset({"tenant_id", "lane_id"})
_HOMES: Final = {home.documents: home for home in TABLE_SETS}


def snapshot(unit: Unit, lane_id: int) -> Snapshot:
    """Return a lane's derived rows. Floats are rounded, bytes are hexadecimal, keys are text."""
    return Snapshot({table.name: dict(_rows(unit, table, lane_id)) for table in DERIVED})


def _rows(unit: Unit, table: sa.Table, lane_id: int) -> Iterator[tuple[RowKey, bytes]]:
    keys = [column.name for column in table.primary_key.columns if column.name not in _SKIPPED]
    query = sa.select(table).where(*own_rows(unit, table, lane_id=lane_id))
    for row in unit.run(query).mappings():
        values = {name: _plain(value) for name, value in row.items() if name not in _SKIPPED}
        yield tuple(str(row[key]) for key in keys), encode(values)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round_stored(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def differences(live: Snapshot, replayed: Snapshot) -> list[str]:
    """Name the rows that differ: ``items/<id>: altered``, ``missing`` (live lacks it) or ``stray``; no texts."""
    out: list[str] = []
    for name, rows in live.tables.items():
        other = replayed.tables[name]
        for key in sorted(rows.keys() | other.keys()):
            if rows.get(key) != other.get(key):
                what = "missing" if key not in rows else "stray" if key not in other else "altered"
                out.append(f"{name}/{'/'.join(key)}: {what}")
    return out


def make_equal(live: Unit, scratch: Unit, lane_id: int) -> int:
    """Make the live lane's rows equal to the scratch store's, changing only rows that differ; return their number."""
    before, after = snapshot(live, lane_id), snapshot(scratch, lane_id)
    touched = 0
    for table in DERIVED:
        rows, other = before.tables[table.name], after.tables[table.name]
        stale = [key for key, value in rows.items() if other.get(key) != value]
        fresh = {key for key, value in other.items() if rows.get(key) != value}
        touched += len(set(stale) | fresh)
        keys = [column for column in table.primary_key.columns if column.name not in _SKIPPED]
        for key in stale:
            numbers = [isinstance(column.type, sa.Integer) for column in keys]
            parts = [int(part) if number else part for part, number in zip(key, numbers, strict=True)]
            condition = [column == part for column, part in zip(keys, parts, strict=True)]
            live.run(sa.delete(table).where(table.c.tenant_id == live.tenant, table.c.lane_id == lane_id, *condition))
        home = _HOMES.get(table)
        if home is not None:
            # Another text under the same id: its vector is of the old one.
            changed = [document_id(item, part, int(n)) for item, part, n in (key for key in stale if key in fresh)]
            delete_vectors(live, lane_id, changed, home=home)
        if fresh:
            query = sa.select(table).where(table.c.tenant_id == scratch.tenant, table.c.lane_id == lane_id)
            wanted = [
                dict(row)
                for row in scratch.run(query).mappings()
                if tuple(str(row[column.name]) for column in keys) in fresh
            ]
            for batch in batches(wanted):
                insert(live, table, [{**row, "tenant_id": live.tenant} for row in batch])
    return touched


# In-memory store with the same tables, for replays.


@contextmanager
def open_scratch(tenant: str, lane: Lane) -> Iterator[Unit]:
    """Return a unit on an empty store with one lane, as it was before its first entry."""
    database = in_memory()
    try:
        with database.transaction(tenant, "derive") as unit:
            for statement in sqlite_statements():
                unit.driver.execute(statement)
            row = dataclasses.asdict(lane) | {"applied_seq": 0, "documents_seq": 0}
            insert(unit, lanes, [{"tenant_id": tenant, **row}])
            yield unit
    finally:
        database.close()
