"""A batch at work: rows become durable entries, a window at a time, which are then interpreted in their order."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

from phronesis.batch.foreseeing import Foresight, unknown
from phronesis.batch.keys import another, key_of, said_of, taken_back
from phronesis.batch.pieces import Piece, read_pieces
from phronesis.batch.rows import Row, named_in, read_row
from phronesis.batch.told import Done, Told, failed
from phronesis.core.entries import Entry
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.scope import LaneName, make_scope
from phronesis.core.text import check_id
from phronesis.derive import runs
from phronesis.derive.learning.learn import LEARN
from phronesis.derive.retry import retry_of
from phronesis.errors import (
    Conflict,
    EntryFailed,
    IdempotencyConflict,
    InputError,
    ModelError,
    NotFound,
    StorageRefused,
)
from phronesis.memory import Memory
from phronesis.truth.reader import fit

WINDOW: Final = 64
"""Rows that are recorded before they are interpreted: as many as one transaction applies."""

WINDOW_BYTES: Final = 4 << 20
"""Bytes of rows after which they are interpreted all the same."""

OF_A_ROW: Final = (InputError, NotFound, Conflict, EntryFailed, StorageRefused)
"""What is wrong with one row. Anything else (a full disk, a lock, an unknown verb) is wrong with all, and ends it."""


@dataclass(slots=True)
class _Job:
    """A row that is recorded and not yet interpreted: its run's item, its entries in order, what was done, by verb."""

    row: Row
    item_id: str
    entries: dict[str, Entry] = field(default_factory=dict)
    told: dict[str, Done] = field(default_factory=dict)


