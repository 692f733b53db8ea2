"""SQL conditions for the items a read may return: scope, attributes, filters, valid time and transaction time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.items import DUE, Item
from phronesis.core.statements import LASTING
from phronesis.core.timestamps import from_micros, isoformat, to_micros
from phronesis.errors import InputError
from phronesis.store.compiled_statements import bound_lane, fetch, own_rows
from phronesis.store.database import Unit
from phronesis.store.dialects import json_key, member_text
from phronesis.store.filters import compile_filters, mentions_ended
from phronesis.store.items import COLUMNS, as_item, of_kinds, read_where
from phronesis.store.lanes import Lane
from phronesis.store.schema import LIVE, items
from phronesis.traits.laws.strength import TRAIT, UNRECALLED_STAGES

# Places in a session are the order of what one entry recorded; an expression, since NULL has no place of its own.
_POSITION: Final = sa.func.coalesce(items.c.position, sa.literal_column("-1"))
_PLACE: Final = (items.c.recorded_at, _POSITION, items.c.id)
NEWEST: Final = tuple(column.desc() for column in _PLACE)
"""Newest first, by columns that never change, so that a cursor stays valid."""

_LIVE: Final = sa.text(LIVE)
_SECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True, order=True)
class ItemPosition:
    """The position of an item, oldest first: time of recording, place in that session, id."""

    recorded_at: int
    position: int
    id: str

    @classmethod
    def of(cls, item: Item) -> "ItemPosition":
        """Return an item's position."""
        return cls(to_micros(item.recorded_at), -1 if item.position is None else item.position, item.id)


@dataclass(frozen=True, slots=True)
class ReadConditions:
    """The conditions of a read. Times are microseconds; ``attributes`` are ANDed hot columns.

    ``due_by``: in a listing, only what may be due up to that time; with ``as_of``, history decides. ``parts``: the
    only parts that a search looks through (``claim``); each result then lists every matching part. ``recalled``: leave
    out traits that may not be recalled (``traits.laws.strength``); with ``as_of``, history decides. A search
    leaves out ``exclude_session``: its messages and what was extracted from them.
    """

    kinds: Sequence[str] | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, Any] | None = None
    as_of: int | None = None
    valid_at: int | None = None
    due_by: int | None = None
    parts: str | None = None
    recalled: bool = False
    now: int | None = None
    exclude_session: str | None = None

    @property
    def past(self) -> bool:
        """Return whether the read asks for items that ordinary reads leave out."""
        return self.as_of is not None or self.valid_at is not None or mentions_ended(self.filters)

    @property
    def narrow(self) -> bool:
        """Return whether the database must select the items; an in-memory index filters by kind alone."""
        return bool(self.attributes or self.filters) or self.past

    @property
    def scanned(self) -> bool:
        """Return whether the index of all visible items is the best one for the read."""
        indexed = {"session_id", "run_id"} & self.attributes.keys()
        return not self.past and not indexed and (self.kinds is None or "message" in self.kinds)

    def carries(self, item: Item) -> bool:
        """Return whether an item has the wanted attributes, and is not excluded."""
        if self.exclude_session is not None and item.session_id == self.exclude_session:
            return False
        return all(getattr(item, name) == value for name, value in self.attributes.items())

    def conditions(self) -> list[sa.ColumnElement[bool]]:
        """Return the SQL conditions on a lane's items.

        With ``as_of``, ended and archived items are included, since their history decides. Items that are quarantined
        today are never shown, whatever their state was then.
        """
        out: list[sa.ColumnElement[bool]] = [items.c.quarantine.is_(None)]
        if self.kinds is not None:
            out += of_kinds(self.kinds)
        out += [items.c[name] == value for name, value in self.attributes.items()]
        compiled = compile_filters(self.filters)
        if compiled is not None:
            out.append(compiled)
        if self.due_by is not None and self.as_of is None:
            out.append(_due_before(sa.literal(_bound(self.due_by))))
        if self.recalled and self.as_of is None:
            guessed = sa.func.coalesce(items.c.stage, "").in_([sa.literal(stage) for stage in UNRECALLED_STAGES])
            out.append(sa.or_(items.c.kind != TRAIT, sa.and_(items.c.ended.is_(None), sa.not_(guessed))))
        if self.as_of is not None:
            out.append(items.c.recorded_at <= self.as_of)
        elif self.valid_at is not None:
            out += [items.c.status == "active"]
            out.append(sa.or_(items.c.ended.is_(None), items.c.ended.in_(("superseded", "retired"))))
        elif not self.past:
            out += [items.c.status == "active", items.c.ended.is_(None)]
            if self.now is not None:
                other = items.c.kind.not_in([sa.literal(kind) for kind in LASTING])
                out.append(sa.or_(items.c.valid_to.is_(None), items.c.valid_to > self.now, other))
        if self.valid_at is not None and self.as_of is None:
            out.append(sa.or_(items.c.valid_from.is_(None), items.c.valid_from <= self.valid_at))
            out.append(sa.or_(items.c.valid_to.is_(None), items.c.valid_to > self.valid_at))
        return out


