"""The composition root: the only place where the parts are joined into a `Memory`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any

from phronesis.compose.assembly import Assembler, EvidencePlanner
from phronesis.compose.core_memory import CorePolicy
from phronesis.compose.session_history import SummaryPolicy
from phronesis.config import Policy, PolicySource, Settings, api_keys, effective_policy, index_key, load_settings
from phronesis.config.policy_sections import Ranking
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.core.results import Check, DoctorReport
from phronesis.core.timestamps import parse_moment, parse_zone
from phronesis.engine import erasure_effect
from phronesis.engine.doctor import Doctor, check_of, writable_again
from phronesis.engine.edits import ItemEditor
from phronesis.engine.entry_applier import EntryApplier
from phronesis.engine.erasure import Eraser
from phronesis.engine.handler import Registry
from phronesis.engine.interpreter import Interpreter
from phronesis.engine.plugin import OpenEngine, Platform, merge_parts
from phronesis.engine.replay import Replayer
from phronesis.engine.writer import Writer
from phronesis.errors import InputError, PhronesisError, StorageReadOnly
from phronesis.index.chroma import Chroma
from phronesis.index.external_index import OutsideIndex
from phronesis.index.reindexing import Reindexer
from phronesis.index.vectorizer import Vectorizer
from phronesis.log.recorder import Recorder
from phronesis.log.redaction import Redactor
from phronesis.memory import Memory
from phronesis.memory.overview import OverviewBook
from phronesis.memory.runtime import Components, Runtime
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders, load_embedders
from phronesis.models.model_registry import ModelRegistry
from phronesis.models.token_counter import CachedCounts, TokenCounter, load_token_counter
from phronesis.reasoning.external_mirror import Mirror, index_check, outside_eraser
from phronesis.reasoning.external_search import MirroredSearch
from phronesis.recall.browse import Browser
from phronesis.recall.planning.planner import Planner
from phronesis.recall.planning.wordings import StoredNames
from phronesis.recall.reranking import RerankedSearch, Search
from phronesis.recall.retrieval import make_retrieving
from phronesis.recall.scope_index import ScopeIndexes
from phronesis.recall.search import Formulas, Searcher
from phronesis.store.context_impressions import ShownContexts
from phronesis.store.database import Database, connect
from phronesis.store.migrate import open_schema
from phronesis.store.model_calls import StoredLedger
from phronesis.store.usage import Usage, UsedMemories
from phronesis.wiring.engines import find_engines


def open_memory(
    url: str | None,
    *,
    policy: PolicySource | None,
    tenant: str | None,
    clock: Callable[[], datetime] | None,
    embedder: Embedder | Embedders | None = None,
    index: OutsideIndex | None = None,
) -> Memory:
    """Open a store and join the components over it; see ``Memory.open``. ``index`` overrides the policy's."""
    settings, database = _store(load_settings(url, tenant=tenant, policy=policy))
    time = _now if clock is None else _in_utc(clock)
    counter = _counter(settings.policy)
    ledger, roster = _roster(settings, database, time, counter)
    recorder = Recorder(database, time)
    embedders = _embedders(embedder or roster.embedder(), settings.policy)
    finding = _finding(embedders, database, settings.policy, time, index)
    usage, redactor = Usage(database), Redactor(settings.policy.privacy.actions)
    platform = Platform(
        database=database,
        settings=settings,
        clock=time,
        embedders=embedders,
        models=roster,
        search=finding.searcher,
        indexes=finding.indexes,
        redactor=redactor,
        usage=usage,
    )
    engines = find_engines()
    opened = {engine.name: engine.open(platform) for engine in engines}
    stepper = EntryApplier(engines.registry(engines.handlers(opened)), engines.projector)
    replayer = Replayer(database, stepper)
    interpreter = Interpreter(database, recorder, stepper, time, erasure_effect.effects(replayer))
    writer = Writer(recorder, interpreter, finding.vectorizer.written, redactor)
    browser = Browser(database)
    components = Components(
        database=database,
        writer=writer,
        editor=ItemEditor(database, writer, browser, stepper.registry.folds, engines.forms),
        browser=browser,
        **_answering(browser, finding.searcher, settings.policy, roster, counter=counter, time=time),
        replayer=replayer,
        doctor=_doctor(platform, stepper.registry, counter, finding.mirror, opened.values()),
        roster=roster,
        ledger=ledger,
        shown=ShownContexts.over(database),
        used=UsedMemories.over(database),
        usage=usage,
        eraser=Eraser(database, recorder, interpreter, finding.indexes, outside_eraser(finding.mirror, database)),
        vectorizer=finding.vectorizer,
        reindexer=Reindexer(database, engines.projector),
        mirror=finding.mirror,
        **_components(opened),
        clock=time,
    )
    return Memory(Runtime(components, settings.tenant))


def _components(opened: Mapping[str, OpenEngine]) -> dict[str, Any]:
    """Join what the engines bring for `Memory` to delegate to, by name; others are extensions."""
    brought = merge_parts((name, engine.components) for name, engine in opened.items())
    known = {field.name for field in fields(Components)}
    own = {name: one for name, one in brought.items() if name in known}
    return {**own, "extensions": {name: one for name, one in brought.items() if name not in known}}


