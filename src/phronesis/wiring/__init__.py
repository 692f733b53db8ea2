"""The composition root: the only place where the parts are joined into a `Memory`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from phronesis.compose.assembly import Assembler, EvidencePlanner
from phronesis.compose.core_memory import CorePolicy
from phronesis.compose.session_history import SummaryPolicy
from phronesis.config import Policy, PolicySource, Settings, api_keys, effective_policy, index_key, load_settings
from phronesis.config.conversation import law_of
from phronesis.config.policy import ReasoningRules
from phronesis.config.policy_sections import Ranking, TraitRules
from phronesis.conversation.extracting.memory_types import load_memory_types
from phronesis.conversation.handlers import prepare_turns
from phronesis.conversation.retention_policy import terms_of
from phronesis.core.results import Check, DoctorReport
from phronesis.core.scope import make_scope
from phronesis.core.timestamps import parse_moment, parse_zone
from phronesis.engine import erasure_effect
from phronesis.engine.doctor import Doctor, check_of, writable_again
from phronesis.engine.edits import ItemEditor
from phronesis.engine.entry_applier import EntryApplier
from phronesis.engine.erasure import Eraser
from phronesis.engine.handler import PrepareContext
from phronesis.engine.interpreter import Interpreter
from phronesis.engine.replay import Replayer
from phronesis.engine.sensitive_topics.guard import Guard
from phronesis.engine.writer import Writer
from phronesis.errors import InputError, PhronesisError, StorageReadOnly
from phronesis.experience.abstraction import Abstracting
from phronesis.experience.aggregation import Aggregating
from phronesis.experience.event_handlers import Reading
from phronesis.experience.laws.principles import Worth
from phronesis.experience.maintenance_schedule import MaintenanceSchedule, MaintenanceScheduler
from phronesis.experience.query import ExperienceSearch
from phronesis.experience.query_answer import ExperienceBook
from phronesis.experience.sources.registry import SOURCES
from phronesis.forgetting.handler import Forgetter
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
from phronesis.models.token_counter import KeptCounts, TokenCounter, load_token_counter
from phronesis.reasoning import handlers
from phronesis.reasoning.catalysis.pubchem import PubChem
from phronesis.reasoning.catalysis.review import ModifierReviews
from phronesis.reasoning.external_mirror import Mirror
from phronesis.reasoning.external_search import MirroredSearch
from phronesis.reasoning.fields import BUILDERS
from phronesis.reasoning.learn_candidates import Candidates, RunFacts
from phronesis.reasoning.learning import Learning
from phronesis.reasoning.migration import Migrator, Rewriter
from phronesis.reasoning.run_reader import RunReader
from phronesis.recall.browse import Browser
from phronesis.recall.planning.planner import Planner
from phronesis.recall.planning.wordings import StoredNames
from phronesis.recall.reranking import RerankedSearch, Search
from phronesis.recall.retrieval import make_retrieving
from phronesis.recall.scope_index import ScopeIndexes
from phronesis.recall.search import Formulas, Query, Searcher
from phronesis.resources.search import ResourceBook
from phronesis.store.context_impressions import ShownContexts
from phronesis.store.database import Database, connect
from phronesis.store.eligible import Wanted
from phronesis.store.migrate import open_schema
from phronesis.store.model_calls import StoredLedger
from phronesis.store.usage import Usage, UsedMemories
from phronesis.traits import contradictions
from phronesis.traits.laws.records import MEMORY_KINDS
from phronesis.traits.laws.strength import Thresholds
from phronesis.traits.llm_reflection import FOUND, ModelStrategy
from phronesis.traits.reflection import ReflectionPreparer
from phronesis.traits.reflector import Reflector
from phronesis.traits.search import TraitBook
from phronesis.traits.strategies import ReflectionStrategy, RuleStrategy
from phronesis.traits.text_similarity import TextSimilarity
from phronesis.wiring.registry import (
    Preparing,
    make_projector,
    make_ref_rules,
    make_registry,
    make_taking_in,
    with_keeping,
)

__all__ = ["make_projector", "make_registry", "open_memory", "with_keeping"]


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
    told = effective_policy(settings.policy, settings.origin)
    own = settings.policy.reasoning
    telling = RunFacts(BUILDERS[own.facts], own.products)
    rewriter = Rewriter(roster.asker("migrate") or roster.asker("learn"))
    reflect = _reflecting(settings.policy.traits, roster, embedders, finding.searcher)
    taking_in = make_taking_in(settings.policy.resources, time, _redactor(settings.policy).document)
    preparing = Preparing(
        turns=prepare_turns(roster, settings.policy),
        runs=_learning(own, telling, finding.searcher, roster),
        old=rewriter,
        reflections=reflect,
        sources=Reading(SOURCES),
        patterns=Aggregating(embedders),
        principles=_abstracting(settings.policy, roster, embedders),
        documents=taking_in,
    )
    registry = make_registry(preparing, refs=make_ref_rules(settings.policy.resources), terms=terms_of(settings.policy))
    stepper = EntryApplier(registry, make_projector())
    replayer = Replayer(database, stepper)
    interpreter = Interpreter(database, recorder, stepper, time, erasure_effect.effects(replayer))
    writer = Writer(recorder, interpreter, finding.vectorizer.written, _redactor(settings.policy))
    browser = Browser(database)
    stages = Components(
        database=database,
        writer=writer,
        editor=ItemEditor(database, writer, browser, registry.folds, {**handlers.FORMS, **contradictions.FORMS}),
        browser=browser,
        **_answering(browser, finding.searcher, settings.policy, roster, counter=counter, time=time),
        replayer=replayer,
        doctor=Doctor(database, registry, embedders, counter, roster, finding.mirror, told, time, writer.redactor),
        roster=roster,
        ledger=ledger,
        shown=ShownContexts.over(database),
        used=UsedMemories.over(database),
        runs=RunReader(database, telling),
        reviews=ModifierReviews(database, PubChem(settings.pubchem_url), mode=own.review, clock=time),
        eraser=Eraser(database, recorder, interpreter, finding.indexes, finding.mirror),
        vectorizer=finding.vectorizer,
        reindexer=Reindexer(database, make_projector()),
        mirror=finding.mirror,
        migrator=Migrator(database, writer, rewriter),
        reflector=Reflector(database, reflect.thresholds, background=settings.policy.traits.background),
        sources=SOURCES,
        documents=taking_in,
        **_experienced(database, embedders, finding.indexes, time, own=settings.policy),
        clock=time,
    )
    return Memory(Runtime(stages, settings.tenant))


def _redactor(policy: Policy) -> Redactor:
    return Redactor(policy.privacy.actions)


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
        "traits": TraitBook(database),
        "resources": ResourceBook(database),
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


def _reflecting(own: TraitRules, roster: ModelRegistry, embedders: Embedders, searcher: Search) -> ReflectionPreparer:
    """Join the components of reflection: the strategy and the filter."""
    thresholds = Thresholds(importance=own.importance, hours=own.hours)
    guard = Guard(own.sensitive)
    return ReflectionPreparer(_mind(roster, embedders, searcher, guard), guard, TextSimilarity(embedders), thresholds)


def _mind(roster: ModelRegistry, embedders: Embedders, searcher: Search, guard: Guard) -> ReflectionStrategy:
    """Return the reflection strategy: the role's model, with or without questions, or rules."""
    asker = roster.asker("reflect")
    if asker is None:
        return RuleStrategy(TextSimilarity(embedders), guard)

    def look(bench: PrepareContext, question: str) -> list[str]:
        with bench.view() as view:
            scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
        found = searcher.search(bench.tenant, Query(question, scope, Wanted(kinds=MEMORY_KINDS), FOUND))
        return [one.item.id for one in found]

    return ModelStrategy(asker, roster.asker("questions"), roster.asker("special_reflection"), look)


