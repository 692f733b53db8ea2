"""The components that search, write and compose, each made of its parts. Parts are imported late."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from phronesis.config import Policy, effective_policy, read_key
from phronesis.core.lazy_loading import lazy_module
from phronesis.engine.plugin import EngineSet, OpenPart, Platform
from phronesis.memory.runtime import Components

if TYPE_CHECKING:
    from phronesis.compose import assembly, core_memory, evidence_selection, session_history
    from phronesis.conversation import policy_section as conversation_policy
    from phronesis.conversation.extraction import memory_types
    from phronesis.engine import (
        doctor,
        edits,
        entry_applier,
        erasure,
        erasure_plan,
        handler,
        interpreter,
        replay,
        writer,
    )
    from phronesis.log import recorder
    from phronesis.models import embedders as encoders
    from phronesis.models.embedder import Embedder
    from phronesis.models.rerankers import Judge
    from phronesis.models.token_counter import TokenCounter
    from phronesis.reasoning import external_search
    from phronesis.reasoning.external_mirror import Mirror
    from phronesis.recall import hits, planner, retrievers, search
    from phronesis.recall.query import Search
    from phronesis.resources import policy_section as resource_policy
else:
    encoders = lazy_module("phronesis.models.embedders")
    assembly = lazy_module("phronesis.compose.assembly")
    conversation_policy = lazy_module("phronesis.conversation.policy_section")
    core_memory = lazy_module("phronesis.compose.core_memory")
    doctor = lazy_module("phronesis.engine.doctor")
    edits = lazy_module("phronesis.engine.edits")
    entry_applier = lazy_module("phronesis.engine.entry_applier")
    erasure = lazy_module("phronesis.engine.erasure")
    erasure_plan = lazy_module("phronesis.engine.erasure_plan")
    evidence_selection = lazy_module("phronesis.compose.evidence_selection")
    external_search = lazy_module("phronesis.reasoning.external_search")
    interpreter = lazy_module("phronesis.engine.interpreter")
    memory_types = lazy_module("phronesis.conversation.extraction.memory_types")
    handler = lazy_module("phronesis.engine.handler")
    planner = lazy_module("phronesis.recall.planner")
    recorder = lazy_module("phronesis.log.recorder")
    replay = lazy_module("phronesis.engine.replay")
    resource_policy = lazy_module("phronesis.resources.policy_section")
    hits = lazy_module("phronesis.recall.hits")
    retrievers = lazy_module("phronesis.recall.retrievers")
    search = lazy_module("phronesis.recall.search")
    session_history = lazy_module("phronesis.compose.session_history")
    writer = lazy_module("phronesis.engine.writer")


def make_embedders(given: "Embedder | encoders.Embedders | None", platform: Platform) -> "encoders.Embedders":
    """Return the encoders: those given, else that of the role, else those that the policy names."""
    if isinstance(given, encoders.Embedders):
        return given
    if given is None and platform.policy.gateways:
        given = platform.models.embedder()
    return encoders.load_embedders(platform.policy.embedder) if given is None else encoders.Embedders(given)


def make_search(platform: Platform, mirror: "Mirror | None") -> "Search":
    """Return the store's own search, over the external index where there is one."""
    database, embedders, own = platform.database, platform.embedders, platform.policy.ranking
    shipped = search.Formulas()
    formulas = search.Formulas(
        shipped.words if own.words is None else own.words.formula(dense=False),
        shipped.dense if own.dense is None else own.dense.formula(dense=True),
    )
    native = search.Searcher(database, embedders, platform.indexes, platform.clock, formulas)
    return native if mirror is None else external_search.MirroredSearch(native, mirror, database, embedders)


def make_searcher(platform: Platform) -> "Search":
    """Return the search of the verbs, which reranks where the policy names a reranker."""
    judge = _judge_of(platform)
    return platform.search if judge is None else hits.RerankedSearch(platform.search, judge)


def _judge_of(platform: Platform) -> "Judge | None":
    """Return the policy's reranker; a policy without gateways has none."""
    return platform.models.judge() if platform.policy.gateways else None


def make_plan_executor(platform: Platform) -> "retrievers.PlanExecutor":
    """Return the executor of plans over memory, resources, and the server that the policy names.

    It reranks the joint candidates itself. InputError: the variable that holds the server's key is not set.
    """
    given = platform.policy.of(resource_policy.ResourcePolicy).resources.remote
    remote = None
    if given is not None:
        key = read_key(
            given.api_key_env, what="the server of remote resources", field="policy.resources.remote.api_key_env"
        )
        remote = retrievers.RemoteRetriever(given.url, key, given.timeout)
    return retrievers.PlanExecutor(platform.search, remote, platform.policy.fusion.rules(), _judge_of(platform))


def make_planner(platform: Platform) -> "planner.Planner":
    """Return the planner of queries."""
    policy = platform.policy
    return planner.Planner(
        platform.clock,
        platform.models.asker("plan") if policy.gateways else None,
        platform.database,
        limit=policy.budget.evidence_count,
        share=policy.fusion.memory_share,
    )


def make_assembler(
    platform: Platform, components: Components, counter: "Callable[[], TokenCounter]"
) -> "assembly.Assembler":
    """Return the assembler of contexts."""
    policy = platform.policy
    decider = handler.decider_of(platform) if policy.fusion.relevance == "decide" else None
    own = policy.of(conversation_policy.ConversationPolicy).summary
    return assembly.Assembler(
        components.browser,
        components.planner,
        components.plan_executor,
        components.searcher,
        counter,
        _core_policy(policy),
        session_history.SummaryPolicy(own.noted, own.said, own.opening),
        masks=policy.privacy.contexts == "mask",
        floor=None if decider is None else evidence_selection.RelevanceFloor(decider),
    )


def _core_policy(policy: Policy) -> "core_memory.CorePolicy":
    own = policy.core
    disputes = policy.of(conversation_policy.ConversationPolicy).conflict.disputes
    kept = memory_types.load_memory_types().keys_of_others_shown()
    return core_memory.CorePolicy(own.kinds, own.pin, policy.policies, own.items, own.due, disputes, kept)


def make_replayer(platform: Platform, engines: EngineSet, parts: Sequence[OpenPart]) -> "replay.Replayer":
    """Return the replayer; its stepper applies the entries of every writer too."""
    stepper = entry_applier.EntryApplier(engines.registry(engines.handlers(parts)), engines.projector)
    return replay.Replayer(platform.database, stepper)


def make_writer(platform: Platform, components: Components) -> "writer.Writer":
    """Return the writer of entries, with its recorder and interpreter."""
    database, replayer, clock = platform.database, components.replayer, platform.clock
    recording = recorder.Recorder(database, clock)
    effects = erasure_plan.effects(replayer)
    interpreting = interpreter.Interpreter(database, recording, replayer.stepper, clock, effects)
    return writer.Writer(recording, interpreting, components.vectorizer.written, platform.redactor)


def make_editor(components: Components, engines: EngineSet) -> "edits.ItemEditor":
    """Return the editor of items."""
    folds = components.replayer.stepper.registry.folds
    return edits.ItemEditor(components.database, components.writer, components.browser, folds, engines.forms)


def make_eraser(platform: Platform, components: Components) -> "erasure.Eraser":
    """Return the eraser."""
    writing, database = components.writer, platform.database
    outside = external_search.index_eraser(components.mirror, database)
    return erasure.Eraser(database, writing.recorder, writing.interpreter, platform.indexes, outside)


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
