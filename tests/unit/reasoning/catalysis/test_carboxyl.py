"""Free acids, carboxylates and esters are told apart, on a table that was written before the patterns."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.reasoning.catalysis.run_facts import carboxyl_groups

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
