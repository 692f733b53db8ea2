"""The reasoning engine: agents' runs, the claims learned from them, and old memories rewritten as claims."""

from functools import partial
from typing import Final

from phronesis.engine.plugin import Engine, OpenEngine, Platform
from phronesis.index.projections import no_parts
from phronesis.reasoning import handlers, learning, migration
from phronesis.reasoning.documents import PROJECTED, project_reasoning
from phronesis.reasoning.fields import find_builder
from phronesis.reasoning.laws.records import REASONING
from phronesis.reasoning.learn_candidates import Candidates, RunFacts
from phronesis.reasoning.run_reader import RunReader


def _open(platform: Platform) -> OpenEngine:
    own, models = platform.policy.reasoning, platform.models
    facts = RunFacts(find_builder(own.facts), own.products)
    candidates = Candidates(platform.search, own.candidates, own.top_k)
    rewriter = migration.Rewriter(models.asker("migrate") or models.asker("learn"))
    return OpenEngine(
        handlers=(
            *handlers.REASONING_HANDLERS,
            *handlers.RUN_HANDLERS,
            *learning.handlers(learning.LearnPreparer(facts, candidates, partial(models.asker, "learn"))),
            *migration.handlers(rewriter),
        ),
        components={
            "runs": RunReader(platform.database, facts),
            "migrator": migration.Migrator(platform.database, rewriter),
        },
    )


ENGINE: Final = Engine(
    name="reasoning",
    open=_open,
    folds=handlers.FOLDS,
    projections={REASONING: project_reasoning, handlers.RUN: no_parts},
    indexed_members={REASONING: PROJECTED},
    forms=handlers.FORMS,
)