def check_kinds(kinds: object, known: Sequence[str]) -> list[str] | None:
    """Return the kinds as a list, or None for all; InputError names an unknown one."""
    if kinds is None:
        return None
    listed = [kinds] if isinstance(kinds, str) else list(kinds) if isinstance(kinds, list | tuple | set) else None
    if listed is None or any(kind not in known for kind in listed):
        raise InputError(f"kinds must be a list of {', '.join(known)}; got {kinds!r:.80}", field="kinds")
    return listed


def eligible_ids(unit: Unit, lane: Lane, wanted: ReadConditions) -> set[str]:
    """Return the ids of the lane's visible items."""
    query = sa.select(items.c.id).where(*own_rows(unit, items, lane_id=lane.lane_id), *wanted.conditions())
    return set(unit.run(query).scalars().all())  # row by row it takes three times as long


def items_in_quarantine(unit: Unit, lane: Lane, attributes: Mapping[str, str], *, limit: int) -> list[Item]:
    """Return the lane's quarantined items, newest first; ``attributes`` are ANDed hot columns."""
    conditions = [items.c.quarantine.is_not(None), items.c.status == "active", items.c.ended.is_(None)]
    conditions += [items.c[name] == value for name, value in attributes.items()]
    return read_where(unit, lane, *conditions, order=NEWEST, limit=limit)


def newest_items(
    unit: Unit, lane: Lane, wanted: ReadConditions, *, limit: int | None, weightiest: bool = False
) -> list[Item]:
    """Return the lane's visible items, newest first; with ``weightiest``, the most important first."""
    if wanted.filters or wanted.past:
        return read_where(unit, lane, *wanted.conditions(), order=_order(weightiest=weightiest), limit=limit)
    # Every context asks this several times: it goes past SQLAlchemy (docs/decisions/03).
    query = _newest(
        None if wanted.kinds is None else tuple(sorted(wanted.kinds)),
        tuple(sorted(wanted.attributes)),
        due=wanted.due_by is not None,
        recalled=wanted.recalled,
        now=wanted.now is not None,
        weightiest=weightiest,
        limited=limit is not None,
    )
    attributes = {f"a_{name}": value for name, value in wanted.attributes.items()}
    bound = {"t": unit.tenant, "l": lane.lane_id, "limit": limit, "now": wanted.now, **attributes}
    if wanted.due_by is not None:
        bound["due"] = _bound(wanted.due_by)
    return [as_item(row, lane) for row in fetch(unit, query, bound)]


@lru_cache(maxsize=256)
def _newest(
    kinds: tuple[str, ...] | None,
    names: tuple[str, ...],
    *,
    due: bool,
    recalled: bool,
    now: bool,
    weightiest: bool,
    limited: bool,
) -> sa.Select[Any]:
    attributes: Any = {name: sa.bindparam(f"a_{name}") for name in names}
    moment: Any = sa.bindparam("now", type_=sa.BigInteger) if now else None
    wanted = ReadConditions(kinds=kinds, attributes=attributes, recalled=recalled, now=moment)
    before = [_due_before(sa.bindparam("due", type_=sa.Text))] if due else []
    query = sa.select(*COLUMNS).where(*bound_lane(items), *wanted.conditions(), *before)
    query = query.order_by(*_order(weightiest=weightiest))
    return query.limit(sa.bindparam("limit", type_=sa.Integer)) if limited else query


def _order(*, weightiest: bool) -> Sequence[Any]:
    return (items.c.importance.desc(), *NEWEST) if weightiest else NEWEST


def _due_before(bound: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    return member_text(items.c.data, json_key(DUE)) < bound


def _bound(due_by: int) -> str | None:
    # Times of one form sort as texts but for parts of a second, so that the whole next second is let through.
    return isoformat(from_micros(due_by // _SECOND * _SECOND + _SECOND))


def items_before(
    unit: Unit, lane: Lane, wanted: ReadConditions, before: ItemPosition | None, *, limit: int | None
) -> list[Item]:
    """Return the lane's next visible items: ``limit`` of them, all when it is None.

    Named kinds are read one at a time, each from its index and no further than a page.
    """
    apart = wanted.kinds is not None and limit is not None
    parts = [replace(wanted, kinds=[kind]) for kind in dict.fromkeys(wanted.kinds or ())] if apart else [wanted]
    found = [
        item
        for part in parts
        for item in read_where(unit, lane, *_page_conditions(part, before), order=NEWEST, limit=limit)
    ]
    return found if len(parts) == 1 else sorted(found, key=ItemPosition.of, reverse=True)[:limit]


def _page_conditions(wanted: ReadConditions, before: ItemPosition | None) -> list[sa.ColumnElement[bool]]:
    conditions = wanted.conditions()
    if wanted.scanned:
        conditions.append(_LIVE)  # type: ignore[arg-type]
    if before is not None:
        bound = (sa.literal(before.recorded_at, sa.BigInteger), sa.literal(before.position), sa.literal(before.id))
        # Said apart, since PostgreSQL under row-level security enters an index by what cannot leak alone.
        conditions += [items.c.recorded_at <= bound[0], sa.tuple_(*_PLACE) < sa.tuple_(*bound)]
    return conditions
