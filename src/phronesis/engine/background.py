"""A background thread for a Memory, and queries for pending work: failed entries, due jobs, missing vectors.

One thread makes vectors and interprets pending entries; another looks up modifiers.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from phronesis.core.entries import Entry, is_erased
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.reports import Job
from phronesis.core.timestamps import from_micros
from phronesis.engine.handler import FAILED_ROLE
from phronesis.errors import PhronesisError
from phronesis.store.database import Unit
from phronesis.store.documents import count_without_vector
from phronesis.store.lanes import Lane, active_model, get_lane, list_behind
from phronesis.store.log import entries_with_outcome, failures_of, read_entries

if TYPE_CHECKING:
    from concurrent import futures

    from phronesis.engine import rollback
    from phronesis.log import payloads
    from phronesis.models import embedders
else:
    futures = lazy_module("concurrent.futures")
    embedders = lazy_module("phronesis.models.embedders")
    payloads = lazy_module("phronesis.log.payloads")
    rollback = lazy_module("phronesis.engine.rollback")

PAUSE_SECONDS: Final = 0.2
"""Seconds without writes before vectors are made, so that a conversation added message by message is embedded in one
batch and its writes do not compete with the encoder."""

PRESSING_SECONDS: Final = 0.05
"""Seconds without writes before pending entries are interpreted, so that entries recorded in a row are taken together.
"""

MAX_PAUSES: Final = 10
"""Number of pauses after which work begins even if writes continue: two seconds, or half a second."""

TURN_PAUSES: Final = 4
"""Pauses between two batches of a task: a fifth of a second, about the time of a batch of 64 messages. Continuous
writers then get half of the processor and of the database lock."""

REST_SECONDS: Final = 2.0
"""Seconds without writes before work for which nobody waits, which loads another encoder for a second."""

IDLE_SECONDS: Final = 1.0
"""Seconds without work after which the thread ends and releases its task; the next wake starts another thread."""

_T = TypeVar("_T")

logger = logging.getLogger(__name__)


class Background:
    """A daemon thread that runs ``task(stopped)`` whenever it is woken.

    The thread holds the task, and with it a Memory that its caller may have dropped, only until it ends idle.
    """

    def __init__(self, task: Callable[[Callable[[], bool]], object], *, name: str) -> None:
        self._task = task
        self._name = name
        self._wake = threading.Event()
        self._pressing = False
        self._again = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def wake(self, *, pressing: bool = False) -> None:
        """Signal that there is work, and start the thread if needed. ``pressing`` shortens the pause."""
        self._pressing = self._pressing or pressing
        self._wake.set()
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the process ends, or may have no more threads: the next who comes does the work
                    return
                self._thread = thread

    def give_way(self) -> bool:
        """Let waiting writes go first; a task calls this between two batches. Return whether the task should stop."""
        if self._wake.is_set():
            self._again = True  # the task may have looked before what woke it now was written
            self._wait_for_pause(TURN_PAUSES)
        return self._stop.is_set()

    def wait_for_idle(self) -> bool:
        """Wait before work for which nobody waits; return whether the task should end: other work came, or a stop."""
        return self._wake.wait(REST_SECONDS)

    def stop(self, *, within: float | None = None) -> None:
        """Stop after the batch at hand; returns when the thread is done, or after ``within`` seconds."""
        self._stop.set()
        self._wake.set()
        with self._starting:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(within)

    def _loop(self) -> None:
        while not self._stop.is_set():
            if not self._wake.wait(IDLE_SECONDS) and self._try_to_end():
                return
            self._wait_for_pause(MAX_PAUSES)
            self._pressing = False
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                self._task(self._stop.is_set)
            except Exception as error:  # noqa: BLE001 - an encoder may raise anything, and the next batch may do
                # Nothing is lost: the next write, flush or worker takes the work up again. A stranger's message may
                # quote what was remembered, so only ours is logged.
                said = f"{error.code}: {error.message}" if isinstance(error, PhronesisError) else type(error).__name__
                logger.warning("background work stopped (%s)", said)
            if self._again:
                self._again = False
                self._wake.set()

    def _try_to_end(self) -> bool:
        """End the thread unless new work arrived: a later ``wake`` finds it running or starts another."""
        with self._starting:
            if not self._wake.is_set():
                self._thread = None
            return self._thread is None

    def _wait_for_pause(self, most: int) -> None:
        """Wait until there was no write for one pause, or for at most ``most`` pauses."""
        for _ in range(most):
            self._wake.clear()
            self._stop.wait(PRESSING_SECONDS if self._pressing else PAUSE_SECONDS)
            if not self._wake.is_set():
                return


# Pending work in a tenant's lanes.


def map_lanes(lanes: Sequence[Lane], task: Callable[[Lane], _T], *, at_once: Callable[[], int]) -> list[_T]:
    """Return what ``task`` gives for each lane, several at a time where a model reads: most of that time is waiting.

    ``apply_in_append`` says how many; it is asked only where there are several lanes.
    """
    number = min(len(lanes), at_once()) if len(lanes) > 1 else 1
    if number == 1:
        return [task(lane) for lane in lanes]
    with futures.ThreadPoolExecutor(number, thread_name_prefix="phronesis-lane") as pool:
        return list(pool.map(task, lanes))


def failed_entries(unit: Unit) -> list[Entry]:
    """Return the entries that were set aside as failed and not made good since."""
    found = [payloads.load_entry(unit, entry_id) for entry_id in entries_with_outcome(unit, FAILED_ROLE)]
    return [
        entry
        for entry in found
        if not rollback.is_retry(entry) and not is_erased(entry.payload) and not rollback.is_made_good(unit, entry)
    ]


def failed_jobs(unit: Unit) -> list[Job]:
    """Return a job with the last error for each failed entry."""
    return [
        Job(state="failed", work=one.verb, since=one.recorded_at, **_told(unit, get_lane(unit, one.lane_id), one.id))
        for one in failed_entries(unit)
    ]


def pending_jobs(unit: Unit, limit: int) -> tuple[list[Job], int]:
    """Return at most ``limit`` entries that wait for interpretation, and their total number."""
    behind = list_behind(unit)
    jobs: list[Job] = []
    for lane in behind:
        wanted = limit - len(jobs)
        rows = read_entries(unit, lane.lane_id, after=lane.applied_seq, until=lane.head_seq, limit=wanted)
        for row in rows if wanted > 0 else ():
            since, told = from_micros(row.recorded_at), _told(unit, lane, row.entry_id)
            jobs.append(Job(state="pending", work=row.verb, since=since, **told))
    return jobs, sum(lane.head_seq - lane.applied_seq for lane in behind)


def count_unembedded(unit: Unit, embedders: "embedders.Embedders") -> int:
    """Count the documents that have no vector of the tenant's encoder; 0 without an encoder."""
    active, default = active_model(unit), embedders.default
    model = active[0] if active is not None else default.name if default is not None else None
    return count_without_vector(unit, model) if model is not None else 0


def _told(unit: Unit, lane: Lane, entry_id: str) -> dict[str, Any]:
    """Return what a job tells of its entry: whose it is, and the failed attempts."""
    tried = {"attempts": 0, "code": None, "message": None, **failures_of(unit, [entry_id]).get(entry_id, {})}
    attempts = {name: tried[name] for name in ("attempts", "code", "message")}
    return {"entry_id": entry_id, "user_id": lane.user_id, "namespace": lane.namespace, **attempts}
