"""Structures: lines and spots alone, whatever a SMILES holds."""

from phronesis.reasoning.catalysis.run_facts import HEIGHT, MAX_ATOMS, WIDTH, drawing_of


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
