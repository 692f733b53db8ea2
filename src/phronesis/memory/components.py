"""The components that a `Memory` delegates to."""

from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from phronesis.core.lazy_loading import LazyMembers
from phronesis.telemetry import Disclosure

if TYPE_CHECKING:
    from phronesis.compose.assembly import Assembler
    from phronesis.core.context import Budget
    from phronesis.engine.doctor import Doctor
    from phronesis.engine.edits import ItemEditor
    from phronesis.engine.erasure import Eraser
    from phronesis.engine.replay import Replayer
    from phronesis.engine.writer import Writer
    from phronesis.experience.maintenance_schedule import MaintenanceScheduler
    from phronesis.experience.query import ExperienceSearch
    from phronesis.experience.query_answer import ExperienceBook
    from phronesis.experience.sources.port import Sources
    from phronesis.forgetting.handler import Forgetter
    from phronesis.index.projections import Reindexer
    from phronesis.index.vectorizer import Vectorizer
    from phronesis.memory.overview import OverviewBook
    from phronesis.models.model_registry import ModelRegistry
    from phronesis.reasoning.external_mirror import Mirror
    from phronesis.reasoning.migration import Migrator
    from phronesis.reasoning.run_reader import RunReader, RunReviews
    from phronesis.recall.browse import Browser
    from phronesis.recall.entities import EntityBook
    from phronesis.recall.planner import Planner
    from phronesis.recall.query import Search
    from phronesis.recall.retrievers import PlanExecutor
    from phronesis.resources.documents import ResourceBook
    from phronesis.resources.ingestion import TakingIn
    from phronesis.store.activity_log import ActivityLog
    from phronesis.store.context_impressions import ShownContexts
    from phronesis.store.database import Database
    from phronesis.store.model_calls import StoredLedger
    from phronesis.store.usage import Usage, UsedMemories
    from phronesis.traits.reflector import Reflector
    from phronesis.traits.search import TraitBook


class Components(LazyMembers):
    """The components that a Memory delegates to; ``wiring`` makes each at its first use."""

    database: "Database"
    writer: "Writer"
    editor: "ItemEditor"
    browser: "Browser"
    entities: "EntityBook"
    overviews: "OverviewBook"
    searcher: "Search"
    retrieving: "PlanExecutor"
    assembler: "Assembler"
    planner: "Planner"
    budget: "Budget"
    replayer: "Replayer"
    eraser: "Eraser"
    shown: "ShownContexts"
    activity: "ActivityLog"
    used: "UsedMemories"
    usage: "Usage"
    runs: "RunReader"
    doctor: "Doctor"
    vectorizer: "Vectorizer"
    reindexer: "Reindexer"
    mirror: "Mirror | None"
    migrator: "Migrator"
    reflector: "Reflector"
    traits: "TraitBook"
    sources: "Sources"
    documents: "TakingIn"
    resources: "ResourceBook"
    experience: "ExperienceBook"
    asking: "ExperienceSearch"
    forgetter: "Forgetter"
    keeper: "MaintenanceScheduler"
    roster: "ModelRegistry"
    ledger: "StoredLedger"
    clock: Callable[[], datetime]
    disclosure: Disclosure
    zone: tzinfo
    extensions: Mapping[str, Any]
    """Components of engines whose verbs are not those of Memory, by name."""
    reviews: "RunReviews | None"
    """None: no installed plug-in brings reviews."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, by the policy's counter."""
        return self.assembler.counter().count(text)
