"""Bring a lane up to date: prepare entries outside any transaction, then apply them in order under the lane's lock."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from weakref import WeakValueDictionary

from phronesis.core.entries import NOTHING, Entry, Outcome, is_erased
from phronesis.core.ids import child_entry_id
from phronesis.core.items import Item
from phronesis.core.results import Degraded
from phronesis.core.serialization import decode, encode, plain
from phronesis.core.timestamps import to_micros
from phronesis.engine.entry_applier import AppliedEntry, EntryApplier, degraded_in
from phronesis.engine.handler import FAILED_ROLE, Effect, Prepare, PrepareContext, by_role
from phronesis.engine.rollback import remedy_of
from phronesis.errors import EntryFailed, HandlerMissing, PhronesisError, StorageError, StorageRefused
from phronesis.log.payloads import fit, load_entries, load_entry, split
from phronesis.log.recorder import Draft, Recorder
from phronesis.store.database import Database, Unit
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, get_lane, lock_lane
from phronesis.store.log import count_failure, find_entry, put_outcomes, read_entries, read_outcomes

MAX_TRIES: Final = 3
"""Failed attempts after which an entry is set aside as failed and the lane moves on."""

MAX_PREPARES: Final = 3
"""Preparations that another writer may invalidate before the outcome is applied anyway; ``apply`` checks it."""

BATCH: Final = 64
"""Entries that one transaction applies when a lane has fallen behind and preparing them is quick."""

logger = logging.getLogger(__name__)


class _LaneTurns:
    """Locks of lanes: threads of a process take turns in a lane, so that no model is asked twice about an entry."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[tuple[str, int], _LaneLock] = WeakValueDictionary()
        self._guard = threading.Lock()

    @contextmanager
    def of(self, tenant: str, lane_id: int) -> Iterator[bool]:
        """Hold a lane's turn; the value says whether another thread had it first."""
        with self._guard:
            held = self._locks.setdefault((tenant, lane_id), _LaneLock())
        waited = not held.lock.acquire(blocking=False)
        if waited:
            held.lock.acquire()
        try:
            yield waited
        finally:
            held.lock.release()


