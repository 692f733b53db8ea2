"""Looks for what still has to be done in a tenant's lanes."""

from collections.abc import Iterator
from datetime import datetime

from phronesis.core.entries import Entry, is_erased
from phronesis.core.instants import from_micros
from phronesis.core.jobs import Job
from phronesis.core.scope import LaneName
from phronesis.derive.handler import FAILED_ROLE
from phronesis.derive.reflecting.reflector import Reflector
from phronesis.derive.retry import is_made_good, stands_for_another
from phronesis.models.embedders import Embedders
from phronesis.storage.database import Database, Unit
from phronesis.storage.documents import count_without_vector
from phronesis.storage.embedding_models import active_model
from phronesis.storage.health import entries_with_outcome
from phronesis.storage.lanes import Lane, get_lane, list_behind, list_lanes
from phronesis.storage.log import find_failure, read_entries
from phronesis.truth.reader import load_entry


def failed_entries(unit: Unit) -> list[Entry]:
    """Give the entries that were set aside, and of which nobody has done since what they were to do."""
    found = [load_entry(unit, entry_id) for entry_id in entries_with_outcome(unit, FAILED_ROLE)]
    return [
        entry for entry in found
        if not stands_for_another(entry) and not is_erased(entry.payload) and not is_made_good(unit, entry)
    ]  # fmt: skip


def failed_jobs(unit: Unit) -> list[Job]:
    """Give a job for each of them, with what went wrong the last time."""
    return [_failed(unit, entry) for entry in failed_entries(unit)]


def pending_jobs(unit: Unit, limit: int) -> tuple[list[Job], int]:
    """Give at most ``limit`` entries that wait for their interpretation, and how many there are."""
    behind = list_behind(unit)
    jobs: list[Job] = []
    for lane in behind:
        wanted = limit - len(jobs)
        rows = read_entries(unit, lane.lane_id, after=lane.applied_seq, until=lane.head_seq, limit=wanted)
        for row in rows if wanted > 0 else ():
            tried = find_failure(unit, row.entry_id) or {}
            jobs.append(
                Job(state="pending", work=row.verb, entry_id=row.entry_id, user_id=lane.user_id,
                    namespace=lane.namespace, since=from_micros(row.recorded_at), attempts=tried.get("attempts", 0),
                    code=tried.get("code"), message=tried.get("message"))
            )  # fmt: skip
    return jobs, sum(lane.head_seq - lane.applied_seq for lane in behind)


def due_jobs(database: Database, tenant: str, reflector: Reflector, now: datetime) -> Iterator[Job]:
    """Yield the reflections that are due, by lane."""
    with database.transaction(tenant, "read") as unit:
        users = [lane.user_id for lane in list_lanes(unit) if lane.user_id is not None]
    for user in users:
        due = reflector.due(tenant, LaneName("user", user), now)
        if due:
            yield Job(state="due", work="reflect", user_id=user, message=due.reason)


def without_vector(unit: Unit, embedders: Embedders) -> int:
    """Count the documents that have no vector of the tenant's encoder yet; 0 where there is none."""
    active, default = active_model(unit), embedders.default
    model = active[0] if active is not None else default.name if default is not None else None
    return count_without_vector(unit, model) if model is not None else 0


def _failed(unit: Unit, entry: Entry) -> Job:
    tried = find_failure(unit, entry.id) or {}
    lane: Lane = get_lane(unit, entry.lane_id)
    return Job(
        state="failed", work=entry.verb, entry_id=entry.id, user_id=lane.user_id, namespace=lane.namespace,
        since=entry.recorded_at, attempts=tried.get("attempts", 0), code=tried.get("code"),
        message=tried.get("message"),
    )  # fmt: skip
