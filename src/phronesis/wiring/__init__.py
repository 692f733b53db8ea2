"""The composition root: the only place where the parts are joined into a `Memory`.

Engines are found by entry point. A part is made at its first use, and its modules are imported then (`components`). A
store whose policy names what may be missing, such as a model, is opened whole (`may_fail`), so that a mistake is an
error of ``Memory.open``.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from phronesis.config import Policy, PolicySource, Settings, api_keys, load_settings
from phronesis.config.plugins import ENGINES, broken, find_plugins, load_plugin
from phronesis.core.lazy_loading import LazyMapping, lazy_module
from phronesis.core.results import Check, DoctorReport
from phronesis.core.timestamps import parse_moment, parse_zone
from phronesis.engine.plugin import Engine, EngineSet, OpenPart, Platform, merge_parts
from phronesis.errors import InputError, PhronesisError, PluginBroken, StorageReadOnly
from phronesis.memory import Memory
from phronesis.memory.runtime import Components, Runtime
from phronesis.store.database import connect
from phronesis.store.migrations import open_schema
from phronesis.store.model_calls import StoredLedger
from phronesis.wiring.components import (
    make_assembler,
    make_doctor,
    make_editor,
    make_embedders,
    make_eraser,
    make_plan_executor,
    make_planner,
    make_replayer,
    make_search,
    make_searcher,
    make_writer,
)


@cache
def find_engines() -> EngineSet:
    """Return the engines of all installed distributions.

    PluginBroken: one cannot be loaded or clashes with another, or the metadata of this package is out of date.
    """
    found = []
    for point in find_plugins(ENGINES).values():
        engine = load_plugin(point)
        if not isinstance(engine, Engine):
            raise broken(point, f"is no Engine but a {type(engine).__name__}")
        if engine.name != point.name:
            raise broken(point, f"has the name '{engine.name}', which must be that of its entry point")
        found.append(engine)
    if not found:
        raise PluginBroken(
            "the metadata of the installed phronesis names no engine: it is of an older version; install it again (in a"
            " checkout: pip install -e .)"
        )
    return EngineSet.of(found)


def read_settings(url: str | None, *, tenant: str | None, policy: PolicySource | None = None) -> Settings:
    """Return the settings, whose policy has the sections of all engines; see ``load_settings``."""
    return load_settings(url, tenant=tenant, policy=policy, form=find_engines().policy)


if TYPE_CHECKING:
    from phronesis.engine import doctor
    from phronesis.index import projections, vectorizer
    from phronesis.index.projections import OutsideIndex
    from phronesis.log import erasure
    from phronesis.memory import overview
    from phronesis.models import model_registry, token_counter
    from phronesis.models.embedder import Embedder
    from phronesis.models.embedders import Embedders
    from phronesis.models.token_counter import TokenCounter
    from phronesis.recall import browse, entities, scope_index
    from phronesis.store import activity_log, impressions, retention
else:
    activity_log = lazy_module("phronesis.store.activity_log")
    browse = lazy_module("phronesis.recall.browse")
    impressions = lazy_module("phronesis.store.impressions")
    doctor = lazy_module("phronesis.engine.doctor")
    entities = lazy_module("phronesis.recall.entities")
    model_registry = lazy_module("phronesis.models.model_registry")
    overview = lazy_module("phronesis.memory.overview")
    projections = lazy_module("phronesis.index.projections")
    vectorizer = lazy_module("phronesis.index.vectorizer")
    erasure = lazy_module("phronesis.log.erasure")
    scope_index = lazy_module("phronesis.recall.scope_index")
    token_counter = lazy_module("phronesis.models.token_counter")
    retention = lazy_module("phronesis.store.retention")


def open_memory(
    url: str | None,
    *,
    policy: PolicySource | None,
    tenant: str | None,
    clock: Callable[[], datetime] | None,
    embedder: "Embedder | Embedders | None" = None,
    index: "OutsideIndex | None" = None,
) -> Memory:
    """Open a store and join the components over it; see ``Memory.open``. ``index`` overrides the policy's."""
    settings = read_settings(url, tenant=tenant, policy=policy)
    own, database = settings.policy, connect(settings.url)
    open_schema(database)
    time = _now if clock is None else _in_utc(clock)
    ledger = StoredLedger(database)
    # The counter's vocabulary takes half a second to load: not before somebody counts.
    counter = cache(partial(_load_counter, own))

    platform = Platform(
        {"database": database, "settings": settings, "clock": time, "index": index},
        {
            "embedders": lambda: make_embedders(embedder, platform),
            "models": lambda: model_registry.ModelRegistry(
                own, api_keys(own), tenant=settings.tenant, ledger=ledger, clock=time, counter=counter
            ),
            "search": lambda: make_search(platform, components.mirror),
            "indexes": lambda: scope_index.ScopeIndexes(),  # noqa: PLW0108 - the module is loaded then
            "redactor": lambda: erasure.Redactor(own.privacy.actions),
            "usage": lambda: retention.Usage(database),
            "vectorizer": lambda: vectorizer.Vectorizer(database, platform.embedders),
        },
    )
    engines = find_engines()
    parts = engines.opened_on(platform)
    brought, others = _component_makers(parts)
    components = Components(
        {
            "database": database,
            "ledger": ledger,
            "clock": time,
            "disclosure": own.telemetry.disclosure(),
            "zone": parse_zone(own.time_zone),
            "extensions": others,
        },
        {
            **{name: partial(_absent, name) for name in Components.__annotations__},
            **_reader_makers(platform, counter, lambda: components),
            **_writer_makers(platform, counter, lambda: components, engines, parts),
            **brought,
            "activity": lambda: activity_log.ActivityLog(
                database, own.activity.limits(), lambda: runtime.wake_notes(pressing=False)
            ),
        },
    )
    runtime = Runtime(components, settings.tenant)
    if index is not None or own.may_fail:
        platform.make_all()
        components.make_all()
        _ = [one.opened for one in parts]
    return Memory(runtime)


