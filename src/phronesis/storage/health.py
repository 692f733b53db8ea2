"""How the database itself is set up: what ``doctor`` looks at below the tables' contents."""

import shutil
from pathlib import Path

import sqlalchemy as sa

from phronesis.storage.database import Database, Mode, Unit
from phronesis.storage.schema import items, metadata
from phronesis.storage.truth_tables import entries, lanes, outcomes


def sqlite_settings(database: Database, tenant: str, mode: Mode) -> dict[str, str]:
    """Give the pragmas that durability and erasure stand on, as a transaction of that mode has them."""
    names = ("journal_mode", "synchronous", "secure_delete")
    with database.transaction(tenant, mode) as unit:
        return {name: str(unit.connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()).lower() for name in names}


def free_bytes(database: Database) -> int | None:
    """Give the free space beside a SQLite file; None for a server or a database in memory."""
    if database.path is None:
        return None
    return shutil.disk_usage(Path(database.path).absolute().parent).free


def try_writing(database: Database, tenant: str) -> None:
    """Write a row, and delete it in the same transaction; StorageError when the database cannot be written."""
    row = {"tenant_id": tenant, "lane_id": 0, "kind": "shared", "name": None, "head_seq": 0, "applied_seq": 0,
           "documents_seq": 0, "epoch": 0, "last_recorded_at": 0, "head_hash": ""}  # fmt: skip
    with database.transaction(tenant, "append") as unit:
        unit.run(sa.insert(lanes), row)
        unit.run(sa.delete(lanes).where(lanes.c.tenant_id == tenant, lanes.c.lane_id == 0))


def unprotected_tables(database: Database, tenant: str) -> list[str]:
    """Give PostgreSQL's tables of ours whose rows other tenants could see: without forced row-level security.

    The role's name stands for all of them when it bypasses row-level security.
    """
    with database.transaction(tenant, "read") as unit:
        bypassing = unit.run(
            sa.text("SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)")
        ).scalar_one_or_none()
        if bypassing is not None:
            return [f"role {bypassing}"]
        query = sa.text(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname IN ('phronesis', 'phronesis_resources') AND c.relkind IN ('r', 'p')"
            " AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY c.relname"
        )
        ours = {table.name for table in metadata.tables.values()}
        return [name for name in unit.run(query).scalars() if name in ours]


def entries_with_outcome(unit: Unit, role: str) -> list[str]:
    """Give the ids of entries that have an outcome of this role, by lane and in order."""
    query = (
        sa.select(entries.c.entry_id)
        .join(outcomes, sa.and_(outcomes.c.tenant_id == unit.tenant, outcomes.c.entry_id == entries.c.entry_id))
        .where(entries.c.tenant_id == unit.tenant, outcomes.c.role == role)
        .order_by(entries.c.lane_id, entries.c.seq)
    )
    return list(unit.run(query).scalars())


def count_by_kind(unit: Unit) -> dict[str, int]:
    """Give how many items of each kind a tenant holds, archived and ended ones too."""
    query = (
        sa.select(items.c.kind, sa.func.count().label("number"))
        .where(items.c.tenant_id == unit.tenant)
        .group_by(items.c.kind)
    )
    return {str(row.kind): int(row.number) for row in unit.run(query)}
