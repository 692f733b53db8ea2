"""How a run bears on a claim: support, contra or irrelevant, by arithmetic on its FACTS (requirement RB-18)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.reasoning.claim_test import ALIASES, RATIO, Metric, Operator
from phronesis.core.reasoning.facts import FactsView
from phronesis.core.reasoning.records import Claim
from phronesis.core.reasoning.runs import folded_name
from phronesis.core.state_machine import ClaimState, Judgement

TOLERANCE: Final = 1e-9
"""Numbers this close, relative to the larger, count as equal: sums of decimal fractions differ from the decimal by
some units of the 16th digit (0.1 + 0.2), and nobody measures nine digits."""


def verdict(test: Mapping[str, Any], view: FactsView, earlier: Sequence[FactsView] = ()) -> Judgement:
    """Tell whether a run supports a claim's test or contradicts it.

    ``test`` is lawful (`claim_test.mistakes_of_test`). ``earlier`` are the runs recorded before this one that have
    feedback: ``versus`` is compared with their mean, over those that it describes and that were measured so. It is
    irrelevant when the run is not one of those meant, or something needed is not known.
    """
    if not described(test.get("given") or {}, view):
        return "irrelevant"
    metric, product = test["metric"], test.get("product")
    found = measured(view, metric, product)
    versus = test.get("versus")
    wanted = test.get("value") if versus is None else _mean(versus, view, earlier, metric, product)
    if found is None or wanted is None:
        return "irrelevant"
    return "support" if holds(found, test["op"], wanted) else "contra"


def described(given: Mapping[str, Any], view: FactsView) -> bool:
    """Tell whether a run is one that ``given`` describes; M1 and M2 in this order, names without case and width.

    What the run does not tell it does not have.
    """
    for name, wanted in given.items():
        if name == RATIO:
            number = view.numbers.get(name)
            if number is None or not holds(number, wanted["op"], wanted["value"]):
                return False
        else:
            named = view.named.get(ALIASES.get(name, name))
            if named is None or folded_name(named) != folded_name(wanted):
                return False
    return True


def measured(view: FactsView, metric: Metric, product: str | None = None) -> float | None:
    """Give a metric of a run: the sum of all values, or a product's own value or fraction; None where it is unknown."""
    if metric == "activity":
        values = [one.value for one in view.products if one.value is not None]
        return math.fsum(values) if values else None
    name = folded_name(product or "")
    found = next((one for one in view.products if folded_name(one.name) == name), None)
    if found is None:
        return None
    return found.fraction if metric == "fraction" else found.value


def holds(left: float, op: Operator, right: float) -> bool:
    """Compare two numbers, those within `TOLERANCE` being equal."""
    if equal(left, right):
        return op in ("<=", ">=", "==")
    return op == "!=" or (op in ("<", "<=") if left < right else op in (">", ">="))


def equal(left: float, right: float) -> bool:
    """Tell whether two numbers are within `TOLERANCE` of each other."""
    return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=0.0)


def written_state(claim: Claim) -> ClaimState:
    """Give where a claim stands as it was written: its status, the runs it names, and how many more it counts."""
    return ClaimState(
        status=claim.status,
        support=claim.support.run_ids,
        contra=claim.contra.run_ids,
        unnamed_support=claim.support.count - len(claim.support.run_ids),
        unnamed_contra=claim.contra.count - len(claim.contra.run_ids),
    )


def _mean(
    versus: Mapping[str, Any], view: FactsView, earlier: Sequence[FactsView], metric: Metric, product: str | None
) -> float | None:
    known = [measured(one, metric, product) for one in earlier if one.run_id != view.run_id and described(versus, one)]
    numbers = [number for number in known if number is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None
