"""FACTS of a catalyst's run, and its molecules: ratios however written, groups that a chemist sees, safe drawings."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.reasoning.catalysis.run_facts import (
    HEIGHT,
    MAX_ATOMS,
    WIDTH,
    CatalysisFacts,
    atomic_ratio,
    carboxyl_groups,
    drawing_of,
)
from phronesis.reasoning.laws.facts import MAX_FIELD, FactsBuilder
from phronesis.reasoning.laws.records import Feedback, Product, Run
from phronesis.reasoning.learn_candidates import find_builder

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


THREE: list[Any] = ["3:1", "3∶1", "3：1", "75%:25%", "1.5:0.5", "3比1", 3, [3, 1], ["3", 1], {"Zn": 1, "Cu": 3}]
THREE += ["Cu/Zn = 3", "Zn:Cu = 1:3", "M1:M2 3:1", "Cu-Zn: 3:1"]
NO_RATIO: list[Any] = ["0:1", "1:0", -3, "-3:1", "3:1:2", [3, 1, 2], [None, 1], True, None, "copper-rich", {"Cu": 3}]
NO_RATIO += [{"Cu": 3, "Fe": 1}, float("inf"), ["x", 1], 10**400]


def test_ratios() -> None:
    assert atomic_ratio("1:2", "Cu", "Zn") == 0.5
    for listed, expected in ((THREE, 3.0), (NO_RATIO, None)):
        for written in listed:
            assert atomic_ratio(written, "Cu", "Zn") == expected, written


@given(st.text(max_size=40) | st.floats() | st.integers() | st.lists(st.integers() | st.text(max_size=3), max_size=3))
def test_any_ratio_is_a_positive_number_or_none(written: Any) -> None:
    ratio = atomic_ratio(written, "Cu", "Zn")
    assert ratio is None or 0 < ratio < float("inf")


TABLE = [json.loads(line) for line in Path(__file__).with_name("carboxyl.jsonl").read_text("utf-8").splitlines()]


def test_each_molecule_has_the_groups_that_a_chemist_sees() -> None:
    for row in TABLE:
        found = carboxyl_groups(row["smiles"])
        assert found is not None, row["name"]
        told = {"cooh": bool(found.acid), "carboxylate": bool(found.carboxylate), "ester": bool(found.ester)}
        assert told == {name: row[name] for name in told}, row["name"]


@pytest.mark.parametrize("wrong", ["", "acetic acid", "C1CC", "C(C)(C)(C)(C)C", "咪唑"])
def test_what_is_no_smiles_has_no_groups_and_nothing_is_printed(wrong: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert carboxyl_groups(wrong) is None
    assert capfd.readouterr() == ("", "")


@settings(max_examples=60)
@given(st.text("CcNnOoSs()[]=#@+-123.%Hl \x00", max_size=30))
def test_no_text_raises(text: str) -> None:
    found = carboxyl_groups(text)
    assert found is None or all(len(atoms) == 3 for atoms in (*found.acid, *found.carboxylate, *found.ester))


def test_a_group_is_marked_and_all_lies_within_the_box() -> None:
    drawing = drawing_of("C1=CC=C(C=C1)C(=O)O", {"acid": [[6, 7, 8]], "ester": []})
    assert drawing is not None
    assert [spot.group for spot in drawing.spots] == ["acid"] * 3
    assert all(0 <= spot.cx <= WIDTH and 0 <= spot.cy <= HEIGHT for spot in drawing.spots)
    assert {stroke.filled for stroke in drawing.strokes} == {True, False}
    assert all(set(stroke.d) <= set("MLQCZ0123456789.,- ") for stroke in drawing.strokes)


def test_what_is_no_molecule_is_not_drawn() -> None:
    cases: list[str] = ["", "no molecule", "<svg onload=alert(1)>", "C" * (MAX_ATOMS + 1), "CC name"]
    for smiles in cases:
        assert drawing_of(smiles, {}) is None, smiles


CATALYST = Run(run_id="r", output={"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "small_molecule_modifier": "urea"})
OTHER = Run(run_id="r", output={"model": "tree", "depth": 4})


def test_each_builder_has_its_name() -> None:
    names = ["auto", "generic", "catalysis"]
    assert [find_builder(name).name for name in names] == names
    assert [find_builder(name).recognises({"depth": 4}) for name in names] == [True, True, False]


@pytest.mark.parametrize(("run", "same"), [(CATALYST, "catalysis"), (OTHER, "generic"), (Run(raw="x"), "generic")])
def test_auto_takes_the_one_that_fits(run: Run, same: str) -> None:
    auto, own, feedback = find_builder("auto"), find_builder(same), Feedback(pros="good")
    facts = own.facts(run, feedback)
    assert auto.facts(run, feedback) == facts
    assert auto.view(run, feedback) == own.view(run, feedback)
    assert auto.summary(facts) == own.summary(facts)
