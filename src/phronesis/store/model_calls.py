"""The ledger of model calls, written in the background so that searches wait for no other writer; and look-ups.

Calls are buffered in the process and written by a background thread a moment later, by ``flush``, or at the close. A
process that is killed loses its buffer, about a second of calls. Past days are reduced to one row for each role and
model. Look-ups are answers of public sources, cached by a hash of the address and the question, never by text; an
erasure clears a tenant's (``engine/erasure_plan``), since they may repeat what was erased.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from phronesis.core.ids import derived_id
from phronesis.core.reports import FOLDED, ModelCall, ModelUsage, by_day, day_of
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store.compiled_statements import each_in, insert, insert_ignore, own_rows, upsert
from phronesis.store.database import Database, Unit
from phronesis.store.schema import lookups, model_calls
from phronesis.store.write_behind import WriteBehind

MAX_WAITING: Final = 50_000
"""Maximum number of buffered calls while nothing can be written."""
_COLUMNS: Final = tuple(column for column in model_calls.c if column.name != "tenant_id")


class StoredLedger(WriteBehind[ModelCall]):
    """A ledger that stores calls in the database; ``wake`` is called when some are buffered.

    If the store cannot be written at all, the buffer is kept and still counts.
    """

    keeps = True

    def __init__(self, database: Database, wake: Callable[[], None] | None = None) -> None:
        super().__init__(database, most=MAX_WAITING)
        self.wake = wake
        self._folded: dict[str, datetime] = {}
        """By tenant, the day before which all calls are merged, as far as this process knows."""

    def record(self, tenant: str, call: ModelCall) -> None:
        """Buffer a call. Never fails and never blocks."""
        self.queue(tenant, call)
        if self.wake is not None:
            with suppress(RuntimeError):  # no thread is to be had: a flush or the close writes it
                self.wake()

    def store(self, unit: Unit, notes: Sequence[ModelCall]) -> None:
        """Write calls, and merge those of days that are over."""
        # A commit whose answer was lost may have been one.
        insert_ignore(unit, model_calls, [_row(unit.tenant, call) for call in notes])
        today = max(day_of(call.at) for call in notes)
        if self._folded.get(unit.tenant) != today:
            _fold(unit, before=today)
            self._folded[unit.tenant] = today

    def spent(self, tenant: str, *, since: datetime, role: str | None = None) -> ModelUsage:
        """Return the usage of a tenant's calls since a time, of all roles or one, buffered calls included.

        Merged calls of a past day count as made at its beginning.
        """
        # Taken before the database is asked: what is written meanwhile is found there by its id, and counted once.
        kept = self.waiting(tenant)
        mine = {call.call_id: call for call in kept if call.at >= since and role in {None, call.role}}
        columns = model_calls.c
        query = sa.select(
            sa.func.coalesce(sa.func.sum(columns.calls), 0).label("calls"),
            sa.func.coalesce(sa.func.sum(columns.prompt_tokens + columns.completion_tokens), 0).label("tokens"),
            sa.func.coalesce(sa.func.sum(columns.cost), 0.0).label("cost"),
        ).where(columns.tenant_id == tenant, columns.at >= to_micros(since))
        if role is not None:
            query = query.where(columns.role == role)
        with self.database.transaction(tenant, "read") as unit:
            row = unit.run(query).mappings().one()
            stored = sa.select(model_calls.c.call_id).where(model_calls.c.tenant_id == tenant)
            written = {found.call_id for found in each_in(unit, stored, model_calls.c.call_id, mine)}
        spent = ModelUsage(int(row["calls"]), int(row["tokens"]), float(row["cost"]))
        return spent.plus(_sum([call for one, call in mine.items() if one not in written]))


def _row(tenant: str, call: ModelCall) -> dict[str, Any]:
    return {"tenant_id": tenant, **asdict(call), "at": to_micros(call.at)}


def _fold(unit: Unit, *, before: datetime) -> None:
    """Merge the calls of days before this one. A concurrent process merges other rows: each is taken once."""
    taken = sa.delete(model_calls).where(
        *own_rows(unit, model_calls), model_calls.c.at < to_micros(before), model_calls.c.status != FOLDED
    )
    rows = unit.run(taken.returning(*_COLUMNS)).mappings().all()
    calls = [ModelCall(**{**row, "at": from_micros(row["at"])}) for row in rows]
    insert(unit, model_calls, [_row(unit.tenant, call) for call in by_day(calls)])


def _sum(calls: Sequence[ModelCall]) -> ModelUsage:
    tokens = sum(call.prompt_tokens + call.completion_tokens for call in calls)
    return ModelUsage(sum(call.calls for call in calls), tokens, sum(call.cost for call in calls))


@dataclass(frozen=True, slots=True)
class Lookup:
    """An answer with the time of the request and its expiry: microseconds since 1970 UTC."""

    asked_at: int
    expires_at: int
    answer: Mapping[str, Any]


def lookup_number(source: str, question: str) -> str:
    """Return the key under which a source's answer to a question is stored."""
    return derived_id("looked_up", source, question)


def read_lookup(unit: Unit, number: str, *, now: int) -> Lookup | None:
    """Return an answer that has not expired, or None."""
    query = sa.select(lookups.c.asked_at, lookups.c.expires_at, lookups.c.answer).where(
        *own_rows(unit, lookups, number=number), lookups.c.expires_at > now
    )
    row = unit.run(query).one_or_none()
    return None if row is None else Lookup(row.asked_at, row.expires_at, row.answer)


def keep_lookup(unit: Unit, number: str, lookup: Lookup) -> None:
    """Store an answer, replacing an older one, and delete expired ones."""
    unit.run(sa.delete(lookups).where(*own_rows(unit, lookups), lookups.c.expires_at <= lookup.asked_at))
    upsert(unit, lookups, [{"tenant_id": unit.tenant, "number": number, **asdict(lookup)}])


def forget_lookups(unit: Unit) -> None:
    """Delete all cached answers of a tenant."""
    unit.run(sa.delete(lookups).where(*own_rows(unit, lookups)))