class _LaneLock:
    """A lock that a dictionary may hold weakly."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class _FollowingEntry:
    """An entry applied after another in one transaction; ``fresh`` when it was prepared now."""

    entry: Entry
    outcomes: Sequence[Outcome]
    fresh: bool


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Interprets entries. Any number of threads and processes may drain the same lane: each entry is applied once."""

    database: Database
    recorder: Recorder
    stepper: EntryApplier
    clock: Callable[[], datetime]
    effects: Mapping[str, Effect] = field(default_factory=dict)
    """Effects on the log, by verb."""
    _turns: "_LaneTurns" = field(default_factory=_LaneTurns)

    def drain(
        self,
        tenant: str,
        lane_id: int,
        *,
        until: int | None = None,
        known: tuple[Lane, Entry] | None = None,
        give_way: Callable[[], bool] = lambda: False,
    ) -> AppliedEntry | None:
        """Apply a lane's pending entries, oldest first, up to entry ``until`` (default: the head).

        Returns the result of entry ``until`` if this call applied it, and None if another did. Raises EntryFailed if
        that entry failed for good, here or in another process; failures of older entries are recorded and skipped.
        StorageError (the database fails) and HandlerMissing (unknown to this version) do not count as failures of an
        entry: it stays pending.

        ``known`` avoids reading again what the caller just wrote: the lane before its entry, and the entry.
        ``give_way`` is called between two transactions that applied entries; draining stops when it returns true.
        """
        result: AppliedEntry | None = None
        alone = 0
        while True:
            with self._turns.of(tenant, lane_id) as waited:
                if not waited and known is not None and known[0].applied_seq == known[1].seq - 1:
                    (lane, entry), stored, end = known, [], known[1].seq
                else:
                    with self.database.transaction(tenant, "read") as unit:
                        lane = get_lane(unit, lane_id)
                        end = lane.head_seq if until is None else until
                        if lane.applied_seq >= end:
                            if result is None and until is not None:
                                _raise_if_failed(unit, lane_id, until)
                            return result
                        entry = load_entries(unit, lane, after=lane.applied_seq, until=end, limit=1)[0]
                        stored = stored_outcomes(unit, [entry.id])[entry.id]
                known = None
                try:
                    applied = self._advance(tenant, lane, entry, stored, end if entry.seq > alone else entry.seq)
                except Exception as error:
                    # A handler's fault of any kind is recorded, and the log keeps the entry.
                    if isinstance(error, StorageError) and not isinstance(error, StorageRefused):
                        raise
                    if alone < entry.seq < end:
                        alone = entry.seq + BATCH  # one of several: one by one, so that the right one is counted
                        continue
                    if isinstance(error, HandlerMissing):
                        raise
                    self._record_failure(tenant, lane, entry, error, last=entry.seq == until)
                    continue
            if entry.verb in self.effects:
                self.database.checkpoint()  # what an erasure removed leaves SQLite's write-ahead log too
            result = applied or result
            if (applied is not None and entry.seq == until) or give_way():
                return applied

    def is_quick(self, verb: str) -> bool:
        """Return whether entries of a verb take little time to prepare."""
        handler = self.stepper.registry[verb]
        return (handler.prepare is None or handler.quick) and verb not in self.effects

    def preview(self, tenant: str, lane: Lane, entry: Entry) -> tuple[AppliedEntry, Mapping[str, Item]]:
        """Return what an entry that is not recorded would do to a lane, and the items it would touch as they are.

        It is prepared and applied as in earnest, and nothing is stored but what models were asked, in their ledger.
        """
        prepare = self.stepper.registry[entry.verb].prepare
        bench = PrepareContext(self.database, tenant, lane.lane_id, lane=lane)
        roles = by_role(check_outcomes(() if prepare is None else prepare(bench, entry)))
        with self.database.transaction(tenant, "read") as unit:
            return self.stepper.resolve(LaneView(unit, lane), entry, roles)

    def degraded(self, tenant: str, entry_id: str) -> tuple[Degraded, ...]:
        """Return the roles in which rules replaced a model when an entry was prepared."""
        with self.database.transaction(tenant, "read") as unit:
            return degraded_in(by_role(stored_outcomes(unit, [entry_id])[entry_id]))

    def _advance(self, tenant: str, lane: Lane, entry: Entry, stored: list[Outcome], end: int) -> AppliedEntry | None:
        """Prepare and apply the next entry, and those up to ``end`` that are quick to prepare.

        Returns the result of entry ``end``; None when another process was faster or ``end`` was not reached.
        """
        prepare = self._prepare_of(entry, stored)
        following = self._prepare_following(tenant, lane, entry, end)
        outcomes = stored
        for turn in range(MAX_PREPARES + 1):
            if prepare is not None and turn < MAX_PREPARES:
                bench = PrepareContext(self.database, tenant, lane.lane_id, seq=entry.seq)
                outcomes = check_outcomes(prepare(bench, entry))
            # What was erased must not come back after a crash.
            with self.database.transaction(tenant, "append" if entry.verb in self.effects else "derive") as unit:
                locked = lock_lane(unit, lane.lane_id)
                if locked.applied_seq != entry.seq - 1:
                    return None
                if locked.epoch != lane.epoch:
                    following = []
                    if prepare is not None and turn < MAX_PREPARES:
                        lane = locked
                        continue
                applied = self._apply(unit, locked, entry, outcomes, keep=prepare is not None)
                for ready in following:
                    now = get_lane(unit, lane.lane_id)
                    applied = self._apply(unit, now, ready.entry, ready.outcomes, keep=ready.fresh)
                    entry = ready.entry
                return applied if entry.seq == end else None
        return None

    def _prepare_following(self, tenant: str, lane: Lane, entry: Entry, end: int) -> list[_FollowingEntry]:
        """Prepare the entries after ``entry`` that one transaction can apply with it, before that transaction.

        Stops at the first entry that may be slow, fails, or reads the lane, which has not reached it yet.
        """
        ready: list[_FollowingEntry] = []
        if entry.seq == end or entry.verb in self.effects:
            return ready
        with self.database.transaction(tenant, "read") as unit:
            entries = load_entries(unit, get_lane(unit, lane.lane_id), after=entry.seq, until=end, limit=BATCH)
            stored = stored_outcomes(unit, [one.id for one in entries])
        for one in entries:
            outcomes = stored[one.id]
            try:
                prepare = self._prepare_of(one, outcomes)
                if prepare is not None:
                    if not self.is_quick(one.verb):
                        break
                    bench = PrepareContext(self.database, tenant, lane.lane_id, ahead=True)
                    outcomes = check_outcomes(prepare(bench, one))
            except Exception as error:  # noqa: BLE001 - its own turn comes, and what fails then is counted
                logger.debug("an entry (%s) was not prepared ahead: %s", one.verb, type(error).__name__)
                break
            ready.append(_FollowingEntry(one, outcomes, fresh=prepare is not None))
        return ready

    def _prepare_of(self, entry: Entry, stored: Sequence[Outcome]) -> Prepare | None:
        """Return the preparation of an entry; None when it needs none.

        Existing outcomes (an import brings some) are never prepared again, since the result may differ.
        """
        if stored or is_erased(entry.payload):
            return None
        effect = self.effects.get(entry.verb)
        return effect.prepare if effect is not None else self.stepper.registry[entry.verb].prepare

    def _apply(self, unit: Unit, lane: Lane, entry: Entry, outcomes: Sequence[Outcome], *, keep: bool) -> AppliedEntry:
        effect = self.effects.get(entry.verb)
        if keep and effect is not None:
            effect.carry_out(unit, lane, entry, outcomes)
            # It is done: a replay and an import pass over it.
            lane, outcomes = get_lane(unit, lane.lane_id), check_outcomes(())
        if keep:
            put_outcomes(unit, lane.lane_id, entry.id, [outcome_row(outcome) for outcome in outcomes])
        applied = self.stepper.step(unit, lane, entry, outcomes, log=unit)
        for n, child in enumerate(applied.children):
            if find_entry(unit, child_entry_id(entry.id, n)) is not None:
                continue  # an imported log holds it already
            head = get_lane(unit, lane.lane_id)
            version = self.stepper.registry[child.verb].version
            draft = Draft(child_entry_id(entry.id, n), child.verb, version, split(child.payload), entry.actor, entry.id)
            self.recorder.write(unit, head, draft)
        return applied

    def _record_failure(self, tenant: str, lane: Lane, entry: Entry, error: Exception, *, last: bool) -> None:
        """Count a failed attempt; after the last one, set the entry aside."""
        code = error.code if isinstance(error, PhronesisError) else f"exception.{type(error).__name__}"
        # The message of a stranger's exception may quote what was remembered: the log of failures keeps no text.
        message = error.message if isinstance(error, PhronesisError) else type(error).__name__
        with self.database.transaction(tenant, "derive") as unit:
            locked = lock_lane(unit, lane.lane_id)
            if locked.applied_seq != entry.seq - 1:
                return
            tries = count_failure(unit, lane.lane_id, entry.id, code=code, message=message, at=to_micros(self.clock()))
            logger.warning("entry %s (%s) failed, try %d: %s", entry.id, entry.verb, tries, code)
            if tries < MAX_TRIES:
                return
            set_aside = Outcome(role=FAILED_ROLE, made_by="interpreter", body={"code": code, "tries": tries})
            put_outcomes(unit, lane.lane_id, entry.id, [outcome_row(set_aside)])
            self.stepper.step(unit, locked, entry, [set_aside], log=unit)
        if last:
            raise _entry_failed(entry, code, tries) from error


