"""A run is read as its own field of work."""

import pytest

from phronesis.reasoning.laws.records import Feedback, Run
from phronesis.reasoning.learn_candidates import find_builder

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


def test_a_trace_may_name_the_metals() -> None:
    run = Run(trace={"final_output": {"M1": "Cu", "modifier": "urea"}})
    assert find_builder("auto").view(run, Feedback()).named == {"M1": "Cu", "modifier": "urea"}