def _doctor(
    platform: Platform,
    registry: Registry,
    counter: Callable[[], TokenCounter],
    mirror: Mirror | None,
    opened: Iterable[OpenEngine],
) -> Doctor:
    settings = platform.settings
    return Doctor(
        platform.database,
        registry,
        platform.embedders,
        counter,
        platform.models,
        effective_policy(settings.policy, settings.origin),
        platform.clock,
        platform.redactor,
        (index_check(mirror), *(check for engine in opened for check in engine.checks)),
    )


def _embedders(given: Embedder | Embedders | None, policy: Policy) -> Embedders:
    if isinstance(given, Embedders):
        return given
    return load_embedders(policy.embedder) if given is None else Embedders(given)


def _answering(
    browser: Browser,
    search: Search,
    policy: Policy,
    roster: ModelRegistry,
    *,
    counter: Callable[[], TokenCounter],
    time: Callable[[], datetime],
) -> dict[str, Any]:
    """Join the components that answer and compose, by name; ``search`` ranks by its own scores."""
    database, judge = browser.database, roster.judge()
    searcher = search if judge is None else RerankedSearch(search, judge)
    retrieving = make_retrieving(search, policy, judge)
    planner = Planner(
        time,
        roster.asker("plan"),
        StoredNames(database),
        limit=policy.budget.evidence_count,
        share=policy.fusion.memory_share,
    )
    finding = EvidencePlanner(planner, retrieving, searcher)
    return {
        "searcher": searcher,
        "retrieving": retrieving,
        "planner": planner,
        "assembler": Assembler(
            browser, finding, counter, _core(policy), _summary(policy), masks=policy.privacy.contexts == "mask"
        ),
        "budget": policy.budget,
        "zone": parse_zone(policy.time_zone),
        "overviews": OverviewBook(database),
    }


def _outside(policy: Policy) -> OutsideIndex | None:
    """Return the external index that the policy names, or None."""
    named = policy.reasoning.index
    if named.backend == "native":
        return None
    key = index_key(policy)
    token = None if key is None else key.get_secret_value()
    return Chroma(path=named.path, url=named.url, collection=named.collection, token=token, timeout=named.timeout)


@dataclass(frozen=True, slots=True)
class _Finding:
    """The components of which vectors and searches are made."""

    indexes: ScopeIndexes
    vectorizer: Vectorizer
    mirror: Mirror | None
    searcher: Search


def _finding(
    embedders: Embedders,
    database: Database,
    policy: Policy,
    time: Callable[[], datetime],
    index: OutsideIndex | None,
) -> _Finding:
    """Join the components of search: the store's own search, and the external index where there is one."""
    indexes, vectorizer = ScopeIndexes(), Vectorizer(database, embedders)
    outside = index or _outside(policy)
    mirror = None if outside is None else Mirror(database, vectorizer, outside)
    native = Searcher(database, embedders, indexes, time, _formulas(policy.ranking))
    searcher = native if mirror is None else MirroredSearch(native, mirror, database, embedders)
    return _Finding(indexes, vectorizer, mirror, searcher)


def _store(settings: Settings) -> tuple[Settings, Database]:
    database = connect(settings.url)
    open_schema(database)
    return settings, database


def _counter(policy: Policy) -> Callable[[], TokenCounter]:
    # The counter's vocabulary takes half a second to load: not before somebody counts.
    return cache(lambda: CachedCounts(load_token_counter(policy.token_counter)))


def _roster(
    settings: Settings, database: Database, time: Callable[[], datetime], counter: Callable[[], TokenCounter]
) -> tuple[StoredLedger, ModelRegistry]:
    own, ledger = settings.policy, StoredLedger(database)
    return ledger, ModelRegistry(own, api_keys(own), tenant=settings.tenant, ledger=ledger, clock=time, counter=counter)


def _core(policy: Policy) -> CorePolicy:
    own = policy.core
    return CorePolicy(
        own.kinds,
        own.pin,
        policy.policies,
        own.items,
        own.due,
        policy.conflict.disputes,
        load_memory_types().keys_of_care(),
    )


def _summary(policy: Policy) -> SummaryPolicy:
    own = policy.summary
    return SummaryPolicy(own.noted, own.said, own.opening)


def _formulas(own: Ranking) -> Formulas:
    shipped = Formulas()
    return Formulas(
        shipped.words if own.words is None else own.words.formula(dense=False),
        shipped.dense if own.dense is None else own.dense.formula(dense=True),
    )


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
        return DoctorReport([_mistaken(str(line)) for line in error.details.get("mistakes", (error.message,))])
    except PhronesisError as error:
        found = check_of(error, "open", "mend what is told; until then the store cannot be used")
        if isinstance(error, StorageReadOnly) and url is not None and url.startswith(_SQLITE):
            found = Check(
                "open",
                ok=False,
                detail=found.detail,
                remedy=found.remedy,
                level="error",
                code=found.code,
                command=writable_again(url.removeprefix(_SQLITE)),
            )
        return DoctorReport([found])


def _mistaken(line: str) -> Check:
    remedy = "correct it there; what a policy may say is in docs/policies.md"
    return Check("policy", ok=False, detail=line, remedy=remedy, level="error", code="policy.invalid")
