"""A batch at work: rows become durable entries, a window at a time, which are then interpreted in their order."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

from phronesis.batch.rows import (
    Done,
    Piece,
    Row,
    Told,
    another,
    failed,
    key_of,
    named_in,
    read_pieces,
    read_row,
    said_of,
    taken_back,
)
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.scope import LaneName, make_scope
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
from phronesis.log.reader import fit
from phronesis.memory import Memory
from phronesis.reasoning import handlers
from phronesis.reasoning.laws.records import Run, checked_feedback
from phronesis.reasoning.learning import LEARN, Foretold, foretell

# What a batch would do, row by row, without writing anything.


@dataclass(slots=True)
class _Seen:
    """A run before a row: its item, None when it is not recorded yet, what it says, and what was done in this file."""

    item: str | None
    said: str
    run: Run
    feedback: Mapping[str, Any] | None = None
    done: set[tuple[str, str]] = field(default_factory=set)


@dataclass(slots=True)
class Foresight:
    """Tells what a batch would do. It remembers each run of the file by its fields and its last feedback."""

    memory: Memory
    lane: LaneName
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def of(self, row: Row) -> Told:
        """Tell of one row; raises what recording it would raise."""
        seen = self._seen.get(row.run_id) or self._stored(row.run_id)
        run: Done | None = None if row.run is None else "known" if seen is not None else "missing"
        if seen is None:
            if row.run is None:
                raise unknown(row.run_id, self.lane)
            given = handlers.recorded_run(fit(row.run))
            seen = _Seen(None, said_of(given), given)
        elif row.run is not None and said_of(handlers.recorded_run(fit(row.run))) != seen.said:
            raise another(row.run_id)
        feedback: Done | None = None
        if row.feedback is not None:
            feedback = "known" if row.feedback == seen.feedback else self._done(seen, handlers.FEEDBACK, row.feedback)
        effective = row.feedback or seen.feedback
        learn = self._done(seen, LEARN, effective) if row.learn else None
        counts = Foretold(0, 0)
        if learn == "missing" and effective is not None:
            counts = foretell(self.memory.stages.runs.telling, seen.run, checked_feedback(effective))
        if feedback == "missing":
            seen.feedback = row.feedback
        seen.run = _fields_of(seen.run)
        self._seen[row.run_id] = seen
        return Told(line=row.line, run_id=row.run_id, run=run, feedback=feedback, learn=learn, added=counts.added,
                    dropped=counts.dropped)  # fmt: skip

    def _stored(self, run_id: str) -> _Seen | None:
        """Return a run that is in the lane, or waits there to be interpreted."""
        book, tenant = self.memory.stages.runs, self.memory.tenant
        held = book.find(tenant, self.lane, run_id)
        if held is not None:
            run = handlers.run_of(held)
            return _Seen(held.id, said_of(run), run, held.data.get("feedback"))
        known = self.memory.stages.writer.recorder.known(tenant, key_of(self.lane, handlers.RUN, run_id, None))
        if known is None:
            return None
        entry = book.entry(tenant, known)
        if is_erased(entry.payload):
            raise Erased(f"run {run_id!r:.80} has been erased; it is not recorded again", field="run_id")
        if not book.waits(tenant, entry):
            raise taken_back(run_id)
        run = handlers.recorded_run(fit(entry.payload))
        return _Seen(item_id(entry.id, handlers.RUN, run_id), said_of(run), run)

    def _done(self, seen: _Seen, verb: str, feedback: Mapping[str, Any] | None) -> Done:
        """Return whether the store, or an earlier row, has this of a run already."""
        act = (verb, digest(feedback))
        if act in seen.done:
            return "known"
        seen.done.add(act)
        if seen.item is None:
            return "missing"
        known = self.memory.stages.writer.recorder.known(
            self.memory.tenant, key_of(self.lane, verb, seen.item, feedback)
        )
        return "missing" if known is None else "known"


def unknown(run_id: str, lane: LaneName) -> NotFound:
    """Return the error of a row about a run that nobody recorded."""
    return NotFound(f"there is no run {run_id!r:.80} for {lane}; a row with its output records it", field="run_id")


def _fields_of(run: Run) -> Run:
    """Return what FACTS are made of, without the words: a file's runs are many."""
    return replace(run, output=run.fields(), raw="", trace=None)


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
            job.told[handlers.FEEDBACK] = "known"
        elif row.feedback is not None:
            self._write(job, handlers.FEEDBACK, row.feedback, {**about, "feedback": row.feedback})
        if row.learn:
            read = self.memory.stages.runs.read_by(self.memory.tenant, self._lane, row.run_id)
            self._write(job, LEARN, row.feedback or said, {**about, "read": read})
        return job

    def _record_run(self, job: _Job, run: Mapping[str, Any], held: Item | None) -> Item | None:
        """Record a row's run, unless it is held; gives what is held, None while the run waits to be interpreted."""
        if held is None:
            entry = self._write(job, handlers.RUN, None, run)
            job.item_id = item_id(entry.id, handlers.RUN, job.row.run_id)
            if job.told[handlers.RUN] == "known":  # since the look: another process, or this file before it was killed
                held = self._find(job.row.run_id)
                if held is None and not self.memory.stages.runs.waits(self.memory.tenant, entry):
                    raise taken_back(job.row.run_id)
        if held is not None:
            if said_of(handlers.run_of(held)) != said_of(handlers.recorded_run(fit(run))):
                raise another(job.row.run_id)
            job.item_id, job.told[handlers.RUN] = held.id, "known"
        return held

    def _write(self, job: _Job, verb: str, content: Any, payload: Mapping[str, Any]) -> Entry:
        """Record an entry, or take the one that says the same."""
        stages, tenant = self.memory.stages, self.memory.tenant
        key = key_of(self._lane, verb, job.row.run_id if verb == handlers.RUN else job.item_id, content)
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
            line=row.line, run_id=row.run_id, run=told.get(handlers.RUN), feedback=told.get(handlers.FEEDBACK),
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
