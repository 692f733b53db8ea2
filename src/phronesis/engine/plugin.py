"""An engine: one object that says what a room brings to a store, and the engines of a store together.

An engine's object is light: it names what the engine brings, and imports the modules that do it at the first use. So a
store is opened, and a call answered, without the engines that have no part in it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, TypeVar

from phronesis.core.lazy_loading import LazyMapping, LazyMembers, lazy_module
from phronesis.errors import PluginBroken

if TYPE_CHECKING:
    from phronesis.config import Part as PolicyPart
    from phronesis.config import Policy, Settings, policy
    from phronesis.core.changes import Changes, Fold
    from phronesis.core.items import Item
    from phronesis.core.results import Check
    from phronesis.engine import edits, entry_applier, erasure_plan, handler, replay, rollback
    from phronesis.engine.edits import Form
    from phronesis.engine.handler import Consequence, Handler, Registry
    from phronesis.index import projections
    from phronesis.index.projections import OutsideIndex, Projection, Projector
    from phronesis.index.vectorizer import Vectorizer
    from phronesis.log.erasure import Redactor
    from phronesis.models.embedders import Embedders
    from phronesis.models.model_registry import ModelRegistry
    from phronesis.recall.query import Search
    from phronesis.recall.scope_index import ScopeIndexes
    from phronesis.store.database import Database
    from phronesis.store.retention import Usage
else:
    edits = lazy_module("phronesis.engine.edits")
    policy = lazy_module("phronesis.config.policy")
    entry_applier = lazy_module("phronesis.engine.entry_applier")
    erasure_plan = lazy_module("phronesis.engine.erasure_plan")
    handler = lazy_module("phronesis.engine.handler")
    projections = lazy_module("phronesis.index.projections")
    replay = lazy_module("phronesis.engine.replay")
    rollback = lazy_module("phronesis.engine.rollback")

_T = TypeVar("_T")


class Platform(LazyMembers):
    """What an open store offers to its engines."""

    database: "Database"
    settings: "Settings"
    clock: Callable[[], datetime]
    embedders: "Embedders"
    models: "ModelRegistry"
    search: "Search"
    indexes: "ScopeIndexes"
    redactor: "Redactor"
    usage: "Usage"
    vectorizer: "Vectorizer"
    index: "OutsideIndex | None"
    """An index of claims that overrides the policy's."""

    @property
    def policy(self) -> "Policy":
        """The policy in force."""
        return self.settings.policy


DoctorCheck = Callable[[str], "Iterable[Check]"]
"""A read-only health check of a tenant; its name is reported when it raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEngine:
    """What an engine brings to one open store.

    ``decorations`` replace handlers of the spine and of other engines, by verb. ``components`` are what `Memory`
    delegates to: by the names of `phronesis.memory.runtime.Components`, others under ``extensions``.
    """

    handlers: "Sequence[Handler]" = ()
    decorations: "Mapping[str, Callable[[Handler], Handler]]" = field(default_factory=dict)
    components: Mapping[str, Any] = field(default_factory=dict)
    checks: Sequence[DoctorCheck] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an engine: it is opened at the first use of a verb or a component that it names.

    It brings exactly what it names. ``decorated`` are the verbs of its decorations.
    """

    open: Callable[[Platform], OpenEngine]
    verbs: Sequence[str] = ()
    decorated: Sequence[str] = ()
    components: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A web page of an engine, which has an entry in the menu.

    ``render`` takes the visitor's `Memory`, the scope looked at (as arguments of its verbs) and the address's query. It
    returns the content: HTML if it is a ``markupsafe.Markup``, else text.
    """

    path: str
    title: str
    render: Callable[[Any, Mapping[str, Any], Mapping[str, str]], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine, as a distribution registers it under the entry-point group ``phronesis.engines``.

    ``parts`` are opened when they are needed; what ``open`` returns is opened with the store. ``folds``,
    ``projections`` and ``forms`` (the update rules of its items) are by kind of item (`by_kind` loads them when they
    are needed); ``indexed_members`` are those of `Projector`. ``policy`` returns a model whose fields are the engine's
    sections of brain.yml, which its parts read by ``platform.policy.of(model)``. The consequences of the engines named
    in ``after`` run before its own.
    """

    name: str
    open: Callable[[Platform], OpenEngine] | None = None
    parts: Sequence[Part] = ()
    folds: "Mapping[str, Fold]" = field(default_factory=dict)
    projections: "Mapping[str, Projection]" = field(default_factory=dict)
    indexed_members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    forms: "Mapping[str, Form]" = field(default_factory=dict)
    policy: "Callable[[], type[PolicyPart]] | None" = None
    pages: Sequence[Page] = ()
    consequences: "Sequence[Consequence]" = ()
    after: Sequence[str] = ()


class OpenPart(LazyMembers):
    """A part of an engine over one store; ``opened`` is what it brings, PluginBroken if that is not what it names."""

    engine: str
    part: Part
    opened: OpenEngine

    def __init__(self, engine: str, part: Part, platform: Platform) -> None:
        super().__init__({"engine": engine, "part": part}, {"opened": partial(_open_part, engine, part, platform)})

    def component(self, name: str) -> Any:
        """Return a component."""
        return self.opened.components[name]


def _open_part(engine: str, part: Part, platform: Platform) -> OpenEngine:
    opened = part.open(platform)
    brought = ({one.verb for one in opened.handlers}, {*opened.decorations}, {*opened.components})
    named = ({*part.verbs}, {*part.decorated}, {*part.components})
    if brought != named:
        raise PluginBroken(
            f"the engine {engine} names {sorted(set().union(*named))} and brings {sorted(set().union(*brought))};"
            " repair it, or uninstall it"
        )
    return opened


