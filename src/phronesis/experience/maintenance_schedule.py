"""What learns from experience, and the schedule of the background worker: when to aggregate and when to abstract."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from phronesis.core.scope import LaneName
from phronesis.core.timestamps import from_micros
from phronesis.engine.handler import FAILED_ROLE
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.engine.writer import Writer
from phronesis.experience import event_handlers, feedback, pattern_handlers, principle_handlers
from phronesis.experience.abstraction import ABSTRACT, AbstractionPreparer
from phronesis.experience.aggregation import AGGREGATE, AggregationPreparer
from phronesis.experience.laws.records import L1, PATTERN
from phronesis.experience.laws.topics import PrincipleThresholds
from phronesis.experience.policy_section import ExperiencePolicy
from phronesis.experience.sources.port import SOURCES
from phronesis.experience.watermarks import last_processed, spoken_of
from phronesis.index.projections import ALIKE
from phronesis.store.database import Database
from phronesis.store.experience import changed_parts
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane

ACTOR: Final = "worker"


@dataclass(frozen=True, slots=True)
class MaintenanceScheduler:
    """Runs aggregation and abstraction of a lane when they are due.

    Aggregation is due after a number of new ``events``, or of ``hours`` with any; abstraction after ``abstract_hours``.
    """

    database: Database
    events: int
    hours: float
    abstract_hours: float
    background: bool

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Do what is due in a lane; return whether anything was."""
        if lane.name is None:
            return False
        name = LaneName(lane.kind, lane.name)
        with self.database.transaction(tenant, "read") as unit:
            view = LaneView(unit, lane)
            grouping = self._news(view, now)
        if grouping:
            writer.write(tenant, name, verb=AGGREGATE, payload={}, actor=ACTOR)
        with self.database.transaction(tenant, "read") as unit:
            drawing = self._has_moved(LaneView(unit, lane), now)
        if drawing:
            writer.write(tenant, name, verb=ABSTRACT, payload={}, actor=ACTOR)
        return grouping or drawing

    def _news(self, view: LaneView, now: datetime) -> bool:
        seq = last_processed(view)
        changed = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=seq)
        events = {row.item_id for row in changed} | spoken_of(view, seq)
        if len(events) >= self.events:
            return True
        since = _last(view, AGGREGATE) or min((from_micros(row.recorded_at) for row in changed), default=now)
        return bool(events) and now - since >= timedelta(hours=self.hours)

    def _has_moved(self, view: LaneView, now: datetime) -> bool:
        last = _last(view, ABSTRACT)
        if last is not None and now - last < timedelta(hours=self.abstract_hours):
            return False
        return any(last is None or one.updated_at > last for one in view.find(kinds=(PATTERN,), live=False))


def _last(view: LaneView, verb: str) -> datetime | None:
    return view.last_recorded(verb, before=view.lane.head_seq + 1, without=FAILED_ROLE)


def open_learning(platform: Platform) -> OpenEngine:
    """Open what learns from experience: its verbs, and what schedules them."""
    embedders, own = platform.embedders, platform.policy.of(ExperiencePolicy).experience
    abstracting = AbstractionPreparer(
        embedders,
        platform.models.asker("abstract"),
        PrincipleThresholds(
            min_members=own.abstract.min_members,
            min_patterns=own.abstract.min_patterns,
            change=own.abstract.change,
        ),
    )
    return OpenEngine(
        handlers=(
            *event_handlers.handlers(event_handlers.SourcePreparer(SOURCES)),
            *pattern_handlers.handlers(AggregationPreparer(embedders)),
            *principle_handlers.handlers(abstracting),
            *feedback.HANDLERS,
        ),
        components={
            "keeper": MaintenanceScheduler(
                platform.database, own.aggregate_events, own.aggregate_hours, own.abstract_hours, own.background
            )
        },
    )
