"""An engine: one object that says what a room brings to a store, and the engines of a store together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar

from phronesis.config import Policy, Settings
from phronesis.core.changes import Fold
from phronesis.core.results import Check
from phronesis.engine import edits, erasure_effect
from phronesis.engine.edits import Form
from phronesis.engine.entry_applier import EntryApplier, without_second_names
from phronesis.engine.handler import Consequence, Handler, Registry
from phronesis.engine.replay import rederive_handler
from phronesis.engine.rollback import retry_handler, undo_handler
from phronesis.errors import PluginBroken
from phronesis.index.projections import Projection, Projector
from phronesis.log.redaction import Redactor
from phronesis.models.embedders import Embedders
from phronesis.models.model_registry import ModelRegistry
from phronesis.recall.reranking import Search
from phronesis.recall.scope_index import ScopeIndexes
from phronesis.store.database import Database
from phronesis.store.usage import Usage

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """What an open store offers to its engines."""

    database: Database
    settings: Settings
    clock: Callable[[], datetime]
    embedders: Embedders
    models: ModelRegistry
    search: Search
    indexes: ScopeIndexes
    redactor: Redactor
    usage: Usage

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.settings.policy


DoctorCheck = Callable[[str], Iterable[Check]]
"""A read-only health check of a tenant; its name is reported when it raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEngine:
    """What an engine brings to one open store.

    ``decorations`` replace handlers of the spine and of other engines, by verb. ``components`` are what `Memory`
    delegates to: by the names of `phronesis.memory.runtime.Components`, others under ``extensions``.
    """

    handlers: Sequence[Handler] = ()
    decorations: Mapping[str, Callable[[Handler], Handler]] = field(default_factory=dict)
    components: Mapping[str, Any] = field(default_factory=dict)
    checks: Sequence[DoctorCheck] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine, as a distribution registers it under the entry-point group ``phronesis.engines``.

    ``folds``, ``projections`` and ``forms`` (the update rules of its items) are by kind of item; ``indexed_members``
    are those of `Projector`. The consequences of the engines named in ``after`` run before its own.
    """

    name: str
    open: Callable[[Platform], OpenEngine]
    folds: Mapping[str, Fold] = field(default_factory=dict)
    projections: Mapping[str, Projection] = field(default_factory=dict)
    indexed_members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    forms: Mapping[str, Form] = field(default_factory=dict)
    consequences: Sequence[Consequence] = ()
    after: Sequence[str] = ()


@dataclass(frozen=True)
class EngineSet:
    """The engines of a store, in the order of their consequences."""

    engines: tuple[Engine, ...]

    @classmethod
    def of(cls, engines: Iterable[Engine]) -> "EngineSet":
        """Return the engines in order; PluginBroken if two have one name, or each comes after another."""
        named = merge_parts((engine.name, {engine.name: engine}) for engine in engines)
        order = TopologicalSorter({name: [one for one in named[name].after if one in named] for name in sorted(named)})
        try:
            return cls(tuple(named[name] for name in order.static_order()))
        except CycleError as error:
            raise PluginBroken(f"the engines {', '.join(sorted(set(error.args[1])))} each come after another") from None

    def __iter__(self) -> Iterator[Engine]:
        return iter(self.engines)

    @cached_property
    def folds(self) -> Mapping[str, Fold]:
        """The folds by kind."""
        return merge_parts((one.name, one.folds) for one in self)

    @cached_property
    def forms(self) -> Mapping[str, Form]:
        """The update rules by kind."""
        return merge_parts((one.name, one.forms) for one in self)

    @cached_property
    def consequences(self) -> tuple[Consequence, ...]:
        """The consequences of changes, whatever verb made them; that of the spine comes last."""
        return (*(rule for one in self for rule in one.consequences), without_second_names)

    @cached_property
    def projector(self) -> Projector:
        """The projections of all kinds."""
        return Projector(
            merge_parts((one.name, one.projections) for one in self),
            merge_parts((one.name, one.indexed_members) for one in self),
        )

    def handlers(self, opened: Mapping[str, OpenEngine]) -> list[Handler]:
        """Return the handlers of all verbs, except those that are made of others."""
        own = (*edits.EDIT_HANDLERS, *edits.QUARANTINE_HANDLERS, *erasure_effect.HANDLERS)
        brought = [("spine", own), *((name, one.handlers) for name, one in opened.items())]
        found = merge_parts((name, {handler.verb: handler for handler in handlers}) for name, handlers in brought)
        for one in opened.values():
            for verb, decorate in one.decorations.items():
                if verb in found:
                    found[verb] = decorate(found[verb])
        return list(found.values())

    def registry(self, handlers: Iterable[Handler]) -> Registry:
        """Return a registry of ``handlers`` and of the verbs that are made of them: rollback, retry and rederive."""
        undoing = [*handlers, undo_handler(self.folds)]
        retrying = [*undoing, retry_handler(Registry(undoing, self.folds))]
        again = EntryApplier(Registry(retrying, self.folds, self.consequences), self.projector)
        return Registry([*retrying, rederive_handler(again)], self.folds, self.consequences)


def merge_parts(parts: Iterable[tuple[str, Mapping[str, _T]]]) -> dict[str, _T]:
    """Join what engines bring by name; PluginBroken if two bring the same."""
    found: dict[str, _T] = {}
    owners: dict[str, str] = {}
    for engine, brought in parts:
        for name, one in brought.items():
            other = owners.setdefault(name, engine)
            if name in found:
                raise PluginBroken(f"the engines {other} and {engine} both bring '{name}'; uninstall one of them")
            found[name] = one
    return found
