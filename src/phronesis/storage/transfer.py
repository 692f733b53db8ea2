"""A lane's log on its way between stores: read with all that belongs to its entries, and staged before it counts.

A staged lane has entries beyond its head. Nobody reads, drains or appends after them: only ``publish_lane`` moves the
head, when the last one is there. A new lane has no name until then, so that no write finds it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from phronesis.storage.database import Unit
from phronesis.storage.lanes import Lane
from phronesis.storage.statements import batches, insert, insert_ignore
from phronesis.storage.truth_tables import entries, failures, lanes, tenants


def tenant_secret(unit: Unit) -> bytes | None:
    """Give the tenant's secret, or None for a tenant that never wrote."""
    known = unit.run(sa.select(tenants.c.secret).where(tenants.c.tenant_id == unit.tenant)).scalar_one_or_none()
    return None if known is None else bytes(known)


def failures_of(unit: Unit, entry_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Give the failed tries recorded for some entries, by entry."""
    columns = (failures.c.entry_id, failures.c.attempts, failures.c.code, failures.c.message, failures.c.at)
    out: dict[str, dict[str, Any]] = {}
    for batch in batches(entry_ids):
        query = sa.select(*columns).where(failures.c.tenant_id == unit.tenant, failures.c.entry_id.in_(batch))
        for row in unit.run(query).mappings():
            out[row["entry_id"]] = {name: value for name, value in row.items() if name != "entry_id"}
    return out


def insert_failure(unit: Unit, lane_id: int, entry_id: str, row: Mapping[str, Any]) -> None:
    """Store the failed tries of an entry."""
    insert(unit, failures, [{"tenant_id": unit.tenant, "lane_id": lane_id, "entry_id": entry_id, **row}])


def stage_lane(unit: Unit, lane_id: int, kind: str, *, head_hash: str) -> None:
    """Make an empty lane without a name under the number it has elsewhere; nothing when it is there already."""
    row = {
        "tenant_id": unit.tenant, "lane_id": lane_id, "kind": kind, "name": None, "head_seq": 0, "applied_seq": 0,
        "documents_seq": 0, "epoch": 0, "last_recorded_at": 0, "head_hash": head_hash,
    }  # fmt: skip
    insert_ignore(unit, lanes, [row])


def last_seq(unit: Unit, lane_id: int) -> int:
    """Give the seq of the last entry that is stored for a lane, staged ones included; 0 for none."""
    query = sa.select(sa.func.max(entries.c.seq)).where(
        entries.c.tenant_id == unit.tenant, entries.c.lane_id == lane_id
    )
    return unit.run(query).scalar_one() or 0


def find_numbered(unit: Unit, lane_id: int) -> Lane | None:
    """Give the lane of a number, or None."""
    columns = [lanes.c[name] for name in Lane.__dataclass_fields__]
    query = sa.select(*columns).where(lanes.c.tenant_id == unit.tenant, lanes.c.lane_id == lane_id)
    row = unit.run(query).mappings().one_or_none()
    return None if row is None else Lane(**row)


def publish_lane(
    unit: Unit, lane_id: int, *, name: str | None, head_seq: int, head_hash: str, last_recorded_at: int
) -> None:
    """Let the staged entries of a locked lane count."""
    values = {"name": name, "head_seq": head_seq, "head_hash": head_hash, "last_recorded_at": last_recorded_at}
    unit.run(sa.update(lanes).where(lanes.c.tenant_id == unit.tenant, lanes.c.lane_id == lane_id).values(values))