@dataclass(slots=True)
class Batch:
    """Takes in the runs of a file into one user's lane, or a namespace's.

    What is recorded stays recorded if the process is killed, and whoever works on the store interprets it. Each entry
    has an idempotency key made of what it says: the same file again, or in two processes at once, does only what is
    missing. ``on_bytes`` is called with how much of the file is done.
    """

    memory: Memory
    user_id: str | None = None
    namespace: str | None = None
    actor: str = "agent"
    window: int = WINDOW
    on_bytes: Callable[[int], object] = lambda _: None
    _lane: LaneName = field(init=False)

    def __post_init__(self) -> None:
        check_id(self.actor, field="actor")
        self._lane = make_scope(user_id=self.user_id, namespace=self.namespace).write_lane

    def run(self, stream: BinaryIO) -> Iterator[Told]:
        """Record, interpret and learn row by row; tells of each row, in order, when it is done.

        A row that is wrong is told of, and the next one has its turn.
        """
        waiting: list[_Job | Told] = []
        begun = done = 0
        for piece in read_pieces(stream):
            row = _read(piece, self.memory.stages.writer.redactor.cleaned)
            again = isinstance(row, Row) and any(isinstance(one, _Job) and one.row.run_id == row.run_id
                                                 for one in waiting)  # fmt: skip
            if again or len(waiting) >= self.window or done - begun > WINDOW_BYTES:
                yield from self._finished(waiting, done)
                waiting, begun = [], done
            if not waiting:
                self._catch_up()
            waiting.append(self._recorded(row) if isinstance(row, Row) else row)
            done = piece.end
        yield from self._finished(waiting, done)

    def foresee(self, stream: BinaryIO) -> Iterator[Told]:
        """Tell of each row what ``run`` would do, and what is wrong with it; nothing is written."""
        foresight = Foresight(self.memory, self._lane)
        for piece in read_pieces(stream):
            row = _read(piece, self.memory.stages.writer.redactor.cleaned)
            try:
                yield foresight.of(row) if isinstance(row, Row) else row
            except OF_A_ROW as error:
                yield failed(row.line, row.run_id, error)
            self.on_bytes(piece.end)

    def _recorded(self, row: Row) -> _Job | Told:
        """Record what a row says, as entries that wait."""
        try:
            return self._job(row)
        except OF_A_ROW as error:
            return failed(row.line, row.run_id, error)

    def _job(self, row: Row) -> _Job:
        held = self._find(row.run_id)
        job = _Job(row, "" if held is None else held.id)
        if row.run is not None:
            held = self._record_run(job, row.run, held)
        elif held is None:
            raise unknown(row.run_id, self._lane)
        about = {"run_id": row.run_id, "item_id": job.item_id}
        said = held.data.get("feedback") if held is not None else None
        if row.feedback is not None and said == row.feedback:
            job.told[runs.FEEDBACK] = "known"
        elif row.feedback is not None:
            self._write(job, runs.FEEDBACK, row.feedback, {**about, "feedback": row.feedback})
        if row.learn:
            read = self.memory.stages.runs.read_by(self.memory.tenant, self._lane, row.run_id)
            self._write(job, LEARN, row.feedback or said, {**about, "read": read})
        return job

    def _record_run(self, job: _Job, run: Mapping[str, Any], held: Item | None) -> Item | None:
        """Record a row's run, unless it is held; gives what is held, None while the run waits to be interpreted."""
        if held is None:
            entry = self._write(job, runs.RUN, None, run)
            job.item_id = item_id(entry.id, runs.RUN, job.row.run_id)
            if job.told[runs.RUN] == "known":  # since the look: another process, or this file before it was killed
                held = self._find(job.row.run_id)
                if held is None and not self.memory.stages.runs.waits(self.memory.tenant, entry):
                    raise taken_back(job.row.run_id)
        if held is not None:
            if said_of(runs.run_of(held)) != said_of(runs.recorded_run(fit(run))):
                raise another(job.row.run_id)
            job.item_id, job.told[runs.RUN] = held.id, "known"
        return held

    def _write(self, job: _Job, verb: str, content: Any, payload: Mapping[str, Any]) -> Entry:
        """Record an entry, or take the one that says the same."""
        stages, tenant = self.memory.stages, self.memory.tenant
        key = key_of(self._lane, verb, job.row.run_id if verb == runs.RUN else job.item_id, content)
        given = {name: value for name, value in payload.items() if value not in (None, {}, [])}
        try:
            written = stages.writer.write(tenant, self._lane, verb=verb, payload=given, actor=self.actor,
                                          idempotency_key=key, wait=False)  # fmt: skip
        except IdempotencyConflict as error:
            if verb != LEARN:
                raise another(job.row.run_id) from error
            # What the run had read by then is no part of what the row says.
            entry, repeated = stages.runs.entry(tenant, str(error.details["entry_id"])), True
        else:
            entry, repeated = written.entry, written.repeated
        job.entries[verb], job.told[verb] = entry, "known" if repeated else "recorded"
        return entry

    def _finished(self, waiting: list[_Job | Told], done: int) -> Iterator[Told]:
        """Interpret a window's entries in their order, and tell of its rows."""
        for one in waiting:
            yield self._finish(one) if isinstance(one, _Job) else one
            if isinstance(one, _Job):
                self.on_bytes(one.row.end)
        if waiting:
            stages = self.memory.stages
            with suppress(ModelError):  # an encoder that is away: the next window, a flush or a worker makes them
                stages.vectorizer.run(self.memory.tenant)
            self.on_bytes(done)

    def _finish(self, job: _Job) -> Told:
        row, told = job.row, job.told
        try:
            retried = [entry for entry in job.entries.values() if not self._interpreted(entry)]
            held = self._find(row.run_id)
            if held is None or held.id != job.item_id:
                raise Conflict(f"another writer recorded run {row.run_id!r:.80} at the same time; run the batch again",
                               field="run_id")  # fmt: skip
            learn = None if retried else job.entries.get(LEARN)
            counts: dict[str, Any] = {} if learn is None else self._counts(learn)
        except OF_A_ROW as error:
            return failed(row.line, row.run_id, error)
        return Told(
            line=row.line, run_id=row.run_id, run=told.get(runs.RUN), feedback=told.get(runs.FEEDBACK),
            learn=told.get(LEARN), **counts,
        )  # fmt: skip

    def _interpreted(self, entry: Entry) -> bool:
        """See to it that an entry is interpreted; False when it failed and a retry stands for it."""
        stages, tenant = self.memory.stages, self.memory.tenant
        try:
            stages.writer.interpreter.drain(tenant, entry.lane_id, until=entry.seq)
        except EntryFailed:
            with stages.database.transaction(tenant, "read") as unit:
                if retry_of(unit, entry) is None:
                    raise
            return False
        return True

    def _counts(self, learn: Entry) -> dict[str, int]:
        result = self.memory.stages.runs.learned(self.memory.tenant, learn.id)
        counted = [one.counted for one in result.judged]
        return {
            "supports": counted.count("support"), "contras": counted.count("contra"), "added": len(result.added),
            "updated": len(result.updated), "dropped": len(result.dropped),
        }  # fmt: skip

    def _catch_up(self) -> None:
        """Interpret what waits in the lane, and write down what was noted of reads: rows are checked against both."""
        stages, tenant = self.memory.stages, self.memory.tenant
        stages.shown.settle(tenant)
        stages.used.settle(tenant)
        behind = stages.runs.behind(tenant, self._lane)
        if behind is not None:
            stages.writer.interpreter.drain(tenant, behind)

    def _find(self, run_id: str) -> Item | None:
        return self.memory.stages.runs.find(self.memory.tenant, self._lane, run_id)


def _read(piece: Piece, cleaned: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Row | Told:
    """Read a row as it is recorded, or tell what is wrong with it."""
    try:
        row = read_row(piece)
        run, feedback = (None if one is None else cleaned(one) for one in (row.run, row.feedback))
        return replace(row, run=run, feedback=feedback)
    except InputError as error:
        return failed(piece.line, named_in(piece), error)
