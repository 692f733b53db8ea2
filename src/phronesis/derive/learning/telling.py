"""What a run tells: its FACTS as they are written into claims, and the run as tests are computed on."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from phronesis.core.items import Item
from phronesis.core.reasoning.facts import TOP_PRODUCTS, FactsBuilder, FactsView, top_products
from phronesis.core.reasoning.runs import Feedback, Run
from phronesis.derive.claims_gate.wording import without_aliases
from phronesis.derive.runs import RUN, feedback_of, run_of
from phronesis.storage.lane_view import LaneView


@dataclass(frozen=True, slots=True)
class Telling:
    """Reads runs with the FACTS builder of their field of work; FACTS list ``products`` products."""

    builder: FactsBuilder
    products: int = TOP_PRODUCTS

    def facts(self, item: Item) -> dict[str, Any]:
        """Give the FACTS of a run as JSON, without the aliases that people wrote into it (RB-05, RB-15)."""
        return self.facts_of(run_of(item), feedback_of(item) or Feedback())

    def facts_of(self, run: Run, feedback: Feedback) -> dict[str, Any]:
        """Give the same of a run and what it came to, recorded or not."""
        return dict(_clean(self._facts(run, feedback).to_json()))

    def summary(self, item: Item) -> str:
        """Give the text that candidates are searched by."""
        return self.builder.summary(self._facts(run_of(item), feedback_of(item) or Feedback()))

    def view(self, item: Item) -> FactsView:
        """Give a run as tests are computed on."""
        return self.builder.view(run_of(item), feedback_of(item) or Feedback())

    def earlier(self, view: LaneView, item: Item, kept: MutableMapping[Any, Any]) -> list[FactsView]:
        """Give the lane's runs that were recorded before this one and have feedback, oldest first.

        ``kept`` holds those that were read before, by item and version.
        """
        before = view.versions(RUN, before=item)
        unread = [key[0] for key in before if key not in kept]
        for found in view.items(unread).values() if unread else ():
            kept[found.id, found.version] = None if found.data.get("feedback") is None else self.view(found)
        return [seen for key in before if (seen := kept.get(key)) is not None]

    def _facts(self, run: Run, feedback: Feedback) -> Any:
        facts = self.builder.facts(run, feedback)
        return replace(facts, feedback_products=top_products(feedback.products, self.products))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return without_aliases(value)
    if isinstance(value, Mapping):
        return {without_aliases(str(name)): _clean(inner) for name, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list) else value
