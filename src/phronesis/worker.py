"""The worker process: a loop that interprets pending entries, computes missing vectors, and learns when that is due."""

import logging
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from phronesis.core.reports import pause_after
from phronesis.engine.background import map_lanes
from phronesis.engine.writer import Writer
from phronesis.errors import PhronesisError
from phronesis.memory import Memory
from phronesis.store.lanes import Lane, list_behind, list_lanes

SHORTEST_SECONDS: Final = 0.05
"""Seconds of pause after a round that found work."""

GROWTH: Final = 2.0
"""Factor by which each further pause grows while there is no work."""

VECTORS: Final = -1
"""Stands for a lane's number in faults of making a tenant's vectors."""

OUTSIDE: Final = -2
"""Stands for a lane's number in faults of updating an external index."""

LEARNING: Final = -3
"""Stands for a lane's number in faults of listing the lanes that may be due for learning."""

LANES: Final = -4
"""Stands for a lane's number in faults of listing the lanes with pending entries."""

LOOK_AGAIN: Final = timedelta(hours=1)
"""How long an unchanged user's lane is skipped until time alone may make a reflection due."""

_PARTS: Final = {VECTORS: "vectors", OUTSIDE: "the index outside", LEARNING: "learning", LANES: "the lanes"}
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a lane could not be brought up to date: the error's code, and in how many consecutive rounds it occurred."""

    code: str
    rounds: int


class BackgroundTask(Protocol):
    """Background learning of one kind in a lane, when due."""

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Do what is due in a lane; return whether anything was."""
        ...


class Worker:
    """Keeps the lanes of some tenants up to date.

    Any number may run, beside writers that interpret their own entries.

    Args:
        memory: the store, open or as its URL; a store given as a URL is closed with the worker.
        tenants: the tenants to serve; default: the tenant of the Memory.
        longest_seconds: the longest pause between two rounds without work.
    """

    def __init__(self, memory: Memory | str, *, tenants: Sequence[str] = (), longest_seconds: float = 2.0) -> None:
        self._owned = isinstance(memory, str)
        self._memory = Memory.open(memory) if isinstance(memory, str) else memory
        self._tenants = tuple(tenants) or (self._memory.admin.tenant,)
        self._longest = longest_seconds
        self._stop = threading.Event()
        self._looked_at: dict[tuple[str, int], tuple[int, datetime]] = {}
        self._failed: dict[tuple[str, int], tuple[int, datetime]] = {}
        self._faults: dict[tuple[str, int], Fault] = {}

    @property
    def faults(self) -> Mapping[tuple[str, int], Fault]:
        """Current faults, by (tenant, lane number); empty when there are none."""
        return dict(self._faults)

    def stop(self) -> None:
        """Let ``run`` return after the current lane or batch. May be called from any thread and any signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Work until ``stop``; then close what this worker opened."""
        pause = SHORTEST_SECONDS
        try:
            while not self._stop.is_set():
                pause = SHORTEST_SECONDS if self.work() else min(pause * GROWTH, self._longest)
                self._stop.wait(pause)
        finally:
            if self._owned:
                self._memory.close()

    def run_until_signalled(self) -> None:
        """Work until SIGINT or SIGTERM; call it in the main thread."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, lambda _number, _frame: self.stop()) for number in numbers}
        try:
            self.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def work(self) -> int:
        """Do one round over all tenants; return how many entries were applied and vectors made."""
        return sum(self._tenant(tenant) for tenant in self._tenants)

    def _tenant(self, tenant: str) -> int:
        stages = self._memory.admin.components
        behind: list[Lane] = []
        with self._guarded(tenant, LANES), stages.database.transaction(tenant, "read") as unit:
            behind = list_behind(unit)
        if (tenant, LANES) in self._faults:  # the database is away: it will be back
            return 0

        def drain(lane: Lane) -> int:
            if not self._stop.is_set():
                with self._guarded(tenant, lane.lane_id):
                    stages.writer.interpreter.drain(tenant, lane.lane_id)
                    return lane.head_seq - lane.applied_seq
            return 0

        done = sum(map_lanes(behind, drain, at_once=lambda: stages.model_registry.max_concurrent_calls("extract")))
        if self._stop.is_set():
            return done
        with self._guarded(tenant, VECTORS):
            done += stages.vectorizer.run(tenant, stopped=self._stop.is_set)
        done += self._learn(tenant)
        if stages.mirror is not None and not self._stop.is_set():
            with self._guarded(tenant, OUTSIDE):
                stages.mirror.follow(tenant)
        return done

    def _learn(self, tenant: str) -> int:
        """Reflect, group events, draw principles, and forget, where that is due.

        A lane is checked when it moved, and once an hour.
        """
        stages = self._memory.admin.components
        visitors: list[BackgroundTask] = [
            one for one in (stages.reflector, stages.maintenance_scheduler, stages.forgetter) if one.background
        ]
        lanes: list[Lane] = []
        if visitors and not self._stop.is_set():
            with self._guarded(tenant, LEARNING), stages.database.transaction(tenant, "read") as unit:
                lanes = list_lanes(unit)
        now, done = stages.clock(), 0
        for lane in lanes:
            place = (tenant, lane.lane_id)
            seq, when = self._looked_at.get(place, (-1, now))
            unmoved = seq == lane.head_seq and now - when < LOOK_AGAIN
            failures, last = self._failed.get(place, (0, now))
            # Each failed attempt writes an entry, which moves the lane.
            if self._stop.is_set() or unmoved or now - last < pause_after(failures):
                continue
            self._looked_at[place] = (lane.head_seq, now)
            if lane.applied_seq < lane.head_seq:  # it cannot be interpreted just now
                continue
            self._failed[place] = (failures + 1, now)
            with self._guarded(tenant, lane.lane_id):
                done += sum(visitor.visit(stages.writer, tenant, lane, now) for visitor in visitors)
                del self._failed[place]
        return done

    @contextmanager
    def _guarded(self, tenant: str, lane_id: int) -> Iterator[None]:
        """Record any error of the block, which is work on one lane, and go on with the next."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the loop's edge: an encoder or extension may raise anything
            self._note(tenant, lane_id, error)
        else:
            self._faults.pop((tenant, lane_id), None)

    def _note(self, tenant: str, lane_id: int, error: Exception) -> None:
        code = error.code if isinstance(error, PhronesisError) else f"exception.{type(error).__name__}"
        known = self._faults.get((tenant, lane_id))
        again = known is not None and known.code == code
        self._faults[tenant, lane_id] = Fault(code, known.rounds + 1 if known is not None and again else 1)
        if not again:  # once for each cause, not every round; a stranger's message may quote what was remembered
            part = _PARTS.get(lane_id, f"lane {lane_id}")
            logger.warning("%s of tenant %s cannot be brought up to date: %s", part, tenant, code)
