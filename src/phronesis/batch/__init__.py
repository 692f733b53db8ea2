"""Batches: record, interpret and learn from the runs of a file, a window at a time, idempotently (RB-24)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

from phronesis.batch.rows import (
    BatchRow,
    BatchSummary,
    Done,
    RowResult,
    RowSource,
    failed_row,
    key_of,
    named_in,
    other_run_error,
    read_pieces,
    read_row,
    rolled_back_error,
    said_of,
)
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import LaneName, item_id, make_scope
from phronesis.core.items import Item
from phronesis.core.serialization import digest
from phronesis.core.text import check_id
from phronesis.engine.rollback import retry_of
from phronesis.errors import (
    Conflict,
    EntryFailed,
    Erased,
    IdempotencyConflict,
    InputError,
    ModelError,
    NotFound,
    StorageRefused,
)
from phronesis.log.payloads import fit
from phronesis.memory import Memory
from phronesis.reasoning import handlers
from phronesis.reasoning.laws.records import Run, checked_feedback
from phronesis.reasoning.learning import LEARN, LearnForecast, forecast_learning

__all__ = ["Batch", "BatchSummary", "RowResult"]


@dataclass(slots=True)
class _PriorRun:
    """A run before a row: its item (None: not recorded yet), its digest, and what this file did with it."""

    item: str | None
    said: str
    run: Run
    feedback: Mapping[str, Any] | None = None
    done: set[tuple[str, str]] = field(default_factory=set)


@dataclass(slots=True)
class BatchForecast:
    """Predicts the results of a batch. It keeps each run of the file by its fields and its last feedback."""

    memory: Memory
    lane: LaneName
    _seen: dict[str, _PriorRun] = field(default_factory=dict)

    def of(self, row: BatchRow) -> RowResult:
        """Return the predicted result of one row; raises what recording it would raise."""
        seen = self._seen.get(row.run_id) or self._find_stored(row.run_id)
        run: Done | None = None if row.run is None else "known" if seen is not None else "missing"
        if seen is None:
            if row.run is None:
                raise unknown_run_error(row.run_id, self.lane)
            given = handlers.recorded_run(fit(row.run))
            seen = _PriorRun(None, said_of(given), given)
        elif row.run is not None and said_of(handlers.recorded_run(fit(row.run))) != seen.said:
            raise other_run_error(row.run_id)
        feedback: Done | None = None
        if row.feedback is not None:
            known = row.feedback == seen.feedback
            feedback = "known" if known else self._find_done(seen, handlers.FEEDBACK, row.feedback)
        effective = row.feedback or seen.feedback
        learn = self._find_done(seen, LEARN, effective) if row.learn else None
        counts = LearnForecast(0, 0)
        if learn == "missing" and effective is not None:
            counts = forecast_learning(self.memory.admin.components.runs.telling, seen.run, checked_feedback(effective))
        if feedback == "missing":
            seen.feedback = row.feedback
        seen.run = replace(seen.run, output=seen.run.fields(), raw="", trace=None)  # enough for FACTS
        self._seen[row.run_id] = seen
        return RowResult(
            line=row.line,
            run_id=row.run_id,
            run=run,
            feedback=feedback,
            learn=learn,
            added=counts.added,
            dropped=counts.dropped,
        )

    def _find_stored(self, run_id: str) -> _PriorRun | None:
        """Return a run that is in the lane, or pending there."""
        book, tenant = self.memory.admin.components.runs, self.memory.admin.tenant
        held = book.find(tenant, self.lane, run_id)
        if held is not None:
            run = handlers.run_of(held)
            return _PriorRun(held.id, said_of(run), run, held.data.get("feedback"))
        key = key_of(self.lane, handlers.RUN, run_id, None)
        known = self.memory.admin.components.writer.recorder.known(tenant, key)
        if known is None:
            return None
        entry = book.entry(tenant, known)
        if is_erased(entry.payload):
            raise Erased(f"run {run_id!r:.80} has been erased; it is not recorded again", field="run_id")
        if not book.is_pending(tenant, entry):
            raise rolled_back_error(run_id)
        run = handlers.recorded_run(fit(entry.payload))
        return _PriorRun(item_id(entry.id, handlers.RUN, run_id), said_of(run), run)

    def _find_done(self, seen: _PriorRun, verb: str, feedback: Mapping[str, Any] | None) -> Done:
        """Return whether the store, or an earlier row, already has this part of a run."""
        act = (verb, digest(feedback))
        if act in seen.done:
            return "known"
        seen.done.add(act)
        if seen.item is None:
            return "missing"
        key = key_of(self.lane, verb, seen.item, feedback)
        known = self.memory.admin.components.writer.recorder.known(self.memory.admin.tenant, key)
        return "missing" if known is None else "known"


def unknown_run_error(run_id: str, lane: LaneName) -> NotFound:
    """Return the error of a row about an unknown run."""
    return NotFound(f"there is no run {run_id!r:.80} for {lane}; a row with its output records it", field="run_id")


VECTORS_EVERY: Final = 64
"""Number of rows after which vectors are made: an encoder is faster with many texts than with few."""

OF_A_ROW: Final = (InputError, NotFound, Conflict, EntryFailed, StorageRefused)
"""Errors that concern one row. Any other (full disk, lock, unknown verb) concerns all and ends the batch."""


@dataclass(slots=True)
class Batch:
    """Imports the runs of a file into one user's lane, or a namespace's.

    What a killed process recorded is interpreted by the next one that works on the store. Each entry has an
    idempotency key derived from its content: the same file again, or in two processes at once, does only what is
    missing. ``on_bytes`` is called with the number of bytes done.
    """

    memory: Memory
    user_id: str | None = None
    namespace: str | None = None
    actor: str = "agent"
    on_bytes: Callable[[int], object] = lambda _: None
    _lane: LaneName = field(init=False)

    def __post_init__(self) -> None:
        check_id(self.actor, field="actor")
        self._lane = make_scope(user_id=self.user_id, namespace=self.namespace).write_lane

    def run(self, stream: BinaryIO) -> Iterator[RowResult]:
        """Record, interpret and learn row by row; yield the result of each row, in order.

        A wrong row yields an error, and the batch continues.
        """
        for n, result in enumerate(self._results(stream, self._take), start=1):
            yield result
            if n % VECTORS_EVERY == 0:
                self._make_vectors()
        self._make_vectors()

    def forecast(self, stream: BinaryIO) -> Iterator[RowResult]:
        """Yield what ``run`` would do with each row, and its errors; nothing is written."""
        return self._results(stream, BatchForecast(self.memory, self._lane).of)

    def _results(self, stream: BinaryIO, take: Callable[[BatchRow], RowResult]) -> Iterator[RowResult]:
        for piece in read_pieces(stream):
            row = None
            try:
                row = self._read(piece)
                result = take(row)
            except OF_A_ROW as error:
                result = failed_row(piece.line, named_in(piece) if row is None else row.run_id, error)
            yield result
            self.on_bytes(piece.end)

    def _read(self, piece: RowSource) -> BatchRow:
        """Parse a row in its recorded form."""
        row, cleaned = read_row(piece), self.memory.admin.components.writer.redactor.cleaned
        run, feedback = (None if one is None else cleaned(one) for one in (row.run, row.feedback))
        return replace(row, run=run, feedback=feedback)

    def _take(self, row: BatchRow) -> RowResult:
        """Record and interpret what a row brings and the lane lacks."""
        runs, tenant = self.memory.admin.components.runs, self.memory.admin.tenant
        self._catch_up()
        held = self._find(row.run_id)
        run: Done | None = None
        feedback: Done | None = None
        learn: Done | None = None
        if row.run is not None:
            held, run = self._take_run(row.run_id, row.run, held)
        elif held is None:
            raise unknown_run_error(row.run_id, self._lane)
        about, said = {"run_id": row.run_id, "item_id": held.id}, held.data.get("feedback")
        if row.feedback is not None:
            feedback = "known"
            if row.feedback != said:
                content = {**about, "feedback": row.feedback}
                _, feedback = self._write(handlers.FEEDBACK, held.id, row.feedback, content)
        counts: dict[str, Any] = {}
        if row.learn:
            read = runs.read_by(tenant, self._lane, row.run_id)
            entry, learn = self._write(LEARN, held.id, row.feedback or said, {**about, "read": read})
            counts = {} if entry is None else self._counts(entry)
        return RowResult(line=row.line, run_id=row.run_id, run=run, feedback=feedback, learn=learn, **counts)

    def _take_run(self, run_id: str, run: Mapping[str, Any], held: Item | None) -> tuple[Item, Done]:
        """Return the item of a run, recorded unless it is held."""
        done: Done = "known"
        if held is None:
            entry, done = self._write(handlers.RUN, run_id, None, run)
            held = self._find(run_id)
            if held is None and done == "known":  # recorded since the check, by another process or a killed run
                raise rolled_back_error(run_id)
            if held is None or (entry is not None and held.id != item_id(entry.id, handlers.RUN, run_id)):
                raise Conflict(
                    f"another writer recorded run {run_id!r:.80} at the same time; run the batch again", field="run_id"
                )
        if said_of(handlers.run_of(held)) != said_of(handlers.recorded_run(fit(run))):
            raise other_run_error(run_id)
        return held, done

    def _write(self, verb: str, about: str, content: Any, payload: Mapping[str, Any]) -> tuple[Entry | None, Done]:
        """Record an entry unless there is one with the same content, and interpret it.

        Return it, or None where it failed and a retry replaces it.
        """
        stages, tenant = self.memory.admin.components, self.memory.admin.tenant
        key = key_of(self._lane, verb, about, content)
        given = {name: value for name, value in payload.items() if value not in (None, {}, [])}
        done: Done = "known"
        try:
            written = stages.writer.write(
                tenant, self._lane, verb=verb, payload=given, actor=self.actor, idempotency_key=key, wait=False
            )
            entry = written.entry
            done = "known" if written.repeated else "recorded"
        except IdempotencyConflict as error:
            if verb != LEARN:
                raise other_run_error(str(payload["run_id"])) from error
            # What the run had read by then is not part of the row's content.
            entry = stages.runs.entry(tenant, str(error.details["entry_id"]))
        try:
            stages.writer.interpreter.drain(tenant, entry.lane_id, until=entry.seq)
        except EntryFailed:
            with stages.database.transaction(tenant, "read") as unit:
                if retry_of(unit, entry) is None:
                    raise
            return None, done
        return entry, done

    def _counts(self, learn: Entry) -> dict[str, int]:
        result = self.memory.admin.components.runs.learned(self.memory.admin.tenant, learn.id)
        counted = [one.counted for one in result.judged]
        return {
            "supports": counted.count("support"),
            "contras": counted.count("contra"),
            "added": len(result.added),
            "updated": len(result.updated),
            "dropped": len(result.dropped),
        }

    def _make_vectors(self) -> None:
        with suppress(ModelError):  # encoder unavailable: the next time, a flush or a worker makes them
            self.memory.admin.components.vectorizer.run(self.memory.admin.tenant)

    def _catch_up(self) -> None:
        """Interpret pending entries of the lane and write pending impressions: rows are checked against both."""
        stages, tenant = self.memory.admin.components, self.memory.admin.tenant
        stages.shown.settle(tenant)
        stages.used.settle(tenant)
        behind = stages.runs.pending_lane(tenant, self._lane)
        if behind is not None:
            stages.writer.interpreter.drain(tenant, behind)

    def _find(self, run_id: str) -> Item | None:
        return self.memory.admin.components.runs.find(self.memory.admin.tenant, self._lane, run_id)
