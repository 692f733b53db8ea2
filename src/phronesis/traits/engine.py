"""The traits engine: reflection on memories, and the traits that it draws."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform, by_kind, is_withdrawal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from phronesis.core.changes import Changes
    from phronesis.core.entries import Entry
    from phronesis.core.items import Item
    from phronesis.index import projections
    from phronesis.index.projections import Projection
    from phronesis.store.lane_view import LaneView
    from phronesis.traits import policy_section, reflection, reflector, search, trait_changes
else:
    policy_section = lazy_module("phronesis.traits.policy_section")
    trait_changes = lazy_module("phronesis.traits.trait_changes")
    reflector = lazy_module("phronesis.traits.reflector")
    projections = lazy_module("phronesis.index.projections")
    reflection = lazy_module("phronesis.traits.reflection")
    search = lazy_module("phronesis.traits.search")


def _open_reflection(platform: Platform) -> OpenEngine:
    return reflector.open_reflection(platform)


def _open_corrections(_platform: Platform) -> OpenEngine:
    return OpenEngine(handlers=trait_changes.HANDLERS)


def _open_reading(platform: Platform) -> OpenEngine:
    return OpenEngine(components={"traits": search.TraitReader(platform.database)})


def _projections() -> "Mapping[str, Projection]":
    return {"cycle": projections.no_parts, "trait": search.project_trait}


def _without_withdrawn(view: "LaneView", entry: "Entry", changes: "Changes", held: "Mapping[str, Item]") -> "Changes":
    return trait_changes.withdraw_trait_evidence(view, entry, changes, held) if is_withdrawal(changes) else changes


ENGINE: Final = Engine(
    name="traits",
    policy=lambda: policy_section.TraitPolicy,
    parts=(
        Part(open=_open_reflection, verbs=("reflect",), components=("reflector",)),
        Part(open=_open_corrections, verbs=("correct_trait",)),
        Part(open=_open_reading, components=("traits",)),
    ),
    folds=by_kind(lambda: reflection.FOLDS, "trait"),
    projections=by_kind(_projections, "cycle", "trait"),
    forms=by_kind(lambda: trait_changes.FORMS, "trait"),
    consequences=(_without_withdrawn,),
    after=("conversation",),
)
