"""Erasure by item, session or user: record it, carry it out, search for remaining traces, and certify the result.

`erasure_plan` decides what goes and carries it out where the entry is applied, `store/erasure_queries`
holds its statements, and `store/trace_search` looks for what is left.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from phronesis.core.ids import LaneName, child_entry_id, make_scope, parse_id
from phronesis.core.results import ErasureCertificate
from phronesis.core.timestamps import from_micros
from phronesis.engine.edits import Call, version_conflict
from phronesis.engine.erasure_plan import (
    Dependents,
    Plan,
    cut_but_not_through,
    erase_payload,
    find_dependents,
    plan_item,
    plan_lane,
    plan_session,
)
from phronesis.engine.handler import ERASE
from phronesis.engine.interpreter import Interpreter
from phronesis.engine.replay import require_engines
from phronesis.engine.rollback import has_failed
from phronesis.errors import EntryFailed, HandlerMissing, InputError, NotFound, StorageBusy, StorageError
from phronesis.index.tokens import clear_caches
from phronesis.log.erasure import left_of, words_of
from phronesis.log.recorder import Recorder
from phronesis.recall.browse import find_item
from phronesis.recall.scope_index import ScopeIndexes
from phronesis.store.activity_log import forget_activity
from phronesis.store.database import Database, Unit
from phronesis.store.erasure_queries import Probes, count_items
from phronesis.store.impressions import forget_shown, forget_used
from phronesis.store.lanes import Lane, find_lane, get_lane, lock_lane
from phronesis.store.log import EntryRow, find_entry
from phronesis.store.retention import forget_usage
from phronesis.store.trace_search import scan

logger = logging.getLogger(__name__)

MAX_TRIES: Final = 5
"""Attempts to find a lane with nothing pending while others keep writing to it."""

MAX_SWEEPS: Final = 3
"""Passes over lanes that came to depend on the erased items during the erasure."""

BEYOND: Final = {
    "sqlite": ("backups, exports and copies of the file",),
    "postgresql": (
        "dead rows in PostgreSQL's files, until VACUUM",
        "PostgreSQL's write-ahead log and its archives, standbys, backups and exports",
    ),
}
"""Places that may hold traces and that this process cannot inspect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of an erasure: an item (at ``version``, if given), a session of a lane, or a whole lane."""

    item_id: str | None = None
    session_id: str | None = None
    lane: LaneName | None = None
    version: int | None = None

    @classmethod
    def of(
        cls,
        *,
        item_id: str | None = None,
        session_id: str | None = None,
        user_id: str | None = None,
        namespace: str | None = None,
        version: int | None = None,
    ) -> Self:
        """Return the named target; InputError unless exactly one valid target is named."""
        scope = make_scope(user_id=user_id, namespace=namespace, session_id=session_id)
        if (item_id is None) == (session_id is None and user_id is None):
            raise InputError(
                "erase takes an id, or a session_id, or a user_id: exactly one thing to be erased", field="id"
            )
        if namespace is not None and (user_id is not None or session_id is None):
            raise InputError("namespace says where a session_id without a user_id is; leave it out", field="namespace")
        item = None if item_id is None else parse_id(item_id, field="id")
        if version is not None and item is None:
            raise InputError("expected_version is that of an item: give its id", field="expected_version")
        lane = None if item is not None else scope.write_lane
        return cls(item_id=item, session_id=session_id, lane=lane, version=version)

    def __str__(self) -> str:
        if self.item_id is not None:
            return f"item {self.item_id}"
        return f"session {self.session_id!r} of {self.lane}" if self.session_id is not None else str(self.lane)


@dataclass(frozen=True, slots=True)
class OutsideErasure:
    """The result of an erasure in an external index: what is left, what is still to be done, what cannot be seen."""

    residue: Sequence[str] = ()
    outstanding: Sequence[str] = ()
    beyond: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Order:
    """A recorded erasure, with the texts kept in memory to search for traces."""

    plan: Plan
    probes: Probes
    rows: dict[int, EntryRow]
    items: int
    anew: set[str]
    lane_id: int


@dataclass(frozen=True, slots=True)
class Eraser:
    """Carries out erasures. Each is recorded durably before anything is removed, so that it completes after a crash."""

    database: Database
    recorder: Recorder
    interpreter: Interpreter
    indexes: ScopeIndexes
    outside: Callable[[str, Sequence[int]], OutsideErasure] = lambda _tenant, _lane_ids: OutsideErasure()
    """Removes from outside the database what was erased in lanes of a tenant."""

    def plan(self, tenant: str, target: Target) -> Plan:
        """Return what an erasure would remove; nothing is removed. NotFound without such a target."""
        with self.database.transaction(tenant, "read") as unit:
            return _plan(unit, _lane_of(unit, target), target)

    def erase(self, call: Call, target: Target, *, reason: str | None = None) -> ErasureCertificate:
        """Erase and certify.

        NotFound without such a target, StorageBusy when others keep writing, EntryFailed when the text could not be
        removed. Anything else that could not be done is listed as outstanding.
        """
        order = self._record_order(call, target, reason)
        rows = self._carry_out(call.tenant, order.rows, words=True)
        for _ in range(MAX_SWEEPS):
            rows += self._carry_out(call.tenant, self._record_late_order(call, order))
        for row in rows:
            self.indexes.drop(call.tenant, row.lane_id)
        clear_caches()
        outside = self.outside(call.tenant, sorted({row.lane_id for row in rows}))
        return self._certificate(call.tenant, order, rows, outside)

    def _carry_out(self, tenant: str, rows: dict[int, EntryRow], *, words: bool = False) -> list[EntryRow]:
        """Carry out the recorded entries and the preparations that follow; the first entry removes the ``words``."""
        for n, (lane_id, row) in enumerate(rows.items()):
            if words and n == 0:
                self.interpreter.drain(tenant, lane_id, until=row.seq)
            try:
                self.interpreter.drain(tenant, lane_id, until=row.seq)
                self.interpreter.drain(tenant, lane_id)
            except (EntryFailed, StorageError, HandlerMissing) as error:  # the words are gone: the certificate says it
                logger.warning("erase entry %s is not carried out to its end: %s", row.entry_id, error.code)
        return list(rows.values())

    def _record_order(self, call: Call, target: Target, reason: str | None) -> _Order:
        """Record all entries of the erasure in one transaction, in a lane with nothing pending."""
        for _ in range(MAX_TRIES):
            with self.database.transaction(call.tenant, "read") as unit:
                lane_id = _lane_of(unit, target).lane_id
            self.interpreter.drain(call.tenant, lane_id)
            with self.database.transaction(call.tenant, "append") as unit:
                lane = lock_lane(unit, lane_id)
                if lane.applied_seq == lane.head_seq:
                    return self._record(unit, call, target, lane, reason)
        raise StorageBusy(f"others keep writing where {target} is; nothing was erased, call again")

    def _record(self, unit: Unit, call: Call, target: Target, lane: Lane, reason: str | None) -> _Order:
        plan = _plan(unit, lane, target)
        texts, compressed = words_of(unit, plan.cut)
        if plan.everything and lane.name is not None:
            texts.append(lane.name)
        if not plan.cut:
            raise NotFound(f"nothing is left of {target} that could be erased", field="id")
        probes = Probes.of(texts, compressed)
        if reason is not None and next(probes.find(reason.encode("utf-8", "surrogatepass")), None) is not None:
            raise InputError(
                "reason quotes what is to be erased; it stays in the log, so say why in other words", field="reason"
            )
        if lane.name is not None and (plan.everything or target.session_id is not None):
            forget_shown(unit, LaneName(lane.kind, lane.name), target.session_id)
            forget_activity(unit, LaneName(lane.kind, lane.name), target.session_id)
        if lane.name is not None:
            forget_used(unit, LaneName(lane.kind, lane.name), None if plan.everything else plan.items)
        forget_usage(unit, lane.lane_id, None if plan.everything else plan.items)
        registry = self.interpreter.stepper.registry
        found = find_dependents(unit, lane, plan, probes, registry)
        own = found.setdefault(lane.lane_id, Dependents())
        own.gone |= plan.gone
        own.anew |= cut_but_not_through(unit, lane, plan, registry)
        for lane_id in sorted(found.keys() - ({lane.lane_id} if plan.everything else set())):
            require_engines(unit, lane_id, registry, without=plan.cut)
        rows = {
            lane_id: self._write(
                unit, call, lane_id, erase_payload(plan if lane_id == lane.lane_id else None, found[lane_id]), reason
            )
            for lane_id in sorted(found, key=lambda lane_id: (lane_id != lane.lane_id, lane_id))
        }
        items = count_items(unit, lane.lane_id, None if plan.everything else plan.items)
        anew = set[str]().union(*(lean.anew for lean in found.values()))
        return _Order(plan, probes, rows, items, anew, lane.lane_id)

    def _record_late_order(self, call: Call, order: _Order) -> dict[int, EntryRow]:
        """Record a further erasure where lanes came to depend on erased items after the plan was made."""
        registry = self.interpreter.stepper.registry
        with self.database.transaction(call.tenant, "read") as unit:
            lane = get_lane(unit, order.lane_id)
            found = find_dependents(unit, lane, order.plan, order.probes, registry)
        for lean in found.values():
            lean.anew -= order.anew  # prepared again already: what it names now, its own payload names
        late = {lane_id: lean for lane_id, lean in sorted(found.items()) if lean.gone or lean.anew or lean.apart}
        if not late:
            return {}
        order.anew.update(*(lean.anew for lean in late.values()))
        with self.database.transaction(call.tenant, "append") as unit:
            return {
                lane_id: self._write(unit, call, lane_id, erase_payload(None, late[lane_id]), None) for lane_id in late
            }

    def _write(self, unit: Unit, call: Call, lane_id: int, payload: dict[str, object], reason: str | None) -> EntryRow:
        version = self.interpreter.stepper.registry[ERASE].version
        said = payload if reason is None else {**payload, "reason": reason}
        lane = lock_lane(unit, lane_id)
        return self.recorder.write_new(unit, lane, verb=ERASE, version=version, payload=said, actor=call.actor)

    def _certificate(
        self, tenant: str, order: _Order, rows: list[EntryRow], outside: OutsideErasure
    ) -> ErasureCertificate:
        found = scan(self.database, tenant, order.probes)
        with self.database.transaction(tenant, "read") as unit:
            residue = [*left_of(unit, order.plan.cut), *found.residue, *outside.residue]
            if order.plan.everything and get_lane(unit, order.lane_id).name is not None:
                residue.append(f"lanes/{order.lane_id}: name")
            outstanding = (*found.outstanding, *outside.outstanding, *_undone(unit, rows))
        return ErasureCertificate(
            erasure_entry_ids=tuple(row.entry_id for row in rows),
            entries_touched=len(order.plan.cut),
            parts_erased=sum(map(len, order.plan.cut.values())),
            items_erased=order.items,
            entries_prepared_again=len(order.anew),
            texts_sought=order.probes.texts,
            texts_too_short=order.probes.too_short,
            texts_held_elsewhere=found.held_elsewhere,
            rows_scanned=found.rows,
            files_scanned=found.files,
            clean=not residue and not outstanding,
            residue=tuple(residue),
            not_scanned=(*BEYOND[self.database.dialect], *outside.beyond),
            at=from_micros(rows[0].recorded_at),
            outstanding=outstanding,
        )


def _undone(unit: Unit, rows: Sequence[EntryRow]) -> Iterator[str]:
    """Name the entries of an erasure, and of the preparation that follows it, that are still to be done."""
    for row in rows:
        for found in (row, find_entry(unit, child_entry_id(row.entry_id, 0))):
            if found is None:
                continue
            what = f"lane {found.lane_id}: what leaned on the erased words (entry {found.entry_id}, {found.verb})"
            if has_failed(unit, found.entry_id):
                yield f"{what} failed; mend the cause, then call admin.retry('{found.entry_id}')"
            elif get_lane(unit, found.lane_id).applied_seq < found.seq:
                yield f"{what} waits; flush or a worker does it"


def _lane_of(unit: Unit, target: Target) -> Lane:
    if target.item_id is not None:
        return find_item(unit, target.item_id)[0]
    lane = find_lane(unit, target.lane) if target.lane is not None else None
    if lane is None:
        raise NotFound(f"nothing is stored for {target.lane}; it may have been erased", field="user_id")
    return lane


def _plan(unit: Unit, lane: Lane, target: Target) -> Plan:
    if target.item_id is not None:
        item = find_item(unit, target.item_id)[1]
        if target.version is not None and target.version != item.version:
            raise version_conflict(item, target.version)
        return plan_item(unit, lane, item)
    if target.session_id is not None:
        return plan_session(unit, lane, target.session_id)
    return plan_lane(unit, lane)
