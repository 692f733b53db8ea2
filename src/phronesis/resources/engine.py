"""The resources engine: documents and their sections, from files, pages, and references of turns."""

from functools import partial
from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform, by_kind, touches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phronesis.core.changes import Changes
    from phronesis.core.entries import Entry
    from phronesis.core.items import Item
    from phronesis.index import projections
    from phronesis.index.projections import Projection
    from phronesis.resources import documents, handlers, ingestion, policy_section
    from phronesis.store.lane_view import LaneView
else:
    documents = lazy_module("phronesis.resources.documents")
    handlers = lazy_module("phronesis.resources.handlers")
    projections = lazy_module("phronesis.index.projections")
    ingestion = lazy_module("phronesis.resources.ingestion")
    policy_section = lazy_module("phronesis.resources.policy_section")


def _open_documents(platform: Platform) -> OpenEngine:
    return ingestion.open_documents(platform)


def _open_references(platform: Platform) -> OpenEngine:
    rules = platform.policy.of(policy_section.ResourcePolicy).resources
    return OpenEngine(decorations={"turn": partial(ingestion.extend_turns, rules=rules)})


def _projections() -> "Mapping[str, Projection]":
    return {"document": projections.no_parts, "section": documents.project_section}


def _with_sections(view: "LaneView", entry: "Entry", changes: "Changes", held: "Mapping[str, Item]") -> "Changes":
    return handlers.add_section_changes(view, entry, changes, held) if touches(changes, held, "document") else changes


ENGINE: Final = Engine(
    name="resources",
    policy=lambda: policy_section.ResourcePolicy,
    parts=(
        Part(open=_open_documents, verbs=("resource",), components=("documents",)),
        Part(open=_open_references, decorated=("turn",)),
        Part(
            open=lambda platform: OpenEngine(components={"resources": documents.ResourceReader(platform.database)}),
            components=("resources",),
        ),
    ),
    projections=by_kind(_projections, "document", "section"),
    consequences=(_with_sections,),
    after=("experience",),
)