def _part_of_open(engine: Engine, platform: Platform) -> list[Part]:
    """Return what an engine opens with the store, as a part."""
    if engine.open is None:
        return []
    opened = engine.open(platform)
    verbs = [one.verb for one in opened.handlers]
    return [Part(open=lambda _: opened, verbs=verbs, decorated=[*opened.decorations], components=[*opened.components])]


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
    def policy(self) -> "type[Policy]":
        """The policy with the sections of all engines; PluginBroken if two bring the same."""
        found = {one.name: one.policy() for one in self if one.policy is not None}
        fields = {"spine": policy.Policy.model_fields, **{name: part.model_fields for name, part in found.items()}}
        merge_parts(fields.items())
        return policy.compose_policy(found.values())

    @cached_property
    def pages(self) -> Sequence[Page]:
        """The web pages of all engines."""
        return [page for one in self for page in one.pages]

    @cached_property
    def folds(self) -> "Mapping[str, Fold]":
        """The folds by kind."""
        return merge_parts((one.name, one.folds) for one in self)

    @cached_property
    def forms(self) -> "Mapping[str, Form]":
        """The update rules by kind."""
        return merge_parts((one.name, one.forms) for one in self)

    @cached_property
    def consequences(self) -> "tuple[Consequence, ...]":
        """The consequences of changes, whatever verb made them; that of the spine comes last."""
        return (*(rule for one in self for rule in one.consequences), entry_applier.drop_duplicate_names)

    @cached_property
    def projector(self) -> "Projector":
        """The projections of all kinds."""
        return projections.Projector(
            merge_parts((one.name, one.projections) for one in self),
            merge_parts((one.name, one.indexed_members) for one in self),
        )

    def opened_on(self, platform: Platform) -> list[OpenPart]:
        """Return the engines' parts over a store; PluginBroken if two engines bring the same verb or component."""
        parts = [
            OpenPart(one.name, part, platform) for one in self for part in (*one.parts, *_part_of_open(one, platform))
        ]
        merge_parts((one.engine, dict.fromkeys(one.part.verbs)) for one in parts)
        merge_parts((one.engine, dict.fromkeys(one.part.components)) for one in parts)
        return parts

    def handlers(self, opened: Iterable[OpenPart]) -> "Mapping[str, Handler]":
        """Return the handlers of all verbs, except those that are made of others."""
        own = (*edits.EDIT_HANDLERS, *edits.QUARANTINE_HANDLERS, *erasure_plan.HANDLERS)
        parts = list(opened)
        spine = ("spine", {one.verb: one for one in own})
        found = merge_parts(
            [spine, *((one.engine, by_kind(partial(_handlers, one), *one.part.verbs)) for one in parts)]
        )
        decorating = [one for one in parts if one.part.decorated]

        def decorate(verb: str) -> "Handler":
            made = found[verb]
            for one in decorating:
                if verb in one.part.decorated:
                    made = one.opened.decorations[verb](made)
            return made

        return LazyMapping({verb: partial(decorate, verb) for verb in found})

    def registry(self, handlers: "Mapping[str, Handler]") -> "Registry":
        """Return a registry of ``handlers`` and of the verbs that are made of them: rollback, retry and rederive."""
        undoing = _add_handler(handlers, rollback.undo_handler(self.folds))
        retrying = _add_handler(undoing, rollback.retry_handler(handler.Registry(undoing, self.folds)))
        again = entry_applier.EntryApplier(handler.Registry(retrying, self.folds, self.consequences), self.projector)
        return handler.Registry(_add_handler(retrying, replay.rederive_handler(again)), self.folds, self.consequences)


def _handlers(part: OpenPart) -> "Mapping[str, Handler]":
    return {one.verb: one for one in part.opened.handlers}


def _add_handler(handlers: "Mapping[str, Handler]", one: "Handler") -> "Mapping[str, Handler]":
    return merge_parts([("an installed distribution", handlers), ("spine", {one.verb: one})])


def merge_parts(parts: Iterable[tuple[str, Mapping[str, _T]]]) -> Mapping[str, _T]:
    """Join what engines bring by name, without loading it; PluginBroken if two bring the same."""
    found: dict[str, Callable[[], _T]] = {}
    owners: dict[str, str] = {}
    for engine, brought in parts:
        for name in brought:
            other = owners.setdefault(name, engine)
            if name in found:
                raise PluginBroken(f"the engines {other} and {engine} both bring '{name}'; uninstall one of them")
            found[name] = partial(brought.__getitem__, name)
    return LazyMapping(found)


# What the engines' objects are made of.


def by_kind(load: Callable[[], Mapping[str, _T]], *kinds: str) -> Mapping[str, _T]:
    """Return a mapping with the names ``kinds``, whose values ``load`` gives at the first use of one."""
    return LazyMapping({kind: partial(lambda name: load()[name], kind) for kind in kinds})


def touches(changes: "Changes", held: "Mapping[str, Item]", *kinds: str) -> bool:
    """Return whether some changes patch an item of certain kinds; ``held`` are the items that they touch."""
    return any(patch.item_id in held and held[patch.item_id].kind in kinds for patch in changes.patches)


def is_withdrawal(changes: "Changes") -> bool:
    """Return whether some changes archive or retract an item."""
    return any(
        patch.fields.get("status") == "archived" or patch.fields.get("ended") == "retracted"
        for patch in changes.patches
    )
