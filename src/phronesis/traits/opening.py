"""What the traits engine brings to an open store: reflection."""

from phronesis.core.scope import make_scope
from phronesis.engine.decisions import decider_of
from phronesis.engine.handler import PrepareContext
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.engine.sensitive_topics.guard import Guard
from phronesis.recall.search_options import Query
from phronesis.store.eligible import ReadConditions
from phronesis.traits import reflection
from phronesis.traits.laws.strength import MEMORY_KINDS, Thresholds
from phronesis.traits.llm_reflection import FOUND, ModelStrategy
from phronesis.traits.policy_section import TraitPolicy
from phronesis.traits.reflector import Reflector
from phronesis.traits.strategies import ReflectionStrategy, RuleStrategy
from phronesis.traits.text_similarity import TextSimilarity


def open_reflection(platform: Platform) -> OpenEngine:
    """Open reflection: its verb, and what decides when it is due."""
    own = platform.policy.of(TraitPolicy).traits
    thresholds = Thresholds(importance=own.importance, hours=own.hours)
    guard, similarity = Guard(own.sensitive), TextSimilarity(platform.embedders)
    mind = _strategy(platform, similarity)
    prepare = reflection.ReflectionPreparer(mind, guard, similarity, thresholds, decider_of(platform))
    return OpenEngine(
        handlers=reflection.handlers(prepare),
        components={"reflector": Reflector(platform.database, thresholds, background=own.background)},
    )


def _strategy(platform: Platform, similarity: TextSimilarity) -> ReflectionStrategy:
    """Return the reflection strategy: the role's model, with or without questions, or rules."""
    models, search = platform.models, platform.search
    asker = models.asker("reflect")
    if asker is None:
        return RuleStrategy(similarity)

    def look(bench: PrepareContext, question: str) -> list[str]:
        with bench.view() as view:
            scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
        found = search.search(bench.tenant, Query(question, scope, ReadConditions(kinds=MEMORY_KINDS), FOUND))
        return [one.item.id for one in found]

    return ModelStrategy(asker, models.asker("questions"), models.asker("special_reflection"), look)
