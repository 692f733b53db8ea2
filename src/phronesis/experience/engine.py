"""The experience engine: attempts and their events, the patterns of events, and the principles of patterns."""

from typing import Final

from phronesis.config import Policy
from phronesis.engine.plugin import Engine, OpenEngine, Platform
from phronesis.experience import event_handlers, feedback, pattern_handlers, principle_handlers
from phronesis.experience.abstraction import AbstractionPreparer
from phronesis.experience.aggregation import AggregationPreparer
from phronesis.experience.event_embeddings import project_event, project_learned
from phronesis.experience.laws.evidence_fold import STANDINGS
from phronesis.experience.laws.principles import PrincipleThresholds
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE
from phronesis.experience.maintenance_schedule import MaintenanceSchedule, MaintenanceScheduler
from phronesis.experience.query import ExperienceSearch
from phronesis.experience.query_answer import ExperienceBook
from phronesis.experience.sources.registry import SOURCES
from phronesis.experience.watermarks import KIND as MARK
from phronesis.index.projections import no_parts


def _open(platform: Platform) -> OpenEngine:
    database, embedders, policy = platform.database, platform.embedders, platform.policy
    abstracting = AbstractionPreparer(embedders, platform.models.asker("abstract"), _worth(policy))
    own = policy.experience
    schedule = MaintenanceSchedule(own.aggregate_events, own.aggregate_hours, own.abstract_hours)
    return OpenEngine(
        handlers=(
            *event_handlers.handlers(event_handlers.SourcePreparer(SOURCES)),
            *pattern_handlers.handlers(AggregationPreparer(embedders)),
            *principle_handlers.handlers(abstracting),
            *feedback.HANDLERS,
        ),
        components={
            "sources": SOURCES,
            "experience": ExperienceBook(database),
            "asking": ExperienceSearch(database, embedders, platform.indexes, platform.clock),
            "keeper": MaintenanceScheduler(database, schedule, background=own.background),
        },
    )


def _worth(policy: Policy) -> PrincipleThresholds:
    own = policy.experience.abstract
    return PrincipleThresholds(min_members=own.min_members, min_patterns=own.min_patterns, change=own.change)


ENGINE: Final = Engine(
    name="experience",
    open=_open,
    folds=STANDINGS,
    projections={L1: project_event, PATTERN: project_learned, PRINCIPLE: project_learned, MARK: no_parts},
    consequences=(event_handlers.without_unheld,),
    after=("traits",),
)
