"""Runs and feedback: what is kept, and what is refused by name."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import InputError
from phronesis.reasoning.laws.facts import (
    MAX_FIELD,
    MAX_FIELDS,
    MAX_NOTE,
    TOP_PRODUCTS,
    FactsBuilder,
    GenericFacts,
    excerpt,
)
from phronesis.reasoning.laws.records import (
    MAX_MEMORIES,
    MAX_PRODUCTS,
    Feedback,
    Product,
    Run,
    checked_feedback,
    checked_run,
    folded_name,
)

PRODUCT = {"name": "CO", "value": 3, "fraction": 0.25}


def test_a_run_is_kept_as_it_was_given() -> None:
    given = {
        "run_id": "r1",
        "output": {"M1": "Cu", "steps": [1, {"a": None}]},
        "raw": "text",
        "trace": [{"tool": "x"}],
        "memory_ids": ["mem:1", "mem:2", "mem:1"],
        "lab": {"room": 3},
    }
    run = checked_run(given)
    assert (run.run_id, run.raw, run.memory_ids, run.extra) == ("r1", "text", ("mem:1", "mem:2"), {"lab": {"room": 3}})
    assert run.to_json() == {**given, "memory_ids": ["mem:1", "mem:2"]}
    assert checked_run(run.to_json()) == run


def test_what_is_no_run() -> None:
    cases: list[tuple[Any, str, str]] = [
        ("r1", "run", "mapping"),
        ({}, "run.output", "both empty"),
        ({"output": {}, "raw": " "}, "run.output", "both empty"),
        ({"output": "Cu"}, "run.output", "raw"),
        ({"output": {"x": float("nan")}}, "run.output.x", "finite"),
        ({"raw": 3}, "run.raw", "string"),
        ({"raw": "a", "run_id": ""}, "run.run_id", "leave it out"),
        ({"raw": "a", "run_id": 7}, "run.run_id", "string"),
        ({"raw": "a", "memory_ids": "mem:1"}, "run.memory_ids", "list"),
        ({"raw": "a", "memory_ids": ["mem:1", 2]}, r"run.memory_ids[1]", "string"),
        ({"raw": "a", "memory_ids": ["m"] * (MAX_MEMORIES + 1)}, "run.memory_ids", "at most"),
        ({"raw": "a", "trace": {1: 2}}, "run.trace", "string"),
        ({"raw": "a", "lab": {3}}, "run.lab", "JSON"),
    ]
    for written, field, says in cases:
        with pytest.raises(InputError, match=says) as refused:
            checked_run(written)
        assert refused.value.field == field, written


def test_what_is_no_feedback() -> None:
    cases: list[tuple[Any, str, str]] = [
        (None, "feedback", "mapping"),
        ({"products": {"CO": 1}}, "feedback.products", "list"),
        ({"products": "CO"}, "feedback.products", "list"),
        ({"products": ["CO"]}, "feedback.products[0]", "mapping"),
        ({"products": [{"value": 1}]}, "feedback.products[0].name", "string"),
        ({"products": [PRODUCT, {"name": "ｃｏ"}]}, "feedback.products[1].name", "each product once"),
        ({"products": [{"name": "CO", "value": "3"}]}, "feedback.products[0].value", "a number"),
        ({"products": [{"name": "CO", "value": True}]}, "feedback.products[0].value", "a number"),
        ({"products": [{"name": "CO", "value": float("inf")}]}, "feedback.products[0].value", "finite"),
        ({"products": [{"name": "CO", "value": 10**400}]}, "feedback.products[0].value", "finite"),
        ({"products": [{"name": "CO", "fraction": float("nan")}]}, "feedback.products[0].fraction", "finite"),
        ({"products": [{"name": "CO", "fraction": -0.1}]}, "feedback.products[0].fraction", "negative"),
        ({"products": [PRODUCT] * (MAX_PRODUCTS + 1)}, "feedback.products", "at most"),
        ({"pros": ["a"]}, "feedback.pros", "string"),
        ({"note": object()}, "feedback.note", "JSON"),
    ]
    for written, field, says in cases:
        with pytest.raises(InputError, match=says) as refused:
            checked_feedback(written)
        assert refused.value.field == field, written


AMOUNTS = st.none() | st.floats(0, 1e12)
PRODUCTS = st.lists(st.builds(lambda name, value: Product(name=name, value=value), st.text("abc", min_size=1), AMOUNTS))


@given(PRODUCTS, st.randoms())
def test_the_total_counts_all_products_in_any_order(products: list[Product], chance: Any) -> None:
    shuffled = list(products)
    chance.shuffle(shuffled)
    total = Feedback(products=tuple(products)).total()
    assert Feedback(products=tuple(shuffled)).total() == total
    assert (total is None) == all(product.value is None for product in products)


@given(st.text())
def test_folded_names_are_fixed_points(name: str) -> None:
    assert folded_name(folded_name(name)) == folded_name(name)


def test_names_that_are_the_same() -> None:
    assert folded_name(" Imidazole ") == folded_name("ＩＭＩＤＡＺＯＬＥ")
    assert folded_name("2–methyl  imidazole") == folded_name("2-Methyl imidazole")
    assert folded_name("H₂") == "h2"


# FACTS of any run: the largest products, the sum of all, notes cut short.


BUILDER: FactsBuilder = GenericFacts()


def test_facts_of_any_run() -> None:
    run = Run(run_id="r1", output={"city": "Oslo", "tries": 3, "done": True, "path": ["a"]}, raw="Went to Oslo.")
    feedback = Feedback(
        products=(Product(name="a", value=1.0), Product(name="b", value=2.5, fraction=0.5)), pros="fast"
    )
    facts = BUILDER.facts(run, feedback)
    assert facts.to_json() == {
        "run_id": "r1",
        "run_output": {"city": "Oslo", "tries": 3, "done": True, "raw": "Went to Oslo."},
        "feedback_products": [
            {"name": "b", "value": 2.5, "fraction": 0.5},
            {"name": "a", "value": 1.0, "fraction": None},
        ],
        "activity_total_value": 3.5,
        "feedback_text": {"pros": "fast", "cons": "", "other": ""},
        "source_run_ids": ["r1"],
    }
    assert json.loads(json.dumps(facts.to_json())) == facts.to_json()
    assert (
        BUILDER.summary(facts) == "city Oslo, tries 3, done True\nb 2.5 (fraction 0.5), a 1\ntotal activity 3.5\nfast"
    )
    assert BUILDER.name == "generic"


def test_everything_is_bounded_but_the_sum() -> None:
    products = tuple(Product(name=f"p{n}", value=float(n)) for n in range(30))
    feedback = Feedback(products=products, cons="x" * 10_000)
    run = Run(output={f"f{n}": "y" * 1_000 for n in range(100)})
    facts = BUILDER.facts(run, feedback)
    assert [product.name for product in facts.feedback_products] == [f"p{n}" for n in range(29, 29 - TOP_PRODUCTS, -1)]
    assert facts.activity_total_value == sum(range(30))
    assert len(facts.feedback_text["cons"]) == MAX_NOTE
    assert len(facts.run_output) == MAX_FIELDS
    assert len(facts.run_output["f0"]) == MAX_FIELD
    assert len(BUILDER.view(run, feedback).products) == 30


@given(st.text(), st.integers(1, 30))
def test_an_excerpt_fits(text: str, limit: int) -> None:
    shown = excerpt(text, limit)
    assert len(shown) <= limit
    assert shown == text.strip() or shown.endswith("…")
