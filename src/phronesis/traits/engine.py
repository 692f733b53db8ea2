"""The traits engine: reflection on memories, and the traits that it draws."""

from typing import Final

from phronesis.core.scope import make_scope
from phronesis.engine.handler import PrepareContext
from phronesis.engine.plugin import Engine, OpenEngine, Platform
from phronesis.engine.sensitive_topics.guard import Guard
from phronesis.index.projections import no_parts
from phronesis.recall.search import Query
from phronesis.store.eligible import ReadConditions
from phronesis.traits import contradictions, reflection
from phronesis.traits.laws.records import CYCLE, MEMORY_KINDS
from phronesis.traits.laws.strength import TRAIT, Thresholds
from phronesis.traits.llm_reflection import FOUND, ModelStrategy
from phronesis.traits.reflector import Reflector
from phronesis.traits.search import TraitBook, project_trait
from phronesis.traits.strategies import ReflectionStrategy, RuleStrategy
from phronesis.traits.text_similarity import TextSimilarity


def _open(platform: Platform) -> OpenEngine:
    own, database = platform.policy.traits, platform.database
    thresholds = Thresholds(importance=own.importance, hours=own.hours)
    guard, similarity = Guard(own.sensitive), TextSimilarity(platform.embedders)
    prepare = reflection.ReflectionPreparer(_strategy(platform, guard, similarity), guard, similarity, thresholds)
    return OpenEngine(
        handlers=(*contradictions.HANDLERS, *reflection.handlers(prepare)),
        components={
            "reflector": Reflector(database, thresholds, background=own.background),
            "traits": TraitBook(database),
        },
    )


def _strategy(platform: Platform, guard: Guard, similarity: TextSimilarity) -> ReflectionStrategy:
    """Return the reflection strategy: the role's model, with or without questions, or rules."""
    models, search = platform.models, platform.search
    asker = models.asker("reflect")
    if asker is None:
        return RuleStrategy(similarity, guard)

    def look(bench: PrepareContext, question: str) -> list[str]:
        with bench.view() as view:
            scope = make_scope(user_id=view.lane.user_id, namespace=view.lane.namespace)
        found = search.search(bench.tenant, Query(question, scope, ReadConditions(kinds=MEMORY_KINDS), FOUND))
        return [one.item.id for one in found]

    return ModelStrategy(asker, models.asker("questions"), models.asker("special_reflection"), look)


ENGINE: Final = Engine(
    name="traits",
    open=_open,
    folds=reflection.FOLDS,
    projections={CYCLE: no_parts, TRAIT: project_trait},
    forms=contradictions.FORMS,
    consequences=(contradictions.without_withdrawn,),
    after=("conversation",),
)
