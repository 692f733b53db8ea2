"""The composition root: the only place where the parts are joined."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, Final

from phronesis.compose.assembly import Assembler
from phronesis.compose.core_memory import CorePolicy
from phronesis.config import Policy, PolicySource, Settings, api_keys, index_key, load_settings
from phronesis.config.experience import ExperienceRules, ForgetRules
from phronesis.config.policy import ReasoningRules
from phronesis.config.ranking import Ranking
from phronesis.config.traits import TraitRules
from phronesis.core.changes import Fold
from phronesis.core.experience.forgetting import Law
from phronesis.core.experience.principles import Worth
from phronesis.core.experience.records import L1, PATTERN, PRINCIPLE
from phronesis.core.experience.standing import STANDINGS
from phronesis.core.instants import parse_moment
from phronesis.core.reasoning.records import REASONING
from phronesis.core.scope import make_scope
from phronesis.core.traits.records import CYCLE
from phronesis.core.traits.seen import MEMORY_KINDS
from phronesis.core.traits.strength import TRAIT
from phronesis.core.traits.triggers import Thresholds
from phronesis.derive import (
    conversation,
    edits,
    erasure,
    quarantine,
    reasoning,
    runs,
    typed_items,
)
from phronesis.derive.doctor import Doctor
from phronesis.derive.editor import Editor
from phronesis.derive.eraser import Eraser
from phronesis.derive.experience.abstracting import Abstracting
from phronesis.derive.experience.aggregating import Aggregating
from phronesis.derive.experience.events import Reading
from phronesis.derive.experience.events import handlers as experience_handlers
from phronesis.derive.experience.feedback import HANDLERS as FEEDBACK_HANDLERS
from phronesis.derive.experience.forgetter import Forgetter
from phronesis.derive.experience.forgetting import HANDLERS as FORGET_HANDLERS
from phronesis.derive.experience.keeper import Keeper, Rhythm
from phronesis.derive.experience.marks import KIND as MARK
from phronesis.derive.experience.patterns import handlers as pattern_handlers
from phronesis.derive.experience.principles import handlers as principle_handlers
from phronesis.derive.experience.withdrawing import without_unheld
from phronesis.derive.extracting.gate import Gate
from phronesis.derive.extracting.rules import Rules
from phronesis.derive.extraction import ByModel, ByRules
from phronesis.derive.handler import Bench, Handler, Prepare, Registry
from phronesis.derive.instructions import find_order
from phronesis.derive.interpreter import Interpreter
from phronesis.derive.judging import Judge
from phronesis.derive.learning.bookkeeping import RunBook
from phronesis.derive.learning.candidates import Candidates
from phronesis.derive.learning.learn import Learning
from phronesis.derive.learning.learn import handlers as learn_handlers
from phronesis.derive.learning.telling import Telling
from phronesis.derive.migrating.migrate import Rewriter
from phronesis.derive.migrating.migrate import handlers as migrate_handlers
from phronesis.derive.migrating.migrator import Migrator
from phronesis.derive.parting import with_names
from phronesis.derive.rederive import rederive_handler
from phronesis.derive.reflecting import correcting
from phronesis.derive.reflecting.asking import FOUND, Asking
from phronesis.derive.reflecting.cycle import FOLDS as TRAIT_FOLDS
from phronesis.derive.reflecting.cycle import Reflecting
from phronesis.derive.reflecting.cycle import handlers as reflect_handlers
from phronesis.derive.reflecting.likeness import Likeness
from phronesis.derive.reflecting.minds import Mind
from phronesis.derive.reflecting.reflector import Reflector
from phronesis.derive.reflecting.ruling import Ruling
from phronesis.derive.reflecting.sensitive.guard import Guard
from phronesis.derive.reflecting.withdrawing import without_withdrawn
from phronesis.derive.replay import Replayer
from phronesis.derive.retry import retry_handler
from phronesis.derive.rollback import undo_handler
from phronesis.derive.sources.shelf import SOURCES
from phronesis.derive.step import Stepper
from phronesis.derive.summarising import Summarising
from phronesis.derive.writer import Writer
from phronesis.domains.catalysis.pubchem import PubChem
from phronesis.domains.catalysis.reviewing import ModifierReviews
from phronesis.domains.fields import BUILDERS
from phronesis.errors import InputError
from phronesis.index.chroma import Chroma
from phronesis.index.experience import project_event, project_learned
from phronesis.index.mirror import Mirror
from phronesis.index.outside import OutsideIndex
from phronesis.index.projections import Projector
from phronesis.index.reasoning import PROJECTED, project_reasoning
from phronesis.index.reindexing import Reindexer
from phronesis.index.traits import project_trait
from phronesis.index.unsearched import no_parts
from phronesis.index.vectorizer import Vectorizer
from phronesis.memory import Memory
from phronesis.memory.inside import Stages
from phronesis.models.embedder import Embedder
from phronesis.models.embedders import Embedders, load_embedder
from phronesis.models.roster import Roster
from phronesis.models.token_counter import TokenCounter, load_token_counter
from phronesis.recall.browse import Browser
from phronesis.recall.experience.answering import ExperienceSearch
from phronesis.recall.experience.book import ExperienceBook
from phronesis.recall.mirrored import MirroredSearch
from phronesis.recall.reranking import Reranking, Search
from phronesis.recall.scope_index import ScopeIndexes
from phronesis.recall.search import Formulas, Query, Searcher
from phronesis.recall.traits import TraitBook
from phronesis.storage.database import Database, connect
from phronesis.storage.eligible import Wanted
from phronesis.storage.migrate import open_schema
from phronesis.storage.model_calls import StoredLedger
from phronesis.storage.shown import ShownContexts
from phronesis.storage.used import UsedMemories
from phronesis.truth.recorder import Recorder

CONSEQUENCES: Final = (with_names, without_withdrawn, without_unheld)
"""What follows from changes, whatever verb wished them."""


def make_registry(
    extract: Prepare | None = None,
    learn: Prepare | None = None,
    *,
    migrate: Prepare | None = None,
    reflect: Prepare | None = None,
    read: Prepare | None = None,
    aggregate: Prepare | None = None,
    abstract: Prepare | None = None,
) -> Registry:
    """Give every verb's handler; a new engine is a new line here.

    ``extract`` prepares turns and added messages, ``learn`` what is learned from runs, ``migrate`` old memories,
    ``reflect`` reflections, ``read`` the raw texts of sources, ``aggregate`` the patterns of events,
    ``abstract`` the principles of patterns.
    """
    handlers: list[Handler] = [
        *conversation.handlers(extract),
        *typed_items.HANDLERS,
        *edits.HANDLERS,
        *quarantine.HANDLERS,
    ]
    handlers += [
        *reasoning.HANDLERS,
        *experience_handlers(read),
        *pattern_handlers(aggregate),
        *principle_handlers(abstract),
        *FEEDBACK_HANDLERS,
        *FORGET_HANDLERS,
        *erasure.HANDLERS,
        *correcting.HANDLERS,
    ]
    handlers += [*runs.HANDLERS, *learn_handlers(learn), *migrate_handlers(migrate), *reflect_handlers(reflect)]
    folds = {**reasoning.FOLDS, **TRAIT_FOLDS, **STANDINGS}
    return with_keeping([*handlers, undo_handler(folds)], folds)


def make_projector() -> Projector:
    """Give the projector; a kind that is searched in parts of its own is a line here."""
    by_kind = {
        REASONING: project_reasoning, runs.RUN: no_parts, CYCLE: no_parts, TRAIT: project_trait, L1: project_event,
        PATTERN: project_learned, PRINCIPLE: project_learned, MARK: no_parts,
    }  # fmt: skip
    return Projector(by_kind, of_members={REASONING: PROJECTED})


def with_keeping(handlers: Sequence[Handler], folds: Mapping[str, Fold]) -> Registry:
    """Give a registry of ``handlers`` and of the verbs that stand on them all: retry and rederive."""
    retrying = [*handlers, retry_handler(Registry(handlers, folds))]
    again = Stepper(Registry(retrying, folds, CONSEQUENCES), make_projector())
    return Registry([*retrying, rederive_handler(again)], folds, CONSEQUENCES)


def open_memory(
    url: str | None,
    *,
    policy: PolicySource | None,
    tenant: str | None,
    clock: Callable[[], datetime] | None,
    embedder: Embedder | None = None,
    index: OutsideIndex | None = None,
) -> Memory:
    """Open a store and join the stages over it; see ``Memory.open``. ``index`` is asked instead of the policy's."""
    settings, database = _store(load_settings(url, tenant=tenant, policy=policy))
    time = _now if clock is None else _in_utc(clock)
    counter = _counter(settings.policy)
    roster = _roster(settings, database, time, counter)
    recorder = Recorder(database, time)
    embedders = Embedders(embedder or roster.embedder() or load_embedder(settings.policy.embedder))
    finding = _finding(embedders, database, settings.policy, time, index)
    mirror = finding.mirror
    own = settings.policy.reasoning
    telling = Telling(BUILDERS[own.facts], own.products)
    rewriter = Rewriter(roster.asker("migrate") or roster.asker("learn"))
    reflect = _reflecting(settings.policy.traits, roster, embedders, finding.searcher)
    registry = make_registry(
        _prepare(roster, settings.policy), _learning(own, telling, finding.searcher, roster), migrate=rewriter,
        reflect=reflect, read=Reading(SOURCES), aggregate=Aggregating(embedders),
        abstract=_abstracting(settings.policy, roster, embedders),
    )  # fmt: skip
    stepper = Stepper(registry, make_projector())
    replayer = Replayer(database, stepper)
    interpreter = Interpreter(database, recorder, stepper, time, erasure.effects(replayer))
    writer = Writer(recorder, interpreter)
    browser = Browser(database)
    searcher = finding.searcher if (judge := roster.judge()) is None else Reranking(finding.searcher, judge)
    stages = Stages(
        database=database,
        writer=writer,
        editor=Editor(database, writer, browser, registry.folds, {**reasoning.FORMS, **correcting.FORMS}),
        browser=browser,
        searcher=searcher,
        assembler=Assembler(browser, searcher, counter, _core(settings.policy)),
        budget=settings.policy.budget,
        replayer=replayer,
        doctor=Doctor(database, registry, embedders, counter, roster, mirror),
        roster=roster,
        shown=ShownContexts.over(database),
        used=UsedMemories.over(database),
        runs=RunBook(database, telling),
        reviews=ModifierReviews(database, PubChem(settings.pubchem_url), mode=own.review, clock=time),
        eraser=Eraser(database, recorder, interpreter, finding.indexes, mirror),
        vectorizer=finding.vectorizer,
        reindexer=Reindexer(database, make_projector()),
        mirror=mirror,
        migrator=Migrator(database, writer, rewriter),
        reflector=Reflector(database, reflect.thresholds, background=settings.policy.traits.background),
        traits=TraitBook(database),
        sources=SOURCES,
        **_experienced(database, embedders, finding.indexes, time, own=settings.policy.experience),
        clock=time,
    )
    return Memory(stages, settings.tenant)


