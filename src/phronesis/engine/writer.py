"""Append an entry, then interpret it at once or leave it to the worker."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName
from phronesis.core.proposals import Gated
from phronesis.engine.entry_applier import AppliedEntry
from phronesis.engine.interpreter import Interpreter
from phronesis.errors import HandlerMissing, PhronesisError, StorageError
from phronesis.index.vectorizer import WrittenLanes
from phronesis.log.erasure import Redactor
from phronesis.log.recorder import NewEntry, RecordedEntry, Recorder

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
        recorded = self.recorder.append(tenant, lane, NewEntry(verb, version, payload, actor, idempotency_key))
        try:
            return replace(self._interpret_entry(tenant, recorded, wait=wait), redacted=redacted)
        finally:
            self.written.note(tenant, recorded.entry.lane_id)

    def _interpret_entry(self, tenant: str, recorded: RecordedEntry, *, wait: bool) -> WriteResult:
        entry = recorded.entry
        if not wait:
            return WriteResult(entry, None, recorded.repeated, pending=recorded.lane.applied_seq < entry.seq)
        try:
            applied = self.interpreter.drain(tenant, entry.lane_id, until=entry.seq, known=(recorded.lane, entry))
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
