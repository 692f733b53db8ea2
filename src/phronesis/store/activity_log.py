"""The log of contexts composed and requests answered: ids, numbers and times, never text, bounded by limits.

A row names its user and its session by numbers made of their names (``impressions``); a reader resolves them
against the lanes and sessions that are there. It is written in the background, so that no read waits for it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.context import ActivityLimits, TimedRequest
from phronesis.core.ids import LaneName
from phronesis.store.compiled_statements import each_in, insert_ignore, own_rows
from phronesis.store.database import Database, Unit
from phronesis.store.impressions import owner_of, session_of
from phronesis.store.lanes import list_lanes
from phronesis.store.schema import answered_requests, composed_contexts, items, sessions
from phronesis.store.write_behind import WriteBehind

MAX_WAITING: Final = 4_096
"""Maximum number of rows waiting in this process; the oldest are dropped."""

PRUNED_AFTER: Final = 64
"""Number of rows of a table after which what is over the limits is deleted again, which reads the whole table."""

_DAY: Final = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRow:
    """A context as stored; times in microseconds since 1970 UTC."""

    context_id: str
    at: int
    verb: str
    owner: str
    session: str | None
    namespace: str | None
    agent_id: str | None
    token_count: int
    token_budget: int
    milliseconds: float
    abstained: bool
    shown: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """A request as stored."""

    request_id: str
    at: int
    interface: str
    route: str
    status: str
    failed: bool
    milliseconds: float
    key_id: str | None
    owner: str | None


_Row = ContextRow | RequestRow


def user_number(user_id: str) -> str:
    """Return the number that stands for a user."""
    return owner_of(LaneName("user", user_id))


class ActivityLog(WriteBehind[_Row]):
    """Records contexts and requests; ``wake`` is called when rows are queued."""

    def __init__(self, database: Database, limits: ActivityLimits, wake: Callable[[], None]) -> None:
        super().__init__(database, most=MAX_WAITING)
        self.limits = limits
        self.wake = wake
        self._unpruned: dict[tuple[str, str], int] = {}
        """By tenant and table, the number of rows written since the last deletion; without one, it is due."""

    def note_context(self, tenant: str, row: ContextRow) -> None:
        """Queue a context. Never fails and never blocks."""
        if self.limits.contexts:
            self.queue(tenant, row)
            self.wake()

    def note_request(self, tenant: str, row: RequestRow) -> None:
        """Queue a request. Never fails and never blocks."""
        if self.limits.requests:
            self.queue(tenant, row)
            self.wake()

    def store(self, unit: Unit, notes: Sequence[_Row]) -> None:
        """Write rows, and now and then delete what is over the limits."""
        for table, record, kept in (
            (composed_contexts, ContextRow, self.limits.contexts),
            (answered_requests, RequestRow, self.limits.requests),
        ):
            some = [row for row in notes if isinstance(row, record)]
            if some:
                insert_ignore(unit, table, [{"tenant_id": unit.tenant, **asdict(row)} for row in some])
                place = (unit.tenant, table.name)
                written = self._unpruned.get(place, PRUNED_AFTER) + len(some)
                if written >= PRUNED_AFTER:
                    _delete_over(unit, table, kept, oldest=max(row.at for row in some) - self.limits.days * _DAY)
                    written = 0
                self._unpruned[place] = written


def _delete_over(unit: Unit, table: sa.Table, kept: int, *, oldest: int) -> None:
    """Delete all but the newest rows, and those from before ``oldest``."""
    own, number = own_rows(unit, table), _number_of(table)
    last = unit.run(
        sa.select(number).where(*own).order_by(number.desc()).offset(kept - 1).limit(1)
    ).scalar_one_or_none()
    over = table.c.at < oldest if last is None else sa.or_(table.c.at < oldest, number < last)
    unit.run(sa.delete(table).where(*own, over))


def forget_activity(unit: Unit, lane: LaneName, session_id: str | None = None) -> None:
    """Delete the contexts of a session; or those of a lane, and the requests that named its user."""
    if session_id is not None:
        mine = own_rows(unit, composed_contexts, session=session_of(lane, session_id))
        unit.run(sa.delete(composed_contexts).where(*mine))
        return
    for table in (composed_contexts, answered_requests):
        unit.run(sa.delete(table).where(*own_rows(unit, table, owner=owner_of(lane))))


# Reading: pages of rows, newest first, and the names behind their numbers.


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextQuery:
    """Which contexts: those that match every given member."""

    owner: str | None = None
    session: str | None = None
    verb: str | None = None
    agent_id: str | None = None
    item_id: str | None = None
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestQuery:
    """Which requests: those that match every given member."""

    owner: str | None = None
    interface: str | None = None
    route: str | None = None
    failed: bool | None = None
    since: int | None = None
    until: int | None = None


def list_contexts(unit: Unit, wanted: ContextQuery, *, before: str | None, limit: int) -> list[ContextRow]:
    """Return contexts, newest first: those before the id ``before``."""
    rows = _page(unit, composed_contexts, wanted, before=before, limit=limit)
    return [ContextRow(**{name: row[name] for name in ContextRow.__dataclass_fields__}) for row in rows]


def find_context(unit: Unit, context_id: str) -> ContextRow | None:
    """Return a context by id, or None."""
    columns = [composed_contexts.c[name] for name in ContextRow.__dataclass_fields__]
    own = own_rows(unit, composed_contexts, context_id=context_id)
    row = unit.run(sa.select(*columns).where(*own)).mappings().one_or_none()
    return None if row is None else ContextRow(**row)


def list_requests(unit: Unit, wanted: RequestQuery, *, before: str | None, limit: int) -> list[RequestRow]:
    """Return requests, newest first: those before the id ``before``."""
    rows = _page(unit, answered_requests, wanted, before=before, limit=limit)
    return [RequestRow(**{name: row[name] for name in RequestRow.__dataclass_fields__}) for row in rows]


def list_timings(unit: Unit, wanted: RequestQuery) -> list[TimedRequest]:
    """Return the route and the time of every matching request, at most as many as the limits keep."""
    columns = [answered_requests.c[name] for name in ("interface", "route", "failed", "milliseconds")]
    rows = unit.run(sa.select(*columns).where(*_conditions(unit, answered_requests, wanted)))
    return [TimedRequest(*row) for row in map(tuple, rows)]


def _page(
    unit: Unit, table: sa.Table, wanted: ContextQuery | RequestQuery, *, before: str | None, limit: int
) -> Iterable[Mapping[str, Any]]:
    number = _number_of(table)
    query = sa.select(table).where(*_conditions(unit, table, wanted))
    if before is not None:
        query = query.where(number < before)
    return map(dict, unit.run(query.order_by(number.desc()).limit(limit)).mappings())


def _number_of(table: sa.Table) -> sa.Column[Any]:
    return next(column for column in table.primary_key if column.name != "tenant_id")


def _conditions(unit: Unit, table: sa.Table, wanted: ContextQuery | RequestQuery) -> Iterator[sa.ColumnElement[bool]]:
    """Yield the conditions of the given members; ``since`` and ``until`` bound the time, the others are columns."""
    yield table.c.tenant_id == unit.tenant
    for name, value in asdict(wanted).items():
        if value is None:
            continue
        if name == "item_id":  # an id has no character that LIKE takes for another
            yield sa.cast(table.c.shown, sa.Text).like(f'%"{value}"%')
        elif name == "since":
            yield table.c.at >= value
        elif name == "until":
            yield table.c.at < value
        else:
            yield table.c[name] == value


def lanes_by_number(unit: Unit, numbers: Collection[str]) -> dict[str, tuple[int, LaneName]]:
    """Return the lanes that numbers stand for, each with its id and name; erased and unknown ones are left out."""
    wanted, out = set(numbers), dict[str, tuple[int, LaneName]]()
    for lane in list_lanes(unit) if wanted else ():
        if lane.name is not None and (number := owner_of(name := LaneName(lane.kind, lane.name))) in wanted:
            out[number] = (lane.lane_id, name)
    return out


def sessions_by_number(unit: Unit, lanes: Collection[tuple[int, LaneName]], numbers: Collection[str]) -> dict[str, str]:
    """Return the names of the sessions that numbers stand for, in some lanes; those without a turn are left out."""
    wanted, names = set(numbers), dict(lanes)
    query = sa.select(sessions.c.lane_id, sessions.c.session_id).where(
        *own_rows(unit, sessions), sessions.c.lane_id.in_(names)
    )
    rows = unit.run(query) if wanted else ()
    named = ((session_of(names[lane_id], session_id), session_id) for lane_id, session_id in map(tuple, rows))
    return {number: session_id for number, session_id in named if number in wanted}


def lanes_of_items(unit: Unit, item_ids: Collection[str]) -> dict[int, list[str]]:
    """Return those of some items that exist, by lane."""
    out: dict[int, list[str]] = {}
    query = sa.select(items.c.lane_id, items.c.id).where(*own_rows(unit, items))
    for lane_id, item_id in map(tuple, each_in(unit, query, items.c.id, item_ids)):
        out.setdefault(lane_id, []).append(item_id)
    return out