def _outside(policy: Policy) -> OutsideIndex | None:
    """Give the index outside the database that the policy names, or None."""
    named = policy.reasoning.index
    if named.backend == "native":
        return None
    key = index_key(policy)
    token = None if key is None else key.get_secret_value()
    return Chroma(path=named.path, url=named.url, collection=named.collection, token=token, timeout=named.timeout)


@dataclass(frozen=True, slots=True)
class _Finding:
    """The parts that vectors and searches are made of."""

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
    """Join what finds: the store's own search, and the index outside where there is one."""
    indexes, vectorizer = ScopeIndexes(), Vectorizer(database, embedders)
    outside = index or _outside(policy)
    mirror = None if outside is None else Mirror(database, vectorizer, outside)
    native = Searcher(database, embedders, indexes, time, _formulas(policy.ranking))
    searcher = native if mirror is None else MirroredSearch(native, mirror, database, embedders)
    return _Finding(indexes, vectorizer, mirror, searcher)


def _reflecting(own: TraitRules, roster: Roster, embedders: Embedders, searcher: Search) -> Reflecting:
    """Join what reflects: who says what memories come to, and what is kept out of it."""
    thresholds = Thresholds(importance=own.importance, hours=own.hours)
    guard = Guard(own.sensitive)
    return Reflecting(_mind(roster, embedders, searcher, guard), guard, Likeness(embedders), thresholds)


