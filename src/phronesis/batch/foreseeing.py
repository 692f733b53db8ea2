"""What a batch would do, row by row, without writing anything."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phronesis.batch.keys import another, key_of, said_of, taken_back
from phronesis.batch.rows import Row
from phronesis.batch.told import Done, Told
from phronesis.core.canonical import digest
from phronesis.core.entries import is_erased
from phronesis.core.ids import item_id
from phronesis.core.reasoning.runs import Run, checked_feedback
from phronesis.core.scope import LaneName
from phronesis.derive import runs
from phronesis.derive.learning.foretelling import Foretold, foretell
from phronesis.derive.learning.learn import LEARN
from phronesis.errors import Erased, NotFound
from phronesis.memory import Memory
from phronesis.truth.reader import fit


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
            given = runs.recorded_run(fit(row.run))
            seen = _Seen(None, said_of(given), given)
        elif row.run is not None and said_of(runs.recorded_run(fit(row.run))) != seen.said:
            raise another(row.run_id)
        feedback: Done | None = None
        if row.feedback is not None:
            feedback = "known" if row.feedback == seen.feedback else self._done(seen, runs.FEEDBACK, row.feedback)
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
        """Give a run that is in the lane, or waits there to be interpreted."""
        book, tenant = self.memory.stages.runs, self.memory.tenant
        held = book.find(tenant, self.lane, run_id)
        if held is not None:
            run = runs.run_of(held)
            return _Seen(held.id, said_of(run), run, held.data.get("feedback"))
        known = self.memory.stages.writer.recorder.known(tenant, key_of(self.lane, runs.RUN, run_id, None))
        if known is None:
            return None
        entry = book.entry(tenant, known)
        if is_erased(entry.payload):
            raise Erased(f"run {run_id!r:.80} has been erased; it is not recorded again", field="run_id")
        if not book.waits(tenant, entry):
            raise taken_back(run_id)
        run = runs.recorded_run(fit(entry.payload))
        return _Seen(item_id(entry.id, runs.RUN, run_id), said_of(run), run)

    def _done(self, seen: _Seen, verb: str, feedback: Mapping[str, Any] | None) -> Done:
        """Tell whether the store, or an earlier row, has this of a run already."""
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
    """Give the error of a row about a run that nobody recorded."""
    return NotFound(f"there is no run {run_id!r:.80} for {lane}; a row with its output records it", field="run_id")


def _fields_of(run: Run) -> Run:
    """Give what FACTS are made of, without the words: a file's runs are many."""
    return replace(run, output=run.fields(), raw="", trace=None)
