"""FACTS of a catalyst's run: two names of one modifier, ratios however written, what cannot be read said so."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.reasoning.catalysis.run_facts import CatalysisFacts, atomic_ratio
from phronesis.reasoning.laws.facts import MAX_FIELD, FactsBuilder
from phronesis.reasoning.laws.records import Feedback, Product, Run

BUILDER: FactsBuilder = CatalysisFacts()
OUTPUT = {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "small_molecule_modifier": "imidazole", "note": "x"}
FEEDBACK = Feedback(
    products=(Product(name="CO", value=3.0, fraction=0.3), Product(name="formate", value=7.0)), cons="slow"
)


def run(raw: str = "", trace: Any = None, **output: Any) -> Run:
    return Run(run_id="r1", output=output, raw=raw, trace=trace)


def test_facts() -> None:
    facts = BUILDER.facts(run(raw="Prepared Cu–Zn.", **OUTPUT), FEEDBACK)
    assert facts.to_json() == {
        "run_id": "r1",
        "run_output": {
            "M1": "Cu",
            "M2": "Zn",
            "atomic_ratio": "3:1",
            "modifier": "imidazole",
            "raw": "Prepared Cu–Zn.",
        },
        "feedback_products": [
            {"name": "formate", "value": 7.0, "fraction": None},
            {"name": "CO", "value": 3.0, "fraction": 0.3},
        ],
        "activity_total_value": 10.0,
        "feedback_text": {"pros": "", "cons": "slow", "other": ""},
        "source_run_ids": ["r1"],
    }
    assert BUILDER.summary(facts) == "Cu–Zn 3:1, imidazole\nformate 7, CO 3 (fraction 0.3)\ntotal activity 10\nslow"
    assert BUILDER.name == "catalysis"


def test_the_modifier_has_two_names() -> None:
    assert BUILDER.view(run(modifier="a", small_molecule_modifier="b"), FEEDBACK).named == {"modifier": "a"}
    assert BUILDER.view(run(modifier=" ", small_molecule_modifier="b"), FEEDBACK).named == {"modifier": "b"}
    assert BUILDER.view(run(modifier=None), FEEDBACK).named == {}
    facts = BUILDER.facts(run(trace={"final_output": {"M1": "Pd", "small_molecule_modifier": "b"}}), FEEDBACK)
    assert facts.run_output == {"M1": "Pd", "modifier": "b"}


def test_what_cannot_be_read_is_kept_and_said_so() -> None:
    given = run(M1="Cu", M2=["Zn", "Al"], atomic_ratio="some", modifier={"name": "x" * 1000})
    output = BUILDER.facts(given, FEEDBACK).run_output
    assert output["unresolved"] == ["M2", "modifier", "atomic_ratio"]
    assert (output["M2"], output["atomic_ratio"]) == (["Zn", "Al"], "some")
    assert len(output["modifier"]) == MAX_FIELD
    view = BUILDER.view(given, FEEDBACK)
    assert (view.named, view.numbers, view.label) == ({"M1": "Cu"}, {}, "Cu some")


def test_ratios() -> None:
    cases: list[tuple[Any, float | None]] = [
        ("3:1", 3.0),
        ("3∶1", 3.0),
        ("3：1", 3.0),
        ("1:2", 0.5),
        ("75%:25%", 3.0),
        ("1.5:0.5", 3.0),
        ("3比1", 3.0),
        (3, 3.0),
        ([3, 1], 3.0),
        (["3", 1], 3.0),
        ({"Zn": 1, "Cu": 3}, 3.0),
        ("Cu/Zn = 3", 3.0),
        ("Zn:Cu = 1:3", 3.0),
        ("M1:M2 3:1", 3.0),
        ("Cu-Zn: 3:1", 3.0),
        ("0:1", None),
        ("1:0", None),
        (-3, None),
        ("-3:1", None),
        ("3:1:2", None),
        ([3, 1, 2], None),
        ([None, 1], None),
        (True, None),
        (None, None),
        ("copper-rich", None),
        ({"Cu": 3}, None),
        ({"Cu": 3, "Fe": 1}, None),
        (float("inf"), None),
        (["x", 1], None),
        (10**400, None),
    ]
    for written, expected in cases:
        assert atomic_ratio(written, "Cu", "Zn") == expected, written


@given(st.text(max_size=40) | st.floats() | st.integers() | st.lists(st.integers() | st.text(max_size=3), max_size=3))
def test_any_ratio_is_a_positive_number_or_none(written: Any) -> None:
    ratio = atomic_ratio(written, "Cu", "Zn")
    assert ratio is None or 0 < ratio < float("inf")
