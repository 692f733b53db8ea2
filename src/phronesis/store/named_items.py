"""Statements on items by external id (one item, a range of ids, or their heads), and ids by their beginning or end."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple

import sqlalchemy as sa

from phronesis.store.compiled_statements import batches, bound_lane, fetch, list_value, listed_in_lane
from phronesis.store.database import Unit
from phronesis.store.dialects import bound_json_key, contains, has_member, member_number, member_text, parsed
from phronesis.store.lanes import Lane
from phronesis.store.schema import api_keys, deltas, entities, entries, items

Order = Literal["eq", "lt", "gt"]

_LIVE: Final = (items.c.status == sa.literal_column("'active'"), items.c.ended.is_(None), items.c.quarantine.is_(None))
_IN_LANE: Final = (*bound_lane(items), *_LIVE)
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


class MemberComparison(NamedTuple):
    """A comparison with a member of a JSON text; texts are compared by ``eq`` alone."""

    member: str
    order: Order
    value: str | float


class MemberConditions(NamedTuple):
    """Conditions, all of which must hold, on members of the JSON text under ``key`` in items' metadata.

    The database may let more through (values of another type, escapes that PostgreSQL may reject); callers check
    again.
    """

    key: str
    compared: tuple[MemberComparison, ...] = ()


class RowPage(NamedTuple):
    """A page of rows: those that match ``inside`` and ``meets``, ``limit`` of them after ``offset``."""

    limit: int | None = None
    offset: int = 0
    inside: MemberConditions | None = None
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
    bound = _bound(unit, lane, low, high)
    # From the index alone where nothing is compared; the rows, which may be long, are read of the page only.
    compared = asked.inside.compared if asked.inside is not None else ()
    for n, one in enumerate(compared):
        bound |= {f"member{n}": one.member, f"value{n}": one.value}
    if compared and asked.inside is not None:
        bound["key"] = asked.inside.key
    kinds = tuple((one.order, isinstance(one.value, str)) for one in compared)
    last = None if asked.limit is None else asked.offset + asked.limit
    statement = _ids(unit.dialect, kinds, asked.meets is None and last is not None)
    ids = [row[0] for row in fetch(unit, statement, {**bound, "last": last})]
    out: list[NamedRow] = []
    for batch in batches(ids if asked.meets is not None else ids[asked.offset :]):
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


@lru_cache(maxsize=256)
def _ids(dialect: str, kinds: tuple[tuple[Order, bool], ...], ends: bool) -> sa.Select[Any]:
    """Return the statement of the ids; ``kinds`` give each comparison's operator, and whether it is with a text."""
    compared = _compared_in_postgresql if dialect == "postgresql" else _compared_in_sqlite
    found = sa.select(items.c.id).where(*_SHOWN, *(compared(kinds) if kinds else ())).order_by(*_NEWEST)
    return found.limit(sa.bindparam("last", type_=sa.Integer)) if ends else found


def _compared_in_sqlite(kinds: Sequence[tuple[Order, bool]]) -> Iterator[Any]:
    """Yield the conditions. SQLite orders texts after all numbers, and true is 1."""
    text = sa.func.json_extract(items.c.metadata, bound_json_key("key"))
    for n, (order, words) in enumerate(kinds):
        member = sa.func.json_extract(text, bound_json_key(f"member{n}"))
        value = sa.bindparam(f"value{n}", type_=sa.Text if words else sa.Double)
        if order == "lt":
            yield sa.not_(sa.between(member, value, sa.literal_column("9e999")))
        else:
            yield member == value if order == "eq" else member > value


def _compared_in_postgresql(kinds: Sequence[tuple[Order, bool]]) -> Iterator[Any]:
    # It may look at a row's JSON before its name, and fails on a text that is none.
    text = sa.case((sa.and_(*_BETWEEN), member_text(items.c.metadata, bound_json_key("key"))))
    found: list[Any] = []
    for n, (order, words) in enumerate(kinds):
        json, name = parsed(text), bound_json_key(f"member{n}")
        value: Any = sa.bindparam(f"value{n}", type_=sa.Text if words else sa.Double)
        member: Any = member_text(json, name) if words else member_number(json, name)
        holds = member == value if order == "eq" else member < value if order == "lt" else member > value
        found.append(holds if words else sa.func.coalesce(holds, has_member(json, name)))
    yield sa.or_(contains(text, sa.literal_column(r"'\u'")), sa.and_(*found))


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
