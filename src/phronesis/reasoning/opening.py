"""What the reasoning engine brings to an open store, and the FACTS builders by name or by the fields of an output."""

from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint
from typing import Any, Final

from phronesis.config.plugins import FACTS, find_plugins, load_plugin
from phronesis.core.lazy_loading import load_once
from phronesis.engine.handler import decider_of
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.reasoning import handlers, learning, migration
from phronesis.reasoning.laws.facts import Facts, FactsBuilder, FactsView, GenericFacts
from phronesis.reasoning.laws.records import Feedback, Run
from phronesis.reasoning.learn_candidates import Candidates, RunFacts
from phronesis.reasoning.policy_section import ReasoningPolicy
from phronesis.reasoning.run_reader import RunReader


class OwnFacts:
    """FACTS builder that selects by field: the first plug-in that recognises the output, else the generic one."""

    name: Final = "auto"

    def recognises(self, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002 - the port's
        """Return True: it reads any output."""
        return True

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return what is written into claims and shown to a model."""
        return _builder_of(run.fields()).facts(run, feedback)

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return the values that tests are evaluated on."""
        return _builder_of(run.fields()).view(run, feedback)

    def summary(self, facts: Facts) -> str:
        """Return the text by which candidate claims are searched."""
        return _builder_of(facts.run_output).summary(facts)


def find_builder(name: str) -> FactsBuilder:
    """Return the FACTS builder of a name in the policy."""
    for builder in (OwnFacts(), GenericFacts()):
        if builder.name == name:
            return builder
    return _load_builder(find_plugins(FACTS)[name])


@load_once
def _load_builder(point: EntryPoint) -> FactsBuilder:
    builder: FactsBuilder = load_plugin(point)()
    return builder


def _builder_of(fields: Mapping[str, Any]) -> FactsBuilder:
    builders = map(_load_builder, find_plugins(FACTS).values())
    return next((builder for builder in builders if builder.recognises(fields)), GenericFacts())


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
