"""FACTS of a run, on which claims rest and are judged (RB-15); a claim's ``test``: validation and verdict (RB-18).

Each field of work has its own `FactsBuilder`; `GenericFacts` handles any agent's runs.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, get_args

from phronesis.core.confidence import Judgement
from phronesis.reasoning.laws.records import Feedback, Product, Run, folded_name

TOP_PRODUCTS: Final = 8
"""Maximum products listed in FACTS, largest values first. The sum includes all."""

MAX_NOTE: Final = 500
"""Maximum characters that FACTS keep of each of pros, cons and other."""

MAX_RAW: Final = 1_000
"""Maximum characters that FACTS keep of a run's raw text."""

MAX_FIELD: Final = 200
"""Maximum characters that FACTS keep of a field of the output."""

MAX_FIELDS: Final = 20
"""Maximum fields of the output that `GenericFacts` keeps."""

MAX_SUMMARY: Final = 1_000
"""Maximum characters of the text by which claims are searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The FACTS of a run. ``run_output`` is specific to its field of work.

    ``activity_total_value`` sums all products.
    """

    run_id: str
    run_output: Mapping[str, Any]
    feedback_products: tuple[Product, ...] = ()
    activity_total_value: float | None = None
    feedback_text: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the value of a claim's ``facts``."""
        return {
            "run_id": self.run_id,
            "run_output": dict(self.run_output),
            "feedback_products": [
                {"name": product.name, "value": product.value, "fraction": product.fraction}
                for product in self.feedback_products
            ],
            "activity_total_value": self.activity_total_value,
            "feedback_text": dict(self.feedback_text),
            "source_run_ids": [self.run_id],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsView:
    """A run as tests evaluate it: flat, and with all products.

    ``named`` holds the texts that a test's ``given`` may name (M1, M2, modifier), ``numbers`` those that it may bound
    (ratio); unknown values are absent. ``label`` is a short description of the run: "Cu–Zn 3:1, imidazole".
    """

    run_id: str
    label: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    products: tuple[Product, ...] = ()


class FactsBuilder(Protocol):
    """Builds FACTS for runs of one field of work. Pure: the same run gives the same FACTS. No method raises."""

    @property
    def name(self) -> str:
        """Its name in the policy."""
        ...

    def recognises(self, fields: Mapping[str, Any]) -> bool:
        """Return whether a run with these fields of output is of its field of work."""
        ...

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return what is written into claims and shown to a model."""
        ...

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return the values that tests are evaluated on."""
        ...

    def summary(self, facts: Facts) -> str:
        """Return the text by which candidate claims are searched."""
        ...


def facts_of(run: Run, feedback: Feedback, run_output: Mapping[str, Any]) -> Facts:
    """Return the FACTS of a run around its ``run_output``: the parts common to all fields of work."""
    return Facts(
        run_id=run.run_id,
        run_output=run_output,
        feedback_products=top_products(feedback.products),
        activity_total_value=feedback.total(),
        feedback_text={name: excerpt(getattr(feedback, name), MAX_NOTE) for name in ("pros", "cons", "other")},
    )


def top_products(products: Sequence[Product], limit: int = TOP_PRODUCTS) -> tuple[Product, ...]:
    """Return the products with the largest values, those without a value last; ties by name."""

    def rank(product: Product) -> tuple[bool, float, float, str]:
        return product.value is None, -(product.value or 0.0), -(product.fraction or 0.0), folded_name(product.name)

    return tuple(sorted(products, key=rank)[:limit])


def excerpt(text: str, limit: int) -> str:
    """Return the first ``limit`` characters of a text at most; "…" as the last one marks a cut."""
    stripped = text.strip()
    return stripped if len(stripped) <= limit else f"{stripped[: limit - 1].rstrip()}…"


def summary_of(facts: Facts, label: str) -> str:
    """Return a run in a few lines: its label, results and notes."""
    shown = []
    for product in facts.feedback_products:
        value = f" {product.value:.6g}" if product.value is not None else ""
        share = f" (fraction {product.fraction:.6g})" if product.fraction is not None else ""
        shown.append(f"{product.name}{value}{share}")
    total = facts.activity_total_value
    activity = f"total activity {total:.6g}" if total is not None else ""
    notes = (facts.feedback_text.get(name, "") for name in ("pros", "cons", "other"))
    return excerpt("\n".join(filter(None, (label, ", ".join(shown), activity, *notes))), MAX_SUMMARY)


class GenericFacts:
    """FACTS builder for any agent's run: the scalar fields of its output, by their own names."""

    name: Final = "generic"

    def recognises(self, fields: Mapping[str, Any]) -> bool:  # noqa: ARG002 - the port's
        """Return True: it reads any output."""
        return True

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Return FACTS with the first twenty scalar fields of the output, and an excerpt of the raw text."""
        fields = {
            name: excerpt(value, MAX_FIELD) if isinstance(value, str) else value
            for name, value in _plain_fields(run).items()
        }
        raw = {"raw": excerpt(run.raw, MAX_RAW)} if run.raw.strip() else {}
        return facts_of(run, feedback, {**fields, **raw})

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Return a view with the texts of the output as ``named`` and its numbers as ``numbers``."""
        fields = _plain_fields(run)
        named = {name: value.strip() for name, value in fields.items() if isinstance(value, str) and value.strip()}
        numbers = {
            name: float(value)
            for name, value in fields.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        label = ", ".join(f"{name} {value}" for name, value in named.items())
        return FactsView(
            run_id=run.run_id, label=excerpt(label, MAX_FIELD), named=named, numbers=numbers, products=feedback.products
        )

    def summary(self, facts: Facts) -> str:
        """Return the fields of the output, and the results."""
        fields = ", ".join(f"{name} {value}" for name, value in facts.run_output.items() if name != "raw")
        raw = facts.run_output.get("raw", "") if not fields else ""
        return summary_of(facts, fields or str(raw))


def _plain_fields(run: Run) -> dict[str, str | int | float | bool]:
    fields = run.fields().items()
    plain = [(name, value) for name, value in fields if isinstance(value, str | int | float | bool) and name != "raw"]
    return dict(plain[:MAX_FIELDS])


# A claim's ``test``: how the FACTS of a run decide by arithmetic between support and contra.

Metric = Literal["activity", "fraction", "value"]
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
Operator = Literal["<", "<=", ">", ">=", "==", "!="]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)

NAMED: Final = ("M1", "M2", "modifier")
"""Members of ``given`` that are texts."""

ALIASES: Final[Mapping[str, str]] = {"small_molecule_modifier": "modifier"}
"""Synonyms of these members (RB-15: both names mean one field)."""

RATIO: Final = "ratio"
"""Member of ``given`` bounded by ``{op, value}``: M1:M2 as a number."""


def validate_test(test: object) -> Iterator[str]:
    """Yield what is wrong with a test; nothing when it can judge a run.

    Unknown members are errors only inside ``given``.
    """
    if not isinstance(test, Mapping):
        yield f"must be an object, not {type(test).__name__}"
        return
    metric = test.get("metric")
    if metric not in METRICS:
        yield f".metric must be one of {', '.join(METRICS)}, not {metric!r:.40}"
    product = test.get("product")
    if metric == "activity":
        if product is not None:
            yield ".product: activity is the sum over all products; leave it out, or name another metric"
    elif not _is_name(product):
        yield f".product must name a product, as {metric!r:.40} is one product's"
    yield from _comparison_mistakes(test)
    for name in ("given", "versus"):
        if test.get(name) is not None:
            yield from _type_mistakes(test[name], name)
    if test.get("versus") is not None and not test["versus"]:
        yield ".versus must say which runs are compared with; it is empty"


def _comparison_mistakes(test: Mapping[str, Any]) -> Iterator[str]:
    if test.get("op") not in OPERATORS:
        yield f".op must be one of {' '.join(OPERATORS)}, not {test.get('op')!r:.40}"
    value, versus = test.get("value"), test.get("versus")
    if (value is None) == (versus is None):
        yield " must have a value or versus, one of them"
    elif value is not None and not _is_number(value):
        yield f".value must be a number, not {value!r:.40}"


def _type_mistakes(given: object, name: str) -> Iterator[str]:
    if not isinstance(given, Mapping):
        yield f".{name} must be an object, not {type(given).__name__}"
        return
    for key, wanted in given.items():
        if key in NAMED or key in ALIASES:
            if ALIASES.get(key) in given:
                yield f".{name} has {key} and {ALIASES[key]}, which are the same; keep one"
            if not _is_name(wanted):
                yield f".{name}.{key} must be a text, not {wanted!r:.40}"
        elif key != RATIO:
            # Ignoring it would apply the test to runs that it was not meant for.
            yield f".{name} knows {', '.join((*NAMED, RATIO))}, not {key!r:.40}"
        elif not (isinstance(wanted, Mapping) and wanted.get("op") in OPERATORS and _is_number(wanted.get("value"))):
            yield f".{name}.{RATIO} must be {{op, value}}: an operator of {' '.join(OPERATORS)} and a number"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# The verdict of a run on a claim: support, contra or irrelevant, by arithmetic on FACTS (requirement RB-18).

TOLERANCE: Final = 1e-9
"""Relative tolerance within which two numbers are equal: binary sums of decimal fractions differ in the 16th digit (0.1
+ 0.2), and measurements do not have nine digits.
"""


def verdict(test: Mapping[str, Any], view: FactsView, earlier: Sequence[FactsView] = ()) -> Judgement:
    """Return whether a run supports or contradicts a claim's test.

    ``test`` is valid (`validate_test`). ``earlier`` are the runs recorded before this one that have
    feedback: ``versus`` compares with the mean over those that it describes and that have the metric. The verdict is
    irrelevant if ``given`` does not describe the run, or a needed value is unknown.
    """
    if not matches_run(test.get("given") or {}, view):
        return "irrelevant"
    metric, product = test["metric"], test.get("product")
    found = metric_of_run(view, metric, product)
    versus = test.get("versus")
    wanted = test.get("value") if versus is None else _mean_metric(versus, view, earlier, metric, product)
    if found is None or wanted is None:
        return "irrelevant"
    return "support" if holds(found, test["op"], wanted) else "contra"


def matches_run(given: Mapping[str, Any], view: FactsView) -> bool:
    """Return whether ``given`` describes a run; M1 and M2 in this order, names compared without case and width.

    A value that the run does not state does not match.
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


def metric_of_run(view: FactsView, metric: Metric, product: str | None = None) -> float | None:
    """Return a metric of a run: the sum of all values, or one product's value or fraction; None where it is unknown."""
    if metric == "activity":
        values = [one.value for one in view.products if one.value is not None]
        return math.fsum(values) if values else None
    name = folded_name(product or "")
    found = next((one for one in view.products if folded_name(one.name) == name), None)
    if found is None:
        return None
    return found.fraction if metric == "fraction" else found.value


def holds(left: float, op: Operator, right: float) -> bool:
    """Return whether a comparison holds, with numbers within `TOLERANCE` being equal."""
    if equal(left, right):
        return op in ("<=", ">=", "==")
    return op == "!=" or (op in ("<", "<=") if left < right else op in (">", ">="))


def equal(left: float, right: float) -> bool:
    """Return whether two numbers are within `TOLERANCE` of each other."""
    return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=0.0)


def _mean_metric(
    versus: Mapping[str, Any], view: FactsView, earlier: Sequence[FactsView], metric: Metric, product: str | None
) -> float | None:
    others = [one for one in earlier if one.run_id != view.run_id and matches_run(versus, one)]
    numbers = [number for one in others if (number := metric_of_run(one, metric, product)) is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None
