"""Select the FACTS builder of a run by the fields that its output names, and the table of all builders."""

from collections.abc import Mapping
from typing import Any, Final

from phronesis.reasoning.catalysis.run_facts import MODIFIER, CatalysisFacts
from phronesis.reasoning.laws.facts import Facts, FactsBuilder, FactsView, GenericFacts
from phronesis.reasoning.laws.records import Feedback, Run

_CATALYST: Final = frozenset({"M1", "M2", "atomic_ratio", *MODIFIER})


class OwnFacts:
    """FACTS builder that selects by field: a catalyst's where the output names a metal, ratio or modifier."""

    name: Final = "auto"

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return what is written into claims and shown to a model."""
        return _builder(run.fields()).facts(run, feedback)

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return the values that tests are evaluated on."""
        return _builder(run.fields()).view(run, feedback)

    def summary(self, facts: Facts) -> str:
        """Return the text by which candidate claims are searched."""
        return _builder(facts.run_output).summary(facts)


BUILDERS: Final[Mapping[str, FactsBuilder]] = {
    builder.name: builder for builder in (OwnFacts(), GenericFacts(), CatalysisFacts())
}
"""Builders by their names in the policy."""


def _builder(fields: Mapping[str, Any]) -> FactsBuilder:
    return CatalysisFacts() if _CATALYST & fields.keys() else GenericFacts()
