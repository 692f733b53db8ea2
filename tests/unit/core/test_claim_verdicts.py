"""Support, contra and irrelevant by arithmetic: borders, what is missing, and laws."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.laws.facts import (
    OPERATORS,
    FactsView,
    Operator,
    matches_run,
    metric_of_run,
    validate_test,
    verdict,
)
from phronesis.reasoning.laws.records import Product

CO = Product(name="CO", value=3.0, fraction=0.3)
H2 = Product(name="H2", value=1.0, fraction=0.1)


def view(*products: Product, run_id: str = "r1", ratio: float | None = 3.0, **named: str) -> FactsView:
    numbers = {} if ratio is None else {"ratio": ratio}
    return FactsView(
        run_id=run_id,
        named=named or {"M1": "Cu", "M2": "Zn", "modifier": "imidazole"},
        numbers=numbers,
        products=products,
    )


def a_test(metric: str = "fraction", op: str = ">=", **fields: Any) -> dict[str, Any]:
    product = {} if metric == "activity" else {"product": "CO"}
    lawful = {"metric": metric, **product, "op": op, **fields}
    assert not list(validate_test(lawful))
    return lawful


def test_borders() -> None:
    cases: list[tuple[str, str, str, str]] = [
        ("<", "support", "contra", "contra"),
        ("<=", "support", "support", "contra"),
        (">", "contra", "contra", "support"),
        (">=", "contra", "support", "support"),
        ("==", "contra", "support", "contra"),
        ("!=", "support", "contra", "support"),
    ]
    for op, below, at, above in cases:
        for share, expected in ((0.29, below), (0.1 + 0.2, at), (0.31, above)):
            assert verdict(a_test(op=op, value=0.3), view(Product(name="CO", fraction=share))) == expected, op


def test_metrics() -> None:
    run = view(CO, H2, Product(name="CH4"))
    assert (
        metric_of_run(run, "activity"),
        metric_of_run(run, "fraction", "co"),
        metric_of_run(run, "value", "ＣＯ"),
    ) == (4.0, 0.3, 3.0)
    assert metric_of_run(run, "value", "CH4") is None
    assert metric_of_run(run, "fraction", "formate") is None
    assert metric_of_run(run, "fraction") is None
    assert metric_of_run(view(Product(name="CO", fraction=0.5)), "activity") is None
    assert verdict(a_test("activity", value=4), run) == "support"
    assert verdict(a_test("value", value=3.0), run) == "support"


def test_which_runs_are_meant() -> None:
    cases: list[tuple[Mapping[str, Any], bool]] = [
        ({}, True),
        ({"M1": "Zn", "M2": "Cu"}, False),
        ({"modifier": "Imidazole"}, True),
        ({"modifier": "glycine"}, False),
        ({"ratio": {"op": "==", "value": 3}}, True),
        ({"M1": "Cu", "ratio": {"op": ">=", "value": 2}}, True),
    ]
    for given_, expected in cases:
        test = a_test(value=0.3, given=given_)
        assert matches_run(given_, view(CO)) is expected, given_
        assert verdict(test, view(CO)) == ("support" if expected else "irrelevant"), given_


def test_what_is_missing_makes_it_irrelevant() -> None:
    assert verdict(a_test(value=0.3), view(H2)) == "irrelevant"
    assert verdict(a_test(value=0.3), view(Product(name="CO", value=3))) == "irrelevant"
    assert verdict(a_test("activity", value=0), view()) == "irrelevant"
    assert verdict(a_test(value=0.3, given={"ratio": {"op": ">", "value": 0}}), view(CO, ratio=None)) == "irrelevant"
    assert verdict(a_test(value=0.3, given={"modifier": "x"}), view(CO, M1="Cu")) == "irrelevant"
    assert verdict(a_test(value=0.3, given=None), view(CO)) == "support"


def test_versus_is_the_mean_over_earlier_runs_that_match() -> None:
    def earlier(run_id: str, share: float | None, m2: str = "Fe") -> FactsView:
        return view(Product(name="CO", fraction=share), run_id=run_id, M1="Cu", M2=m2)

    test = a_test(op=">", versus={"M1": "Cu", "M2": "Fe"}, given={"M1": "Cu", "M2": "Zn"})
    assert verdict(test, view(CO)) == "irrelevant"
    assert verdict(test, view(CO), [earlier("a", 0.9, "Ni"), earlier("b", None)]) == "irrelevant"
    assert verdict(test, view(CO), [earlier("a", 0.2), earlier("b", 0.3), earlier("c", None)]) == "support"
    assert verdict(test, view(CO), [earlier("a", 0.2), earlier("b", 0.4)]) == "contra"
    assert verdict({**test, "op": ">="}, view(CO), [earlier("a", 0.2), earlier("b", 0.4)]) == "support"
    assert verdict(test, view(H2), [earlier("a", 0.2)]) == "irrelevant"
    assert verdict(test, earlier("d", 0.9), [earlier("a", 0.2)]) == "irrelevant"
    same = a_test(op="!=", versus={"M1": "Cu"})
    assert verdict(same, view(CO, run_id="a"), [view(CO, run_id="a")]) == "irrelevant"


NUMBERS = st.floats(0, 1e6) | st.integers(0, 100).map(lambda n: n / 10)
PRODUCTS = st.lists(
    st.builds(
        lambda name, value, share: Product(name=name, value=value, fraction=share),
        st.sampled_from(["CO", "H2", "CH4", "甲酸"]),
        st.none() | NUMBERS,
        st.none() | NUMBERS,
    ),
    unique_by=lambda product: product.name,
    max_size=4,
)
METRICS = st.sampled_from(["activity", "fraction", "value"])
OPS = st.sampled_from(OPERATORS)


@given(PRODUCTS, METRICS, OPS, NUMBERS)
def test_a_test_and_its_opposite_never_agree(products: list[Product], metric: str, op: Operator, value: float) -> None:
    opposite = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}[op]
    found = {verdict(a_test(metric, one, value=value), view(*products)) for one in (op, opposite)}
    assert found in ({"support", "contra"}, {"irrelevant"})
