"""What the experience engine brings to an open store."""

from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.experience import event_handlers, feedback, pattern_handlers, principle_handlers
from phronesis.experience.abstraction import AbstractionPreparer
from phronesis.experience.aggregation import AggregationPreparer
from phronesis.experience.laws.principles import PrincipleThresholds
from phronesis.experience.maintenance_schedule import MaintenanceSchedule, MaintenanceScheduler
from phronesis.experience.sources.registry import SOURCES


def open_learning(platform: Platform) -> OpenEngine:
    """Open what learns from experience: its verbs, and what schedules them."""
    embedders, policy = platform.embedders, platform.policy
    abstracting = AbstractionPreparer(
        embedders,
        platform.models.asker("abstract"),
        PrincipleThresholds(
            min_members=policy.experience.abstract.min_members,
            min_patterns=policy.experience.abstract.min_patterns,
            change=policy.experience.abstract.change,
        ),
    )
    own = policy.experience
    schedule = MaintenanceSchedule(own.aggregate_events, own.aggregate_hours, own.abstract_hours)
    return OpenEngine(
        handlers=(
            *event_handlers.handlers(event_handlers.SourcePreparer(SOURCES)),
            *pattern_handlers.handlers(AggregationPreparer(embedders)),
            *principle_handlers.handlers(abstracting),
            *feedback.HANDLERS,
        ),
        components={"keeper": MaintenanceScheduler(platform.database, schedule, background=own.background)},
    )
