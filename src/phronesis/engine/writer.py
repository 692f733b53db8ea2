"""Append an entry, then interpret it at once or leave it to the worker."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import LaneName
from phronesis.core.proposals import Gated
from phronesis.engine.entry_applier import AppliedEntry
from phronesis.engine.interpreter import Interpreter, NotAtOnce
from phronesis.errors import HandlerMissing, PhronesisError, StorageError, StorageFull
from phronesis.index.vectorizer import WrittenLanes
from phronesis.log.erasure import Redactor
from phronesis.log.recorder import ForecastEntry, NewEntry, RecordedEntry, Recorder
from phronesis.store.database import Unit
from phronesis.store.lanes import Lane

LATER: Final = (StorageError, HandlerMissing)
"""Errors that keep a lane from being interpreted and are no failure of an entry; ``doctor`` reports them."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """An entry, and its result if this call applied it.

    ``redacted`` names what was redacted from the payload before it was recorded.
    """

    entry: Entry
    applied: AppliedEntry | None
    repeated: bool
    pending: bool
    redacted: tuple[Gated, ...] = ()


@dataclass(frozen=True, slots=True)
class _PreparedEntry:
    """What applying an entry in its recording transaction needs: the prepared entry, if any, and its outcomes."""

    foreseen: ForecastEntry | None
    outcomes: Sequence[Outcome] | None


@dataclass(frozen=True, slots=True)
class Writer:
    """Appends entries and brings their lane up to date.

    ``written`` is called with lanes that may lack vectors since; ``redactor`` redacts secrets and personal numbers.
    """

    recorder: Recorder
    interpreter: Interpreter
    written: WrittenLanes = field(default_factory=WrittenLanes)
    redactor: Redactor = Redactor()  # noqa: RUF009 - frozen

    def write(
        self,
        tenant: str,
        lane: LaneName | int,
        *,
        verb: str,
        payload: Mapping[str, Any],
        actor: str,
        idempotency_key: str | None = None,
        wait: bool = True,
    ) -> WriteResult:
        """Record an entry, durable on return; with ``wait``, interpret it too.

        Older pending entries of the lane are interpreted first. Once the entry is on disk, nothing that keeps the lane
        from being interpreted raises (no space, a lock, a damaged part or an unknown verb of an older entry), since
        the caller would repeat the write. The entry is left pending instead. EntryFailed when this entry failed for
        good: it stays in the log, and ``retry`` repeats it.
        """
        version = self.interpreter.stepper.registry[verb].version
        payload, redacted = self.redactor(payload)
        new = NewEntry(verb, version, payload, actor, idempotency_key)
        done: list[AppliedEntry | None] = []
        try:
            ready = self._prepare_entry(tenant, lane, new) if wait else None
        except NotAtOnce:
            ready = None

        def apply(unit: Unit, lane: Lane, entry: Entry) -> None:
            if ready is not None and (ready.foreseen is None or ready.foreseen.entry.id == entry.id):
                done.append(self.interpreter.at_once(unit, lane, entry, ready.outcomes))

        try:
            foreseen = None if ready is None else ready.foreseen
            recorded = self.recorder.append(tenant, lane, new, foreseen=foreseen, then=apply)
        except (NotAtOnce, StorageFull):  # nothing was recorded, and there may be room for the entry alone
            done.clear()
            recorded = self.recorder.append(tenant, lane, new)
        try:
            written = self._interpret_entry(tenant, recorded, done[0] if done else None, wait=wait)
            return replace(written, redacted=redacted) if redacted else written
        finally:
            self.written.note(tenant, recorded.entry.lane_id)

    def _prepare_entry(self, tenant: str, lane: LaneName | int, new: NewEntry) -> _PreparedEntry | None:
        """Prepare an entry before the transaction that records it; None when it must be recorded first.

        While that transaction is open, nobody else can write, and the first entry of a process loads its extractors.
        """
        if not self.interpreter.is_quick(new.verb):
            return None
        if not self.interpreter.prepares(new.verb):
            return _PreparedEntry(None, None)
        foreseen = self.recorder.foresee(tenant, lane, new)
        return None if foreseen is None else _PreparedEntry(foreseen, self.interpreter.prepared(tenant, foreseen.entry))

    def _interpret_entry(
        self, tenant: str, recorded: RecordedEntry, at_once: AppliedEntry | None, *, wait: bool
    ) -> WriteResult:
        entry = recorded.entry
        if at_once is not None:
            return WriteResult(entry, at_once, repeated=False, pending=False)
        if not wait:
            return WriteResult(entry, None, recorded.repeated, pending=recorded.lane.applied_seq < entry.seq)
        try:
            applied = self.interpreter.drain(tenant, entry.lane_id, until=entry.seq)
        except LATER as error:
            _log_pending(entry, error)
            return WriteResult(entry, None, recorded.repeated, pending=True)
        return WriteResult(entry, applied, recorded.repeated, pending=False)

    def follow(self, tenant: str, written: WriteResult) -> None:
        """Interpret the child entries of an entry as far as possible now; the rest stays pending."""
        try:
            self.interpreter.drain(tenant, written.entry.lane_id)
        except LATER as error:
            _log_pending(written.entry, error)
        finally:
            self.written.note(tenant, written.entry.lane_id)


def _log_pending(entry: Entry, error: PhronesisError) -> None:
    logger.warning("entry %s is recorded; its lane will be interpreted later: %s", entry.id, error.code)
