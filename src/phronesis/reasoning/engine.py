"""The reasoning engine: agents' runs, the claims learned from them, and old memories rewritten as claims."""

from typing import TYPE_CHECKING, Final

from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import Engine, OpenEngine, Part, Platform, by_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from phronesis.core.results import Check
    from phronesis.index import projections
    from phronesis.index.projections import Projection
    from phronesis.reasoning import external_search, handlers, policy_section, run_reader
else:
    policy_section = lazy_module("phronesis.reasoning.policy_section")
    external_search = lazy_module("phronesis.reasoning.external_search")
    handlers = lazy_module("phronesis.reasoning.handlers")
    run_reader = lazy_module("phronesis.reasoning.run_reader")
    projections = lazy_module("phronesis.index.projections")


def _open(platform: Platform) -> OpenEngine:
    return run_reader.open_bank(platform)


def _open_mirror(platform: Platform) -> OpenEngine:
    backend = platform.policy.of(policy_section.ReasoningPolicy).reasoning.index.backend
    is_native = platform.index is None and backend == policy_section.NATIVE
    mirror = None if is_native else external_search.open_mirror(platform)

    def index(tenant: str) -> "Iterable[Check]":
        return external_search.check_index(mirror, tenant)

    return OpenEngine(components={"mirror": mirror}, checks=(index,))


def _projections() -> "Mapping[str, Projection]":
    return {"reasoning": handlers.project_reasoning, "run": projections.no_parts}


ENGINE: Final = Engine(
    name="reasoning",
    policy=lambda: policy_section.ReasoningPolicy,
    parts=(
        Part(
            open=_open,
            verbs=("reasoning", "update_reasoning", "verdict", "run", "run_feedback", "learn", "migrate"),
            components=("runs", "migrator"),
        ),
        Part(open=_open_mirror, components=("mirror",)),
    ),
    folds=by_kind(lambda: handlers.FOLDS, "reasoning"),
    projections=by_kind(_projections, "reasoning", "run"),
    indexed_members=by_kind(lambda: {"reasoning": handlers.PROJECTED}, "reasoning"),
    forms=by_kind(lambda: handlers.FORMS, "reasoning"),
)