def _mind(roster: Roster, embedders: Embedders, searcher: Search, guard: Guard) -> Mind:
    """Give who reflects: the model of the role, perhaps after questions, or rules."""
    asker = roster.asker("reflect")
    if asker is None:
        return Ruling(Likeness(embedders), guard)

    def look(bench: Bench, question: str) -> list[str]:
        with bench.view() as view:
            scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
        found = searcher.search(bench.tenant, Query(question, scope, Wanted(kinds=MEMORY_KINDS), FOUND))
        return [one.item.id for one in found]

    return Asking(asker, roster.asker("questions"), roster.asker("special_reflection"), look)


def _prepare(roster: Roster, policy: Policy) -> Prepare:
    """Give how turns are prepared: by rules alone, in no time, or by the models of the roles."""
    gates = policy.gates
    gate = Gate(user=gates.user, tool=gates.tool, inferred=gates.inferred)
    rules = ByRules(Rules(gate=gate) if policy.extraction else None)
    names, lines = roster.asker("extract"), roster.asker("summarise")
    prepare: Prepare = rules if names is None else ByModel(names, rules, Judge(names))
    if lines is None:
        return prepare
    return Summarising(prepare, lines, policy.summary.every_turns, policy.summary.max_tokens, suspicious=find_order)


def _store(settings: Settings) -> tuple[Settings, Database]:
    database = connect(settings.url)
    open_schema(database)
    return settings, database


