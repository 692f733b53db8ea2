"""Items by a caller's own names (``external_id``), few columns of each: one, those between two names, their heads."""

from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.storage.database import Unit
from phronesis.storage.lanes import Lane
from phronesis.storage.prepared import fetch
from phronesis.storage.schema import items
from phronesis.storage.statements import batches, list_value, listed

_LIVE: Final = (items.c.status == sa.literal_column("'active'"), items.c.ended.is_(None), items.c.quarantine.is_(None))
_SHOWN: Final = (
    items.c.tenant_id == sa.bindparam("t"), items.c.lane_id == sa.bindparam("l"),
    items.c.external_id >= sa.bindparam("low"), items.c.external_id < sa.bindparam("high"),
    *_LIVE,
)  # fmt: skip
_NEWEST: Final = (items.c.updated_at.desc(), items.c.id.desc())


class NamedRow(NamedTuple):
    """What a listing of named items shows of one; times are microseconds."""

    id: str
    external_id: str | None
    metadata: Any
    recorded_at: int
    updated_at: int


_COLUMNS: Final = tuple(items.c[name] for name in NamedRow._fields)
_ONE: Final = sa.select(*_COLUMNS).where(
    items.c.tenant_id == sa.bindparam("t"), items.c.lane_id == sa.bindparam("l"),
    items.c.external_id == sa.bindparam("x"), *_LIVE,
)  # fmt: skip
_ALL: Final = sa.select(*_COLUMNS).where(*_SHOWN).order_by(*_NEWEST)
_PAGE: Final = (
    sa.select(items.c.id).where(*_SHOWN).order_by(*_NEWEST)
    .limit(sa.bindparam("limit", type_=sa.Integer)).offset(sa.bindparam("offset", type_=sa.Integer))
)  # fmt: skip


def row_named(unit: Unit, lane: Lane, external_id: str) -> NamedRow | None:
    """Give the item of a name that ordinary reads show, or None."""
    found = fetch(unit, _ONE, {"t": unit.tenant, "l": lane.lane_id, "x": external_id})
    return NamedRow(*found[-1]) if found else None


def heads_between(unit: Unit, lane: Lane, low: str, high: str, *, until: str) -> list[str]:
    """Give what stands ahead of the first ``until`` in the names of the items that ordinary reads show, each once.

    Names from ``low`` up to ``high``, without it; one that lacks ``until`` has no head that counts.
    """
    bound = {**_bound(unit, lane, low, high), "until": until}
    return [row[0] for row in fetch(unit, _heads(unit.dialect), bound)]


@cache
def _heads(dialect: str) -> sa.Select[Any]:
    name, until = items.c.external_id, sa.bindparam("until", type_=sa.Text)
    one: sa.ColumnClause[int] = sa.literal_column("1")
    if dialect == "postgresql":
        head = sa.func.split_part(name, until, one)
    else:
        head = sa.func.substr(name, one, sa.func.instr(name, until) - one)
    return sa.select(head).where(*_SHOWN).distinct()


def rows_between(
    unit: Unit, lane: Lane, low: str, high: str, *, limit: int | None = None, offset: int = 0
) -> list[NamedRow]:
    """Give the items of these names, those first that changed last; with ``limit`` only that many after ``offset``."""
    bound = _bound(unit, lane, low, high)
    if limit is None:
        return [NamedRow(*row) for row in fetch(unit, _ALL, bound)][offset:]
    # From the index alone; the rows, which may be long, are read of the page only.
    ids = [row[0] for row in fetch(unit, _PAGE, {**bound, "limit": limit, "offset": offset})]
    found: dict[str, NamedRow] = {}
    for batch in batches(ids):
        named = {"t": unit.tenant, "l": lane.lane_id, "ids": list_value(unit.dialect, batch)}
        found |= {row[0]: NamedRow(*row) for row in fetch(unit, _by_ids(unit.dialect), named)}
    return [found[one] for one in ids]


@cache
def _by_ids(dialect: str) -> sa.Select[Any]:
    lane = items.c.lane_id + sa.literal_column("0")  # else SQLite would walk the lane
    return sa.select(*_COLUMNS).where(
        items.c.tenant_id == sa.bindparam("t"), lane == sa.bindparam("l"), listed(items.c.id, dialect)
    )


def _bound(unit: Unit, lane: Lane, low: str, high: str) -> dict[str, Any]:
    return {"t": unit.tenant, "l": lane.lane_id, "low": low, "high": high}
