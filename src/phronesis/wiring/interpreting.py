"""The components that interpret entries and maintain the store, joined."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from phronesis.config import effective_policy
from phronesis.core.lazy_loading import lazy_module
from phronesis.engine import erasure_plan
from phronesis.engine.edits import ItemEditor
from phronesis.engine.entry_applier import EntryApplier
from phronesis.engine.interpreter import Interpreter
from phronesis.engine.plugin import EngineSet, OpenPart, Platform
from phronesis.engine.replay import Replayer
from phronesis.engine.writer import Writer
from phronesis.index.vectorizer import Vectorizer
from phronesis.log.recorder import Recorder
from phronesis.memory.components import Components

if TYPE_CHECKING:
    from phronesis.engine import doctor, erasure
    from phronesis.index import projections
    from phronesis.models.token_counter import TokenCounter
    from phronesis.reasoning import external_mirror
else:
    doctor = lazy_module("phronesis.engine.doctor")
    erasure = lazy_module("phronesis.engine.erasure")
    external_mirror = lazy_module("phronesis.reasoning.external_mirror")
    projections = lazy_module("phronesis.index.projections")


def make_replayer(platform: Platform, engines: EngineSet, parts: Sequence[OpenPart]) -> Replayer:
    """Return the replayer; its stepper applies the entries of every writer too."""
    stepper = EntryApplier(engines.registry(engines.handlers(parts)), engines.projector)
    return Replayer(platform.database, stepper)


def make_writer(platform: Platform, components: Components) -> Writer:
    """Return the writer of entries, with its recorder and interpreter."""
    database, replayer = platform.database, components.replayer
    recorder = Recorder(database, platform.clock)
    effects = erasure_plan.effects(replayer)
    interpreter = Interpreter(database, recorder, replayer.stepper, platform.clock, effects)
    return Writer(recorder, interpreter, components.vectorizer.written, platform.redactor)


def make_editor(components: Components, engines: EngineSet) -> ItemEditor:
    """Return the editor of items."""
    folds = components.replayer.stepper.registry.folds
    return ItemEditor(components.database, components.writer, components.browser, folds, engines.forms)


def make_eraser(platform: Platform, components: Components) -> "erasure.Eraser":
    """Return the eraser."""
    writer, database = components.writer, platform.database
    outside = external_mirror.outside_eraser(components.mirror, database)
    return erasure.Eraser(database, writer.recorder, writer.interpreter, platform.indexes, outside)


def make_doctor(
    platform: Platform, components: Components, counter: "Callable[[], TokenCounter]", parts: Sequence[OpenPart]
) -> "doctor.Doctor":
    """Return the doctor, with the checks of every engine."""
    settings = platform.settings
    return doctor.Doctor(
        platform.database,
        components.replayer.stepper.registry,
        platform.embedders,
        counter,
        platform.models,
        effective_policy(settings.policy, settings.origin),
        platform.clock,
        platform.redactor,
        [check for one in parts for check in one.opened.checks],
    )


def make_reindexer(platform: Platform, engines: EngineSet) -> "projections.Reindexer":
    """Return the repairer of search documents."""
    return projections.Reindexer(platform.database, engines.projector)


def make_vectorizer(platform: Platform) -> Vectorizer:
    """Return the maker of vectors."""
    return Vectorizer(platform.database, platform.embedders)
