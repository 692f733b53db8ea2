"""The components that plan, retrieve and compose, joined."""

from collections.abc import Callable

from phronesis.compose.assembly import Assembler
from phronesis.compose.core_memory import CorePolicy
from phronesis.compose.evidence_selection import RelevanceFloor
from phronesis.compose.session_history import SummaryPolicy
from phronesis.config import Policy, read_key
from phronesis.conversation.extraction.memory_types import load_memory_types
from phronesis.conversation.policy_section import ConversationPolicy
from phronesis.engine.model_outcomes import decider_of
from phronesis.engine.plugin import Platform
from phronesis.memory.components import Components
from phronesis.models.token_counter import TokenCounter
from phronesis.recall.plan_queries import StoredNames
from phronesis.recall.planner import Planner
from phronesis.recall.retrievers import MEMORY, RESOURCES, LocalRetriever, PlanExecutor, RemoteRetriever, Retriever
from phronesis.resources.policy_section import ResourcePolicy
from phronesis.wiring.searching import judge_of


def make_retrieving(platform: Platform) -> PlanExecutor:
    """Return the executor of plans over memory, resources, and the server that the policy names.

    It reranks the joint candidates itself. InputError: the variable that holds the server's key is not set.
    """
    remote = platform.policy.of(ResourcePolicy).resources.remote
    found: list[Retriever] = [LocalRetriever(platform.search, MEMORY), LocalRetriever(platform.search, RESOURCES)]
    if remote is not None:
        key = read_key(
            remote.api_key_env, what="the server of remote resources", field="policy.resources.remote.api_key_env"
        )
        found.append(RemoteRetriever(remote.url, key, remote.timeout))
    return PlanExecutor(found, platform.policy.fusion.rules(), judge_of(platform))


def make_planner(platform: Platform) -> Planner:
    """Return the planner of queries."""
    policy = platform.policy
    return Planner(
        platform.clock,
        platform.models.asker("plan") if policy.gateways else None,
        StoredNames(platform.database),
        limit=policy.budget.evidence_count,
        share=policy.fusion.memory_share,
    )


def make_assembler(platform: Platform, components: Components, counter: Callable[[], TokenCounter]) -> Assembler:
    """Return the assembler of contexts."""
    policy = platform.policy
    decider = decider_of(platform) if policy.fusion.relevance == "decide" else None
    return Assembler(
        components.browser,
        components.planner,
        components.retrieving,
        components.searcher,
        counter,
        _core(policy),
        _summary(policy),
        masks=policy.privacy.contexts == "mask",
        floor=None if decider is None else RelevanceFloor(decider),
    )


def _core(policy: Policy) -> CorePolicy:
    own = policy.core
    return CorePolicy(
        own.kinds,
        own.pin,
        policy.policies,
        own.items,
        own.due,
        policy.of(ConversationPolicy).conflict.disputes,
        load_memory_types().keys_of_care(),
    )


def _summary(policy: Policy) -> SummaryPolicy:
    own = policy.of(ConversationPolicy).summary
    return SummaryPolicy(own.noted, own.said, own.opening)
