"""Outcomes of the items that a context showed: used, ignored or contradicted, by citations or as a caller states them.

They are edges from the reply to the items. They bear on usefulness, never on what is held to be so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from phronesis.core.relations import Edge
from phronesis.core.serialization import Record

CONTEXT_OUTCOME: Final = "context_outcome"
"""The type of the edge from a reply to an item of its context; the grade is the outcome."""

CONTEXT_ID: Final = "context_id"
"""The member of an edge's ``data`` with the context that showed the item."""

ItemOutcome = Literal["used", "ignored", "contradicted"]

USED: Final = "used"
IGNORED: Final = "ignored"
CONTRADICTED: Final = "contradicted"
OUTCOMES: Final = (USED, IGNORED, CONTRADICTED)

BY_CALLER: Final = "caller"
BY_CITATION: Final = "citation"
"""By whom the outcomes of a turn are: the member ``by`` of its payload's ``outcomes``."""

WEIGHT: Final[Mapping[str, float]] = {USED: 0.5, IGNORED: 0.1, CONTRADICTED: 1.0}
"""What an outcome weighs; a judgement of an agent weighs 1 (this project's choice).

That a reply cites an item says less than that somebody calls it useful; that it cites others instead says little.
"""

MOST: Final = 3.0
"""What all outcomes of an item weigh at most: one person's judgement, so that a person outweighs any number of them."""

_ALIAS: Final = r"m[1-9][0-9]{0,4}|mem:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CITED: Final = re.compile(rf"[\[【［]\s*((?:{_ALIAS})(?:\s*[,，、;；]\s*(?:{_ALIAS}))*)\s*[\]】］]")
_ONE: Final = re.compile(_ALIAS)


def citations_in(text: str) -> list[str]:
    """Return the citations in a text, ``[m1]``, ``[m1, m3]`` or ``[mem:<id>]``, each once, without brackets."""
    found = (one for group in _CITED.finditer(text) for one in _ONE.findall(group[1]))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class ItemUse(Record):
    """How often reads showed an item, and what became of it in the contexts whose outcomes are known.

    ``usefulness``, in [0, 1], is by these outcomes and by feedback; .5 without either.
    """

    shown: int = 0
    used: int = 0
    ignored: int = 0
    contradicted: int = 0
    usefulness: float = 0.5

    @property
    def summary(self) -> str:
        """The counts in words; empty while no outcome is known."""
        if not (self.used or self.ignored or self.contradicted):
            return ""
        return f"shown {self.shown}×, used {self.used}×, contradicted {self.contradicted}×"

    @property
    def weights(self) -> tuple[float, float]:
        """What the outcomes weigh for and against the item's usefulness, together at most ``MOST``."""
        useful = WEIGHT[USED] * self.used
        against = WEIGHT[IGNORED] * self.ignored + WEIGHT[CONTRADICTED] * self.contradicted
        scale = min(1.0, MOST / (useful + against)) if useful + against else 1.0
        return useful * scale, against * scale


UNUSED: Final = ItemUse()


def latest_outcomes(edges: Iterable[Edge]) -> list[Edge]:
    """Return the outcomes that count: of several for one item of a context the latest entry's."""
    latest: dict[tuple[str, str], Edge] = {}
    for edge in sorted(edges, key=lambda edge: (edge.entry_id, edge.identity)):
        latest[edge.to_id, str(edge.data.get(CONTEXT_ID))] = edge
    return list(latest.values())


def outcomes_in(context_id: str, edges: Iterable[Edge]) -> dict[str, ItemOutcome]:
    """Return what became of each item in one context."""
    own = [edge for edge in edges if edge.data.get(CONTEXT_ID) == context_id]
    return {edge.to_id: cast("ItemOutcome", edge.grade) for edge in latest_outcomes(own)}


def uses_of(edges: Iterable[Edge]) -> dict[str, ItemUse]:
    """Return how often contexts used, ignored and contradicted each item."""
    counts: dict[str, dict[str, int]] = {}
    for edge in latest_outcomes(edges):
        of = counts.setdefault(edge.to_id, dict.fromkeys(OUTCOMES, 0))
        of[str(edge.grade)] += 1
    return {item_id: ItemUse(**of) for item_id, of in counts.items()}
