"""FACTS of any run: the largest products, the sum of all, notes cut short."""

import json

from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.laws.facts import (
    MAX_FIELD,
    MAX_FIELDS,
    MAX_NOTE,
    TOP_PRODUCTS,
    FactsBuilder,
    GenericFacts,
    excerpt,
)
from phronesis.reasoning.laws.records import Feedback, Product, Run

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
