"""The experience engine: attempts and their events, the patterns of events, and the principles of patterns."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform, by_kind, touches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phronesis.core.changes import Changes
    from phronesis.core.entries import Entry
    from phronesis.core.items import Item
    from phronesis.experience import (
        abstraction,
        aggregation,
        event_embeddings,
        event_handlers,
        feedback,
        maintenance_schedule,
        pattern_handlers,
        policy_section,
        provenance,
        query,
    )
    from phronesis.experience.laws import evidence_fold, topics
    from phronesis.experience.sources import port
    from phronesis.index import projections
    from phronesis.index.projections import Projection
    from phronesis.store.lane_view import LaneView
else:
    abstraction = lazy_module("phronesis.experience.abstraction")
    aggregation = lazy_module("phronesis.experience.aggregation")
    event_embeddings = lazy_module("phronesis.experience.event_embeddings")
    event_handlers = lazy_module("phronesis.experience.event_handlers")
    evidence_fold = lazy_module("phronesis.experience.laws.evidence_fold")
    feedback = lazy_module("phronesis.experience.feedback")
    maintenance_schedule = lazy_module("phronesis.experience.maintenance_schedule")
    pattern_handlers = lazy_module("phronesis.experience.pattern_handlers")
    policy_section = lazy_module("phronesis.experience.policy_section")
    port = lazy_module("phronesis.experience.sources.port")
    projections = lazy_module("phronesis.index.projections")
    query = lazy_module("phronesis.experience.query")
    provenance = lazy_module("phronesis.experience.provenance")
    topics = lazy_module("phronesis.experience.laws.topics")


def _open_learning(platform: Platform) -> OpenEngine:
    embedders, own = platform.embedders, platform.policy.of(policy_section.ExperiencePolicy).experience
    worth = topics.PrincipleThresholds(**dict(own.abstract))
    abstracting = abstraction.AbstractionPreparer(embedders, platform.models.asker("abstract"), worth)
    scheduler = maintenance_schedule.MaintenanceScheduler(
        platform.database, own.aggregate_events, own.aggregate_hours, own.abstract_hours, own.background
    )
    return OpenEngine(
        handlers=(
            *event_handlers.handlers(event_handlers.SourcePreparer(port.SOURCES)),
            *pattern_handlers.handlers(aggregation.AggregationPreparer(embedders)),
            *abstraction.handlers(abstracting),
            *feedback.HANDLERS,
        ),
        components={"maintenance_scheduler": scheduler},
    )


def _open_asking(platform: Platform) -> OpenEngine:
    experience_search = query.ExperienceSearch(platform.database, platform.embedders, platform.indexes, platform.clock)
    return OpenEngine(components={"experience_search": experience_search})


def _projections() -> "Mapping[str, Projection]":
    learned, event = event_embeddings.project_learned, event_embeddings.project_event
    return {"l1": event, "pattern": learned, "principle": learned, "mark": projections.no_parts}


def _without_unheld(view: "LaneView", entry: "Entry", changes: "Changes", held: "Mapping[str, Item]") -> "Changes":
    touched = touches(changes, held, "l1", "pattern")
    return event_handlers.drop_missing_evidence(view, entry, changes, held) if touched else changes


ENGINE: Final = Engine(
    name="experience",
    policy=lambda: policy_section.ExperiencePolicy,
    parts=(
        Part(
            open=_open_learning,
            verbs=("experience", "source", "aggregate", "abstract", "feedback"),
            components=("maintenance_scheduler",),
        ),
        Part(
            open=lambda platform: OpenEngine(components={"experience": provenance.ExperienceReader(platform.database)}),
            components=("experience",),
        ),
        Part(open=_open_asking, components=("experience_search",)),
        Part(open=lambda _platform: OpenEngine(components={"sources": port.SOURCES}), components=("sources",)),
    ),
    folds=by_kind(lambda: evidence_fold.STANDINGS, "l1", "pattern", "principle"),
    projections=by_kind(_projections, "l1", "pattern", "principle", "mark"),
    consequences=(_without_unheld,),
    after=("traits",),
)
