"""Replaying the log: law 1. The same ``apply`` over the recorded outcomes, into a scratch store, compared by hash."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from phronesis.core.canonical import decode, digest
from phronesis.core.entries import Entry, Outcome
from phronesis.core.results import RebuildResult
from phronesis.derive.step import Stepper
from phronesis.storage.compare import differences, make_equal, snapshot
from phronesis.storage.database import Database, Unit
from phronesis.storage.documents import delete_stray_vectors
from phronesis.storage.lanes import Lane, get_lane, list_lanes, lock_lane, mark_documents, next_epoch
from phronesis.storage.log import read_outcomes
from phronesis.storage.scratch import open_scratch
from phronesis.truth.reader import load_entries

PAGE = 200
"""Entries read at a time."""

MAX_NAMED = 50
"""Differences named in a result; the hashes tell the rest."""


@dataclass(frozen=True, slots=True)
class Replayer:
    """Rebuilds derived state from the log."""

    database: Database
    stepper: Stepper

    def verify(self, tenant: str) -> RebuildResult:
        """Replay every lane of the tenant and compare, changing nothing."""
        live_hashes: dict[str, str] = {}
        replayed_hashes: dict[str, str] = {}
        named: list[str] = []
        entries = 0
        with self.database.transaction(tenant, "read") as unit:
            for lane in list_lanes(unit):
                with self.replayed(unit, lane) as scratch:
                    live, again = snapshot(unit, lane.lane_id), snapshot(scratch, lane.lane_id)
                live_hashes[str(lane.lane_id)] = live.digest
                replayed_hashes[str(lane.lane_id)] = again.digest
                entries += lane.applied_seq
                if live.digest != again.digest:
                    named += [f"lane {lane.lane_id}: {difference}" for difference in differences(live, again)]
        return RebuildResult(
            equal=live_hashes == replayed_hashes,
            live_hash=digest(live_hashes),
            replayed_hash=digest(replayed_hashes),
            differences=tuple(named[:MAX_NAMED]),
            entries=entries,
        )

    def rebuild(self, tenant: str) -> RebuildResult:
        """Replay every lane and put what it gives in the place of the live state; each lane in one transaction."""
        before = self.verify(tenant)
        with self.database.transaction(tenant, "read") as unit:
            lane_ids = [lane.lane_id for lane in list_lanes(unit)]
        for lane_id in lane_ids:
            with self.database.transaction(tenant, "derive") as unit:
                self.replace(unit, lock_lane(unit, lane_id))
        return RebuildResult(
            equal=before.equal, live_hash=before.live_hash, replayed_hash=before.replayed_hash,
            differences=before.differences, entries=before.entries, applied=True,
        )  # fmt: skip

    def replace(self, unit: Unit, lane: Lane) -> int:
        """Make a locked lane's derived rows those of a replay; gives how many rows it touched."""
        with self.replayed(unit, lane) as scratch:
            touched = make_equal(unit, scratch, lane.lane_id)
        delete_stray_vectors(unit, lane.lane_id)
        mark_documents(unit, lane.lane_id, seq=lane.applied_seq)
        next_epoch(unit, lane.lane_id)
        return touched

    @contextmanager
    def replayed(self, unit: Unit, lane: Lane) -> Iterator[Unit]:
        """Give a scratch store that holds the lane as its log makes it, up to ``applied_seq``."""
        with replayed(unit, lane, self.stepper, until=lane.applied_seq) as scratch:
            yield scratch


Instead = Callable[[Unit, Entry, Sequence[Outcome]], tuple[Entry, Sequence[Outcome]]]
"""From the scratch store, an entry and its recorded outcomes to what is applied in their place."""


@contextmanager
def replayed(unit: Unit, lane: Lane, stepper: Stepper, *, until: int, instead: Instead | None = None) -> Iterator[Unit]:
    """Give a scratch store that holds the lane as its log makes it up to ``until``, or as ``instead`` has it."""
    with open_scratch(unit.tenant, lane) as scratch:
        after = 0
        while after < until:
            page = load_entries(unit, lane, after=after, until=until, limit=PAGE)
            stored = read_outcomes(unit, [entry.id for entry in page])
            for entry in page:
                outcomes: Sequence[Outcome] = [
                    Outcome(role=row["role"], n=row["n"], made_by=row["made_by"], body=decode(row["body"]))
                    for row in stored[entry.id]
                ]
                applied = entry
                if instead is not None:
                    applied, outcomes = instead(scratch, entry, outcomes)
                stepper.step(scratch, get_lane(scratch, lane.lane_id), applied, outcomes, log=unit)
            after = page[-1].seq
        yield scratch