def _counter(policy: Policy) -> Callable[[], TokenCounter]:
    # The counter's vocabulary takes half a second to load: not before somebody counts.
    return cache(lambda: load_token_counter(policy.token_counter))


def _roster(
    settings: Settings, database: Database, time: Callable[[], datetime], counter: Callable[[], TokenCounter]
) -> Roster:
    own = settings.policy
    return Roster(
        own, api_keys(own), tenant=settings.tenant, ledger=StoredLedger(database), clock=time, counter=counter
    )


def _learning(own: ReasoningRules, telling: Telling, searcher: Search, roster: Roster) -> Learning:
    return Learning(telling, Candidates(searcher, own.candidates, own.top_k), partial(roster.asker, "learn"))


def _abstracting(policy: Policy, roster: Roster, embedders: Embedders) -> Abstracting:
    own = policy.experience.abstract
    worth = Worth(min_members=own.min_members, min_patterns=own.min_patterns, change=own.change)
    return Abstracting(embedders, roster.asker("abstract"), worth)


def _experienced(
    database: Database,
    embedders: Embedders,
    indexes: ScopeIndexes,
    time: Callable[[], datetime],
    *,
    own: ExperienceRules,
) -> dict[str, Any]:
    """Join what asks the experience base and keeps it in order, by the stage's name."""
    return {
        "experience": ExperienceBook(database),
        "asking": ExperienceSearch(database, embedders, indexes, time),
        "forgetter": _forgetter(database, own.forget),
        "keeper": _keeper(database, own),
    }


def _keeper(database: Database, own: ExperienceRules) -> Keeper:
    rhythm = Rhythm(own.aggregate_events, own.aggregate_hours, own.abstract_hours)
    return Keeper(database, rhythm, background=own.background)


def _forgetter(database: Database, own: ForgetRules) -> Forgetter:
    figures = {name: getattr(own, name) for name in ForgetRules.model_fields if name not in ("kinds", "keep_sources")}
    return Forgetter(database, Law(**figures, keep_sources=frozenset(own.keep_sources)), own.kinds)


def _core(policy: Policy) -> CorePolicy:
    return CorePolicy(policy.core.kinds, policy.core.pin, policy.policies)


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
