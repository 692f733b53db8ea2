"""What the reasoning engine brings to an open store."""

from functools import partial

from phronesis.engine.decisions import decider_of
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.reasoning import handlers, learning, migration
from phronesis.reasoning.fields import find_builder
from phronesis.reasoning.learn_candidates import Candidates, RunFacts
from phronesis.reasoning.policy_section import ReasoningPolicy
from phronesis.reasoning.run_reader import RunReader


def open_bank(platform: Platform) -> OpenEngine:
    """Open the bank of claims: its verbs, its reader of runs, and its migration."""
    own, models = platform.policy.of(ReasoningPolicy).reasoning, platform.models
    facts = RunFacts(find_builder(own.facts), own.products)
    candidates = Candidates(platform.search, own.candidates, own.top_k)
    rewriter = migration.Rewriter(models.asker("migrate") or models.asker("learn"))
    return OpenEngine(
        handlers=(
            *handlers.REASONING_HANDLERS,
            *handlers.RUN_HANDLERS,
            *learning.handlers(
                learning.LearnPreparer(facts, candidates, partial(models.asker, "learn"), decider_of(platform))
            ),
            *migration.handlers(rewriter),
        ),
        components={
            "runs": RunReader(platform.database, facts),
            "migrator": migration.Migrator(platform.database, rewriter),
        },
    )