def _store(settings: Settings) -> tuple[Settings, Database]:
    database = connect(settings.url)
    open_schema(database)
    return settings, database


def _counter(policy: Policy) -> Callable[[], TokenCounter]:
    # The counter's vocabulary takes half a second to load: not before somebody counts.
    return cache(lambda: KeptCounts(load_token_counter(policy.token_counter)))


def _roster(
    settings: Settings, database: Database, time: Callable[[], datetime], counter: Callable[[], TokenCounter]
) -> tuple[StoredLedger, ModelRegistry]:
    own, ledger = settings.policy, StoredLedger(database)
    return ledger, ModelRegistry(own, api_keys(own), tenant=settings.tenant, ledger=ledger, clock=time, counter=counter)


def _learning(own: ReasoningRules, telling: RunFacts, searcher: Search, roster: ModelRegistry) -> Learning:
    return Learning(telling, Candidates(searcher, own.candidates, own.top_k), partial(roster.asker, "learn"))


def _abstracting(policy: Policy, roster: ModelRegistry, embedders: Embedders) -> Abstracting:
    own = policy.experience.abstract
    worth = Worth(min_members=own.min_members, min_patterns=own.min_patterns, change=own.change)
    return Abstracting(embedders, roster.asker("abstract"), worth)


def _experienced(
    database: Database,
    embedders: Embedders,
    indexes: ScopeIndexes,
    time: Callable[[], datetime],
    *,
    own: Policy,
) -> dict[str, Any]:
    """Join the components of experience queries, maintenance and forgetting, by name."""
    usage = Usage(database)
    return {
        "experience": ExperienceBook(database),
        "asking": ExperienceSearch(database, embedders, indexes, time),
        "usage": usage,
        "forgetter": _forgetter(database, usage, own),
        "keeper": _keeper(database, own),
    }


def _keeper(database: Database, policy: Policy) -> MaintenanceScheduler:
    own = policy.experience
    rhythm = MaintenanceSchedule(own.aggregate_events, own.aggregate_hours, own.abstract_hours)
    return MaintenanceScheduler(database, rhythm, background=own.background)


def _forgetter(database: Database, usage: Usage, policy: Policy) -> Forgetter:
    own = policy.forgetting
    law = law_of(own, policy.experience.forget, pinned=policy.core.pin)
    return Forgetter(database, usage, law, background=own.background, hours=own.hours)


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
