"""Counts of live items, by lane and kind: one statement for all lanes."""

from collections.abc import Mapping
from typing import Final

import sqlalchemy as sa

from phronesis.storage.database import Unit
from phronesis.storage.schema import items

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
    """Give how many live items of each kind each lane of the tenant holds, or one lane alone."""
    bound = {"t": unit.tenant}
    query = _COUNTS if lane_id is None else _IN_LANE
    out: dict[int, dict[str, int]] = {}
    rows = unit.run(query, bound if lane_id is None else {**bound, "l": lane_id})
    for number, kind, count in map(tuple, rows):
        out.setdefault(number, {})[kind] = count
    return dict(out)


def count_quarantined(unit: Unit, lane_id: int | None = None) -> int:
    """Give how many items of the tenant, or of one lane, wait for somebody's word."""
    bound = {"t": unit.tenant}
    if lane_id is None:
        return int(unit.run(_HELD, bound).scalar_one())
    return int(unit.run(_HELD_IN_LANE, {**bound, "l": lane_id}).scalar_one())
