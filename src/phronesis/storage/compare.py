"""Comparing the derived state of a lane in two stores, row by row, and making one like the other."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.canonical import encode, rounded
from phronesis.core.ids import document_id
from phronesis.storage.database import Unit
from phronesis.storage.documents import delete_vectors
from phronesis.storage.homes import HOMES
from phronesis.storage.schema import DERIVED
from phronesis.storage.statements import batches, insert

RowKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A lane's derived rows by table and primary key, each as its canonical bytes."""

    tables: Mapping[str, Mapping[RowKey, bytes]]

    @property
    def digest(self) -> str:
        """One hash of it all: equal exactly when every row is."""
        total = hashlib.sha256()
        for name in sorted(self.tables):
            total.update(name.encode())
            for key in sorted(self.tables[name]):
                total.update(self.tables[name][key])
        return total.hexdigest()


_SKIPPED: Final = frozenset({"tenant_id", "lane_id"})
_HOMES: Final = {home.documents: home for home in HOMES}


def snapshot(unit: Unit, lane_id: int) -> Snapshot:
    """Read a lane's derived rows. Floats are rounded, bytes are hexadecimal, keys are text."""
    return Snapshot({table.name: dict(_rows(unit, table, lane_id)) for table in DERIVED})


def _rows(unit: Unit, table: sa.Table, lane_id: int) -> Iterator[tuple[RowKey, bytes]]:
    keys = [column.name for column in table.primary_key.columns if column.name not in _SKIPPED]
    query = sa.select(table).where(table.c.tenant_id == unit.tenant, table.c.lane_id == lane_id)
    for row in unit.run(query).mappings():
        values = {name: _plain(value) for name, value in row.items() if name not in _SKIPPED}
        yield tuple(str(row[key]) for key in keys), encode(values)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value


def differences(live: Snapshot, replayed: Snapshot) -> list[str]:
    """Name the rows that differ: ``items/<id>: altered``, ``missing`` (live lacks it) or ``stray``. No text of them."""
    out: list[str] = []
    for name, rows in live.tables.items():
        other = replayed.tables[name]
        for key in sorted(rows.keys() | other.keys()):
            if rows.get(key) != other.get(key):
                what = "missing" if key not in rows else "stray" if key not in other else "altered"
                out.append(f"{name}/{'/'.join(key)}: {what}")
    return out


def make_equal(live: Unit, scratch: Unit, lane_id: int) -> int:
    """Make the live lane's rows those of the scratch store, touching only rows that differ; gives how many."""
    before, after = snapshot(live, lane_id), snapshot(scratch, lane_id)
    touched = 0
    for table in DERIVED:
        rows, other = before.tables[table.name], after.tables[table.name]
        stale = [key for key, value in rows.items() if other.get(key) != value]
        fresh = {key for key, value in other.items() if rows.get(key) != value}
        touched += len(set(stale) | fresh)
        keys = [column for column in table.primary_key.columns if column.name not in _SKIPPED]
        for key in stale:
            condition = [column == _typed(column, part) for column, part in zip(keys, key, strict=True)]
            live.run(sa.delete(table).where(table.c.tenant_id == live.tenant, table.c.lane_id == lane_id, *condition))
        home = _HOMES.get(table)
        if home is not None:
            # Another text under the same id: its vector is of the old one.
            delete_vectors(live, lane_id, [_document(key) for key in stale if key in fresh], home=home)
        if fresh:
            query = sa.select(table).where(table.c.tenant_id == scratch.tenant, table.c.lane_id == lane_id)
            wanted = [dict(row) for row in scratch.run(query).mappings()
                      if tuple(str(row[column.name]) for column in keys) in fresh]  # fmt: skip
            for batch in batches(wanted):
                insert(live, table, [{**row, "tenant_id": live.tenant} for row in batch])
    return touched


def _document(key: RowKey) -> str:
    item_id, part, version = key
    return document_id(item_id, part, int(version))


def _typed(column: sa.Column[Any], part: str) -> Any:
    return int(part) if isinstance(column.type, sa.Integer) else part