def _component_makers(parts: Sequence[OpenPart]) -> tuple[Mapping[str, Callable[[], Any]], Mapping[str, Any]]:
    """Return what makes the components that engines bring for `Memory`, by name; and the other components."""
    brought = merge_parts((one.engine, dict.fromkeys(one.part.components, one)) for one in parts)
    makers = {name: partial(part.component, name) for name, part in brought.items()}
    known = {name: make for name, make in makers.items() if name in Components.__annotations__}
    return known, LazyMapping({name: make for name, make in makers.items() if name not in known})


def _absent(name: str) -> Any:
    raise PluginBroken(f"no installed engine brings '{name}', which this call needs: install phronesis again")


def _reader_makers(
    platform: Platform, counter: "Callable[[], TokenCounter]", joined: Callable[[], Components]
) -> Mapping[str, Callable[[], Any]]:
    """Return what makes the components that read, by name."""
    database = platform.database
    return {
        "browser": lambda: browse.Browser(database),
        "entities": lambda: entities.EntityReader(database),
        "overviews": lambda: overview.OverviewReader(database),
        "shown": lambda: impressions.ShownContexts(database),
        "used": lambda: impressions.UsedMemories(database),
        "usage": lambda: platform.usage,
        "model_registry": lambda: platform.models,
        "searcher": lambda: make_searcher(platform),
        "plan_executor": lambda: make_plan_executor(platform),
        "planner": lambda: make_planner(platform),
        "assembler": lambda: make_assembler(platform, joined(), counter),
        "budget": lambda: platform.policy.budget,
        "reviews": lambda: None,
        "mirror": lambda: None,
    }


def _writer_makers(
    platform: Platform,
    counter: "Callable[[], TokenCounter]",
    joined: Callable[[], Components],
    engines: EngineSet,
    parts: Sequence[OpenPart],
) -> Mapping[str, Callable[[], Any]]:
    """Return what makes the components that write, and those that maintain the store, by name."""
    return {
        "replayer": lambda: make_replayer(platform, engines, parts),
        "writer": lambda: make_writer(platform, joined()),
        "editor": lambda: make_editor(joined(), engines),
        "eraser": lambda: make_eraser(platform, joined()),
        "doctor": lambda: make_doctor(platform, joined(), counter, parts),
        "reindexer": lambda: projections.Reindexer(platform.database, engines.projector),
        "vectorizer": lambda: platform.vectorizer,
    }


def _load_counter(policy: Policy) -> "TokenCounter":
    return token_counter.CachedCounts(token_counter.load_token_counter(policy.token_counter))


def _in_utc(clock: Callable[[], datetime]) -> Callable[[], datetime]:
    if not callable(clock):
        raise InputError(f"clock must be a function that gives the time, not {type(clock).__name__}", field="clock")
    return lambda: parse_moment(clock(), field="clock")


def _now() -> datetime:
    return datetime.now(UTC)


# Diagnosis of a store that may fail to open: the cause is reported like any other finding.

_SQLITE = "sqlite:///"


def examine(url: str | None, *, policy: PolicySource | None = None, tenant: str | None = None) -> DoctorReport:
    """Return the findings of ``doctor``; for a store that cannot be opened, the cause and its remedy.

    Each error of a policy is a finding with its line; the store is not checked then. InputError: the url or the tenant
    itself is invalid.
    """
    try:
        with open_memory(url, policy=policy, tenant=tenant, clock=None) as memory:
            return memory.admin.doctor()
    except InputError as error:
        if not (error.field or "").startswith("policy"):
            raise
        return DoctorReport([_mistake_check(str(line)) for line in error.details.get("mistakes", (error.message,))])
    except PhronesisError as error:
        found = doctor.check_of(error, "open", "mend what is told; until then the store cannot be used")
        if isinstance(error, StorageReadOnly) and url is not None and url.startswith(_SQLITE):
            found = Check(
                "open",
                ok=False,
                detail=found.detail,
                remedy=found.remedy,
                level="error",
                code=found.code,
                command=doctor.chmod_command(url.removeprefix(_SQLITE)),
            )
        return DoctorReport([found])


def _mistake_check(line: str) -> Check:
    remedy = "correct it there; what a policy may say is in docs/how-to/policies.md"
    return Check("policy", ok=False, detail=line, remedy=remedy, level="error", code="policy.invalid")
