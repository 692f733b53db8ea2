"""FACTS: what code says of a run, for claims to stand on and to be judged by (requirement RB-15).

A field of work brings its own `FactsBuilder`; `GenericFacts` serves any agent's runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from phronesis.core.reasoning.runs import Feedback, Product, Run, folded_name

TOP_PRODUCTS: Final = 8
"""Products that FACTS list, the largest values first. The sum counts all of them."""

MAX_NOTE: Final = 500
"""Characters that FACTS keep of each of pros, cons and other."""

MAX_RAW: Final = 1_000
"""Characters that FACTS keep of a run's raw text."""

MAX_FIELD: Final = 200
"""Characters that FACTS keep of a field of the output."""

MAX_FIELDS: Final = 20
"""Fields of the output that `GenericFacts` keeps."""

MAX_SUMMARY: Final = 1_000
"""Characters of the text that claims are searched by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The FACTS of a run. ``run_output`` is as its field of work has it; ``activity_total_value`` sums all products."""

    run_id: str
    run_output: Mapping[str, Any]
    feedback_products: tuple[Product, ...] = ()
    activity_total_value: float | None = None
    feedback_text: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Give what is written as a claim's ``facts``."""
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
    """A run as tests are computed on: flat, and with all its products.

    ``named`` holds what a test's ``given`` names by a text (M1, M2, modifier), ``numbers`` what it bounds (ratio);
    what is unknown is absent. ``label`` says in a few words what was run: "Cu–Zn 3:1, imidazole".
    """

    run_id: str
    label: str = ""
    named: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    products: tuple[Product, ...] = ()


class FactsBuilder(Protocol):
    """Makes FACTS of the runs of one field of work. Pure: the same run gives the same FACTS. Nothing here raises."""

    @property
    def name(self) -> str:
        """What the policy calls it."""
        ...

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Give what is written into claims and shown to a model."""
        ...

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Give what tests are computed on."""
        ...

    def summary(self, facts: Facts) -> str:
        """Give the text that candidate claims are searched by."""
        ...


def facts_of(run: Run, feedback: Feedback, run_output: Mapping[str, Any]) -> Facts:
    """Give the FACTS of a run around its ``run_output``: what is the same in every field of work."""
    return Facts(
        run_id=run.run_id,
        run_output=run_output,
        feedback_products=top_products(feedback.products),
        activity_total_value=feedback.total(),
        feedback_text={name: excerpt(getattr(feedback, name), MAX_NOTE) for name in ("pros", "cons", "other")},
    )


def top_products(products: Sequence[Product], limit: int = TOP_PRODUCTS) -> tuple[Product, ...]:
    """Give the products of the largest values, those without a value last; of equal ones by name."""

    def rank(product: Product) -> tuple[bool, float, float, str]:
        return product.value is None, -(product.value or 0.0), -(product.fraction or 0.0), folded_name(product.name)

    return tuple(sorted(products, key=rank)[:limit])


def excerpt(text: str, limit: int) -> str:
    """Give a text of at most ``limit`` characters; "…" is the last one where more was cut off."""
    stripped = text.strip()
    return stripped if len(stripped) <= limit else f"{stripped[: limit - 1].rstrip()}…"


def summary_of(facts: Facts, label: str) -> str:
    """Give a run in a few lines: what it was, what came of it, what people noted."""
    shown = [_amounts(product) for product in facts.feedback_products]
    total = facts.activity_total_value
    lines = [
        label,
        ", ".join(shown),
        f"total activity {total:.6g}" if total is not None else "",
        *(facts.feedback_text.get(name, "") for name in ("pros", "cons", "other")),
    ]
    return excerpt("\n".join(line for line in lines if line), MAX_SUMMARY)


def _amounts(product: Product) -> str:
    value = f" {product.value:.6g}" if product.value is not None else ""
    share = f" (fraction {product.fraction:.6g})" if product.fraction is not None else ""
    return f"{product.name}{value}{share}"


class GenericFacts:
    """FACTS of any agent's run: the plain fields of its output, by their own names."""

    name: Final = "generic"

    def facts(self, run: Run, feedback: Feedback) -> Facts:
        """Give FACTS with the texts, numbers and truth values of the output, the first twenty, and the raw excerpt."""
        fields = {name: excerpt(value, MAX_FIELD) if isinstance(value, str) else value
                  for name, value in _plain_fields(run).items()}  # fmt: skip
        raw = {"raw": excerpt(run.raw, MAX_RAW)} if run.raw.strip() else {}
        return facts_of(run, feedback, {**fields, **raw})

    def view(self, run: Run, feedback: Feedback) -> FactsView:
        """Give the texts of the output as what is named, its numbers as what is bounded."""
        fields = _plain_fields(run)
        named = {name: value.strip() for name, value in fields.items() if isinstance(value, str) and value.strip()}
        numbers = {name: float(value) for name, value in fields.items()
                   if isinstance(value, int | float) and not isinstance(value, bool)}  # fmt: skip
        label = ", ".join(f"{name} {value}" for name, value in named.items())
        return FactsView(run_id=run.run_id, label=excerpt(label, MAX_FIELD), named=named, numbers=numbers,
                         products=feedback.products)  # fmt: skip

    def summary(self, facts: Facts) -> str:
        """Give the fields of the output, and what came of it."""
        fields = ", ".join(f"{name} {value}" for name, value in facts.run_output.items() if name != "raw")
        raw = facts.run_output.get("raw", "") if not fields else ""
        return summary_of(facts, fields or str(raw))


def _plain_fields(run: Run) -> dict[str, str | int | float | bool]:
    plain = [(name, value) for name, value in run.fields().items()
             if isinstance(value, str | int | float | bool) and name != "raw"]  # fmt: skip
    return dict(plain[:MAX_FIELDS])