def check_outcomes(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return outcomes as a replay reads them: plain JSON with rounded floats and texts that every database can store.

    Quotations and model answers may contain characters that no database takes. Finding nothing is an outcome too.
    """
    found = [replace(one, body=fit(plain(one.body, field=f"outcome {one.role}"))) for one in outcomes]
    if len({(one.role, one.n) for one in found}) < len(found):  # one would be stored, and both applied
        raise PhronesisError("two outcomes of one role have the same number")
    return found or [NOTHING]


def _raise_if_failed(unit: Unit, lane_id: int, seq: int) -> None:
    """Raise the failure that another thread or process recorded for the entry."""
    entry = read_entries(unit, lane_id, after=seq - 1, until=seq)[0]
    for outcome in stored_outcomes(unit, [entry.entry_id])[entry.entry_id]:
        if outcome.role == FAILED_ROLE:
            raise _entry_failed(load_entry(unit, entry.entry_id), outcome.body["code"], outcome.body["tries"])


def _entry_failed(entry: Entry, code: str, tries: int) -> EntryFailed:
    return EntryFailed(
        f"the entry is in the log, but interpreting it failed {tries} times ({code}); after mending the cause"
        f" {remedy_of(entry)}",
        details={"entry_id": entry.id, "cause": code},
    )


def outcome_row(outcome: Outcome) -> dict[str, object]:
    """Return the stored form of an outcome."""
    return {"role": outcome.role, "n": outcome.n, "made_by": outcome.made_by, "body": encode(outcome.body)}


def stored_outcomes(unit: Unit, entry_ids: Sequence[str]) -> dict[str, list[Outcome]]:
    """Return the recorded outcomes of some entries, by entry."""
    return {
        entry_id: [Outcome(role=r["role"], n=r["n"], made_by=r["made_by"], body=decode(r["body"])) for r in rows]
        for entry_id, rows in read_outcomes(unit, entry_ids).items()
    }
