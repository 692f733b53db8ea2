"""Statements on items by external id (one item, a range of ids, or their heads), and ids by their beginning or end."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from phronesis.store.compiled_statements import batches, bound_lane, fetch, list_value, listed_in_lane
from phronesis.store.database import Unit
from phronesis.store.dialects import contains
from phronesis.store.lanes import Lane
from phronesis.store.schema import VISIBLE, api_keys, deltas, entities, entries, items

_IN_LANE: Final = (*bound_lane(items), *VISIBLE)
_BETWEEN: Final = (items.c.external_id >= sa.bindparam("low"), items.c.external_id < sa.bindparam("high"))
_SHOWN: Final = (*_IN_LANE, *_BETWEEN)
_NEWEST: Final = (items.c.updated_at.desc(), items.c.id.desc())


class NamedRow(NamedTuple):
    """The columns of a named item in a listing; times are microseconds, ``size`` is the content's length in bytes."""

    id: str
    external_id: str | None
    metadata: Any
    recorded_at: int
    updated_at: int
    size: int


class RowPage(NamedTuple):
    """A page of rows: those that meet a condition, ``limit`` of them after ``offset``."""

    limit: int | None = None
    offset: int = 0
    meets: Callable[[NamedRow], bool] | None = None


EVERY: Final = RowPage()


def row_named(unit: Unit, lane: Lane, external_id: str) -> NamedRow | None:
    """Return the visible item of an external id, or None."""
    found = fetch(unit, _item_query(unit.dialect), {"t": unit.tenant, "l": lane.lane_id, "x": external_id})
    return NamedRow(*found[-1]) if found else None


def heads_between(unit: Unit, lane: Lane, low: str, high: str, *, until: str) -> set[str]:
    """Return the distinct prefixes, up to the first ``until``, of the names of visible items.

    Names from ``low`` up to ``high``, exclusive; a name without ``until`` has no prefix.
    """
    bound = {**_bound(unit, lane, low, high), "until": until}
    return {row[0] for row in fetch(unit, _heads(unit.dialect), bound)}


def rows_between(unit: Unit, lane: Lane, low: str, high: str, asked: RowPage = EVERY) -> list[NamedRow]:
    """Return the items of these names, last changed first."""
    # The names come from the index alone; the rows, which may be long, are read of the page only.
    last = None if asked.limit is None else asked.offset + asked.limit
    statement = _FIRST_IDS if asked.meets is None and last is not None else _IDS_BETWEEN
    ids = [row[0] for row in fetch(unit, statement, {**_bound(unit, lane, low, high), "last": last})]
    if asked.meets is None:
        ids = ids[asked.offset :]
    out: list[NamedRow] = []
    for batch in batches(ids):
        if last is not None and len(out) >= last:
            break
        named = {"t": unit.tenant, "l": lane.lane_id, "ids": list_value(unit.dialect, batch)}
        found = {row[0]: NamedRow(*row) for row in fetch(unit, _by_ids(unit.dialect), named)}
        out += [found[one] for one in batch if asked.meets is None or asked.meets(found[one])]
    return out if asked.meets is None else out[asked.offset : last]


@cache
def _columns(dialect: str) -> list[Any]:
    words = items.c.content
    size = sa.func.octet_length(words) if dialect == "postgresql" else sa.func.length(sa.cast(words, sa.LargeBinary))
    return [*(items.c[name] for name in NamedRow._fields if name != "size"), sa.type_coerce(size, sa.Integer)]


@cache
def _item_query(dialect: str) -> sa.Select[Any]:
    return sa.select(*_columns(dialect)).where(*_IN_LANE, items.c.external_id == sa.bindparam("x"))


@cache
def _by_ids(dialect: str) -> sa.Select[Any]:
    return sa.select(*_columns(dialect)).where(*listed_in_lane(items.c.id, dialect))


_IDS_BETWEEN: Final = sa.select(items.c.id).where(*_SHOWN).order_by(*_NEWEST)
_FIRST_IDS: Final = _IDS_BETWEEN.limit(sa.bindparam("last", type_=sa.Integer))


@cache
def _heads(dialect: str) -> sa.Select[Any]:
    name, until = items.c.external_id, sa.bindparam("until", type_=sa.Text)
    one: sa.ColumnClause[int] = sa.literal_column("1")
    prefix: Any = sa.func.substr(name, one, sa.func.instr(name, until) - one)
    if dialect == "postgresql":
        prefix = sa.func.split_part(name, until, one)
    return sa.select(prefix).where(*_SHOWN, contains(name, until)).distinct()


def _bound(unit: Unit, lane: Lane, low: str, high: str) -> dict[str, Any]:
    return {"t": unit.tenant, "l": lane.lane_id, "low": low, "high": high}


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
