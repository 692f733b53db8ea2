"""Database settings for ``doctor``, and counts of live items by lane and kind."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import sqlalchemy as sa

from phronesis.store.database import Database, Mode, Unit
from phronesis.store.schema import deltas, entities, items, metadata
from phronesis.store.side_tables import api_keys, entries, lanes, outcomes

# Counts of live items by lane and kind, in one statement for all lanes.

_COUNTS: Final = (
    sa.select(items.c.lane_id, items.c.kind, sa.func.count())
    .where(
        items.c.tenant_id == sa.bindparam("t"),
        items.c.status == "active",
        items.c.ended.is_(None),
        items.c.quarantine.is_(None),
    )
    .group_by(items.c.lane_id, items.c.kind)
    .order_by(items.c.lane_id, items.c.kind)
)
_IN_LANE: Final = _COUNTS.where(items.c.lane_id == sa.bindparam("l"))
_HELD: Final = sa.select(sa.func.count()).where(
    items.c.tenant_id == sa.bindparam("t"),
    items.c.quarantine.is_not(None),
    items.c.status == "active",
    items.c.ended.is_(None),
)
_HELD_IN_LANE: Final = _HELD.where(items.c.lane_id == sa.bindparam("l"))


def counts_by_lane(unit: Unit, lane_id: int | None = None) -> dict[int, Mapping[str, int]]:
    """Return the number of live items of each kind for each lane of the tenant, or one lane alone."""
    bound = {"t": unit.tenant}
    query = _COUNTS if lane_id is None else _IN_LANE
    out: dict[int, dict[str, int]] = {}
    rows = unit.run(query, bound if lane_id is None else {**bound, "l": lane_id})
    for number, kind, count in map(tuple, rows):
        out.setdefault(number, {})[kind] = count
    return dict(out)


def count_quarantined(unit: Unit, lane_id: int | None = None) -> int:
    """Return the number of quarantined items of the tenant, or of one lane."""
    bound = {"t": unit.tenant}
    if lane_id is None:
        return int(unit.run(_HELD, bound).scalar_one())
    return int(unit.run(_HELD_IN_LANE, {**bound, "l": lane_id}).scalar_one())


def sqlite_settings(database: Database, tenant: str, mode: Mode) -> dict[str, str]:
    """Return the pragmas that durability and erasure depend on, in a transaction of that mode."""
    names = ("journal_mode", "synchronous", "secure_delete")
    with database.transaction(tenant, mode) as unit:
        return {name: str(unit.connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()).lower() for name in names}


def free_bytes(database: Database) -> int | None:
    """Return the free bytes on a SQLite file's disk; None for a server or a database in memory."""
    if database.path is None:
        return None
    return shutil.disk_usage(Path(database.path).absolute().parent).free


def may_write(path: str) -> bool:
    """Return whether this process may write to a SQLite file."""
    return os.access(path, os.W_OK)


def try_writing(database: Database, tenant: str) -> None:
    """Write a row and delete it in the same transaction; StorageError when the database cannot be written."""
    row = {
        "tenant_id": tenant,
        "lane_id": 0,
        "kind": "shared",
        "name": None,
        "head_seq": 0,
        "applied_seq": 0,
        "documents_seq": 0,
        "epoch": 0,
        "last_recorded_at": 0,
        "head_hash": "",
    }
    with database.transaction(tenant, "append") as unit:
        unit.run(sa.insert(lanes), row)
        unit.run(sa.delete(lanes).where(lanes.c.tenant_id == tenant, lanes.c.lane_id == 0))


def bypassing_role(database: Database, tenant: str) -> str | None:
    """Return the name of the transactions' PostgreSQL role if it bypasses row-level security."""
    with database.transaction(tenant, "read") as unit:
        return unit.run(
            sa.text("SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)")
        ).scalar_one_or_none()


def unprotected_tables(database: Database, tenant: str) -> list[str]:
    """Return the PostgreSQL tables without forced row-level security, with their schema."""
    with database.transaction(tenant, "read") as unit:
        query = sa.text(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname IN ('phronesis', 'phronesis_resources') AND c.relkind IN ('r', 'p')"
            " AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY c.relname"
        )
        ours = {table.name for table in metadata.tables.values()}
        return [f"{row.nspname}.{row.relname}" for row in unit.run(query) if row.relname in ours]


def bind_role_sql(role: str) -> str:
    """Return the SQL that makes row-level security apply to a role."""
    return f'ALTER ROLE "{role}" NOSUPERUSER NOBYPASSRLS'


def force_policies_sql(tables: Sequence[str]) -> str:
    """Return the SQL that forces row-level security on tables."""
    return "; ".join(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY" for table in tables)


def entries_with_outcome(unit: Unit, role: str) -> list[str]:
    """Return the ids of entries that have an outcome of this role, by lane and in order."""
    query = (
        sa.select(entries.c.entry_id)
        .join(outcomes, sa.and_(outcomes.c.tenant_id == unit.tenant, outcomes.c.entry_id == entries.c.entry_id))
        .where(entries.c.tenant_id == unit.tenant, outcomes.c.role == role)
        .order_by(entries.c.lane_id, entries.c.seq)
    )
    return list(unit.run(query).scalars())


def count_by_kind(unit: Unit, *, since: int = 0) -> dict[str, int]:
    """Return the number of a tenant's items of each kind recorded since a moment, ended ones included."""
    query = (
        sa.select(items.c.kind, sa.func.count().label("number"))
        .where(items.c.tenant_id == unit.tenant, items.c.recorded_at >= since)
        .group_by(items.c.kind)
    )
    return {str(row.kind): int(row.number) for row in unit.run(query)}


_IDS: Final = (
    (items, items.c.id, items.c.kind, items.c.content),
    (entries, entries.c.entry_id, sa.literal("entry"), entries.c.verb),
    (deltas, deltas.c.id, sa.literal("change"), deltas.c.reason),
    (entities, entities.c.id, sa.literal("entity"), entities.c.name),
    (api_keys, api_keys.c.key_id, sa.literal("key"), api_keys.c.label),
)
"""Of each table: the id, what it is the id of, and words by which a person knows it."""


class FoundId(NamedTuple):
    """An id, what it is the id of, and words by which a person knows it."""

    id: str
    kind: str
    words: str


def find_ids(unit: Unit, *, beginning: str, end: str, limit: int) -> list[FoundId]:
    """Return at most ``limit`` ids of the tenant that have this beginning or this end.

    No index helps to find an end: the ids of each table are scanned, in an index that holds nothing else.
    """
    found: dict[str, FoundId] = {}
    for table, identity, kind, words in _IDS:
        mine = table.c.tenant_id == unit.tenant
        like = sa.or_(identity.like(f"{beginning}%"), identity.like(f"%{end}"))
        ids = sa.select(identity).where(mine, like).order_by(identity).limit(limit)
        query = sa.select(identity.label("id"), kind.label("kind"), words.label("words")).where(mine, identity.in_(ids))
        for row in unit.run(query.order_by(identity)):
            found.setdefault(row.id, FoundId(row.id, row.kind, row.words))
    return list(found.values())[:limit]
