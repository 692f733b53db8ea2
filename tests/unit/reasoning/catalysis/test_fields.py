"""A run is read as its own field of work."""

import pytest

from phronesis.reasoning.fields import BUILDERS
from phronesis.reasoning.laws.records import Feedback, Run

CATALYST = Run(run_id="r", output={"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "small_molecule_modifier": "urea"})
OTHER = Run(run_id="r", output={"model": "tree", "depth": 4})


def test_each_builder_has_its_name() -> None:
    assert {name: builder.name for name, builder in BUILDERS.items()} == {name: name for name in BUILDERS}
    assert set(BUILDERS) == {"auto", "generic", "catalysis"}


@pytest.mark.parametrize(("run", "same"), [(CATALYST, "catalysis"), (OTHER, "generic"), (Run(raw="x"), "generic")])
def test_auto_takes_the_one_that_fits(run: Run, same: str) -> None:
    auto, own, feedback = BUILDERS["auto"], BUILDERS[same], Feedback(pros="good")
    facts = own.facts(run, feedback)
    assert auto.facts(run, feedback) == facts
    assert auto.view(run, feedback) == own.view(run, feedback)
    assert auto.summary(facts) == own.summary(facts)
