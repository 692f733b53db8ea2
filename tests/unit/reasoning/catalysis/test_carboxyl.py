"""Free acids, carboxylates and esters are told apart, on a table that was written before the patterns."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.errors import MissingExtra
from phronesis.reasoning.catalysis import molecules
from phronesis.reasoning.catalysis.molecules import carboxyl_groups

TABLE = [json.loads(line) for line in Path(__file__).with_name("carboxyl.jsonl").read_text("utf-8").splitlines()]


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(TABLE) >= 100
    assert len({row["name"] for row in TABLE}) == len(TABLE)
    for group in ("cooh", "carboxylate", "ester"):
        assert sum(row[group] for row in TABLE) >= 12


def test_each_molecule_has_the_groups_that_a_chemist_sees() -> None:
    for row in TABLE:
        found = carboxyl_groups(row["smiles"])
        assert found is not None, row["name"]
        told = {"cooh": bool(found.acid), "carboxylate": bool(found.carboxylate), "ester": bool(found.ester)}
        assert told == {name: row[name] for name in told}, row["name"]


ATOMS_THOSE_SMILES: list[tuple[str, list[Any], list[Any], list[Any]]] = [
    ("CC(=O)O", [(1, 2, 3)], [], []),
    ("[H]OC(=O)C", [(2, 3, 1)], [], []),  # written hydrogens keep their places
    ("OC(=O)C(=O)[O-]", [(1, 2, 0)], [(3, 4, 5)], []),
    ("COC(=O)c1ccc(cc1)C(=O)O", [(10, 11, 12)], [], [(2, 3, 1)]),
    ("O=C(O)CC(O)(CC(=O)O)C(=O)O", [(1, 0, 2), (7, 8, 9), (10, 11, 12)], [], []),
]


def test_the_atoms_are_those_of_the_smiles() -> None:
    for smiles, acid, carboxylate, ester in ATOMS_THOSE_SMILES:
        found = carboxyl_groups(smiles)
        assert found is not None, smiles
        assert [sorted(found.acid), list(found.carboxylate), list(found.ester)] == [acid, carboxylate, ester], smiles


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "acetic acid",
        "C1CC",
        "C(C)(C)(C)(C)C",
        "咪唑",
    ],
)
def test_what_is_no_smiles_has_no_groups_and_nothing_is_printed(wrong: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert carboxyl_groups(wrong) is None
    assert capfd.readouterr() == ("", "")


@settings(max_examples=60)
@given(st.text("CcNnOoSs()[]=#@+-123.%Hl \x00", max_size=30))
def test_no_text_raises(text: str) -> None:
    found = carboxyl_groups(text)
    assert found is None or all(len(atoms) == 3 for atoms in (*found.acid, *found.carboxylate, *found.ester))


def test_rdkit_still_speaks_to_others(capfd: pytest.CaptureFixture[str]) -> None:
    from rdkit import Chem  # noqa: PLC0415 - what others would do

    carboxyl_groups("C1CC")
    capfd.readouterr()
    assert Chem.MolFromSmiles("C1CC") is None
    assert "SMILES Parse Error" in capfd.readouterr().err


def test_without_rdkit_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    molecules._patterns.cache_clear()
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingExtra, match=r"phronesis\[chem\]"):
        carboxyl_groups("CC(=O)O")
