"""Structures: lines and spots alone, whatever a SMILES holds."""

import sys
from unittest import mock

import pytest

from phronesis.errors import MissingExtra
from phronesis.reasoning.catalysis.molecules import HEIGHT, MAX_ATOMS, WIDTH, drawing_of


def test_a_group_is_marked_and_all_lies_within_the_box() -> None:
    drawing = drawing_of("C1=CC=C(C=C1)C(=O)O", {"acid": [[6, 7, 8]], "ester": []})
    assert drawing is not None
    assert [spot.group for spot in drawing.spots] == ["acid"] * 3
    assert all(0 <= spot.cx <= WIDTH and 0 <= spot.cy <= HEIGHT for spot in drawing.spots)
    assert {stroke.filled for stroke in drawing.strokes} == {True, False}
    assert all(set(stroke.d) <= set("MLQCZ0123456789.,- ") for stroke in drawing.strokes)


MOLECULE_NOT_DRAWN: list[str] = ["", "no molecule", "<svg onload=alert(1)>", "C" * (MAX_ATOMS + 1), "CC name"]


def test_what_is_no_molecule_is_not_drawn() -> None:
    for smiles in MOLECULE_NOT_DRAWN:
        assert drawing_of(smiles, {}) is None, smiles


def test_a_group_that_the_molecule_does_not_have_is_left_out() -> None:
    drawing = drawing_of("CC", {"acid": [[6, 7, 8]]})
    assert drawing is not None
    assert drawing.spots == ()


def test_without_rdkit_it_says_what_to_install() -> None:
    with mock.patch.dict(sys.modules, {"rdkit": None}), pytest.raises(MissingExtra, match=r"phronesis\[chem\]"):
        drawing_of("CC", {})
