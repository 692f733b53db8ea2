"""A claim's ``test``: how the FACTS of a run decide by arithmetic whether they support it or contradict it.

``{metric, product?, op, value | versus, given?}``. ``metric`` is ``activity`` (the sum of all products' values),
``fraction`` (a product's share) or ``value`` (a product's own). ``given`` says which runs are meant; ``versus`` is a
second such description, with whose mean over earlier runs a run is compared.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args

Metric = Literal["activity", "fraction", "value"]
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
Operator = Literal["<", "<=", ">", ">=", "==", "!="]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)

NAMED: Final = ("M1", "M2", "modifier")
"""What ``given`` names by a text."""

ALIASES: Final[Mapping[str, str]] = {"small_molecule_modifier": "modifier"}
"""Other names for them (RB-15: the two are the same field)."""

RATIO: Final = "ratio"
"""What ``given`` bounds by ``{op, value}``: M1:M2 as a number."""


def mistakes_of_test(test: object) -> Iterator[str]:
    """Give what is wrong with a test, in words; nothing when a run can be judged by it. Unknown members are kept."""
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
            yield from _given_mistakes(test[name], name)
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


def _given_mistakes(given: object, name: str) -> Iterator[str]:
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
            # Passed over, it would let the test judge runs that it was not meant for.
            yield f".{name} knows {', '.join((*NAMED, RATIO))}, not {key!r:.40}"
        elif (
            not isinstance(wanted, Mapping) or wanted.get("op") not in OPERATORS or not _is_number(wanted.get("value"))
        ):
            yield f".{name}.{RATIO} must be {{op, value}}: an operator of {' '.join(OPERATORS)} and a number"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
