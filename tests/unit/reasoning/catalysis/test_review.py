"""What PubChem's answer makes of a run's modifier: one compound or several, and never a veto."""

import sys

import pytest

from phronesis.reasoning.catalysis import run_facts
from phronesis.reasoning.catalysis.pubchem import Compound, Compounds
from phronesis.reasoning.catalysis.review import ReviewRequest, reviewed
from phronesis.reasoning.laws.records import Review

ACID = Compound(176, "Acetic Acid", "CC(=O)O", "QTBSBXVTEAMEQO-UHFFFAOYSA-N")
SALT = Compound(517055, "Sodium Benzoate", "C1=CC=C(C=C1)C(=O)[O-].[Na+]", "WXMKPNITSTVMEF-UHFFFAOYSA-M")
ESTER = Compound(8857, "Ethyl Acetate", "CCOC(=O)C", "XEKOWRVHYACXOJ-UHFFFAOYSA-N")
IMIDAZOLE = Compound(795, "Imidazole", "C1=CN=CN1", "RAXXELZNTBOGNW-UHFFFAOYSA-N")
GLYCINE = Compound(750, "Glycine", "C(C(=O)O)N", "DHMQDGOQFOQNFH-UHFFFAOYSA-N")
ZWITTERION = Compound(5257127, "Glycine zwitterion", "C(C(=O)[O-])[NH3+]", "DHMQDGOQFOQNFH-UHFFFAOYSA-N")
LACTIC = Compound(612, "Lactic Acid", "CC(C(=O)O)O", "JVTAAEKCZFNVCJ-UHFFFAOYSA-N")
L_LACTIC = Compound(107689, "L-Lactic Acid", "CC(C(=O)O)O", "JVTAAEKCZFNVCJ-REOHCLBHSA-N")


def of(*listed: Compound, total: int | None = None, chinese: bool = False) -> Review:
    asked = ReviewRequest("r1", "the modifier", "the modifier", chinese)
    return reviewed(asked, Compounds(len(listed) if total is None else total, listed))


def test_an_acid_is_resolved_and_nothing_is_suggested() -> None:
    review = of(ACID)
    assert (review.status, review.reason, review.cid, review.smiles) == ("resolved", "", 176, "CC(=O)O")
    assert (review.name, review.inchikey) == (ACID.name, ACID.inchikey)
    assert (review.has_cooh, review.has_carboxylate, review.suggestion) == (True, False, "")
    assert review.matched == {"acid": ((1, 2, 3),), "carboxylate": (), "ester": ()}
    assert [(one.cid, one.has_cooh) for one in review.candidates] == [(176, True)]
    assert review.to_dict()["matched"]["acid"] == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("compound", "carboxylate", "english", "chinese"),
    [
        (
            IMIDAZOLE,
            False,
            "no free carboxyl group –COOH. Consider sending the run back",
            "（–COOH）：建议打回或重新生成",
        ),
        (SALT, True, "–COOH: it is a carboxylate (–COO⁻). Consider", "它是羧酸盐（–COO⁻），建议打回"),
        (ESTER, False, "–COOH: it is an ester. Consider", "它是酯，建议打回"),
    ],
)
def test_without_a_free_acid_sending_it_back_is_suggested(
    compound: Compound, carboxylate: bool, english: str, chinese: str
) -> None:
    review = of(compound)
    assert (review.status, review.has_cooh, review.has_carboxylate) == ("resolved", False, carboxylate)
    assert english in review.suggestion
    assert f"The modifier the modifier (PubChem CID {compound.cid})" in review.suggestion
    assert chinese in of(compound, chinese=True).suggestion


def test_what_may_be_several_is_left_open_with_the_candidates() -> None:
    cases: list[tuple[tuple[Compound, ...], int]] = [
        ((ACID, IMIDAZOLE), 2),
        ((ACID, IMIDAZOLE, SALT), 3),
        ((GLYCINE, ZWITTERION), 2),  # one InChIKey, and two answers
        ((LACTIC, L_LACTIC), 40),  # who knows what the others are
        ((Compound(1, smiles="CC(=O)O"), Compound(2, smiles="CC(=O)O")), 2),
    ]
    for listed, total in cases:
        review = of(*listed, total=total)
        assert (review.status, review.reason, review.cid, review.has_cooh) == ("unresolved", "ambiguous", None, None), (
            listed
        )
        assert [one.cid for one in review.candidates] == [one.cid for one in listed], listed
        assert review.candidates[0].has_cooh is not None, listed
        assert review.suggestion == "", listed


def test_what_cannot_be_told_is_no_verdict() -> None:
    cases: list[tuple[Compounds, str]] = [
        (Compounds(0), "not_found"),
        (Compounds(3), "no_structure"),
        (Compounds(1, (Compound(5),)), "no_structure"),
        (Compounds(1, (Compound(5, smiles="no smiles"),)), "bad_smiles"),
        (Compounds(1, (Compound(5, smiles="C" * 100_000),)), "bad_smiles"),
    ]
    for found, reason in cases:
        review = reviewed(ReviewRequest("r1", "m", "m"), found)
        assert (review.status, review.reason) == ("unresolved", reason), found
        assert (review.has_cooh, review.has_carboxylate, review.suggestion) == (None, None, ""), found


def test_without_rdkit_the_compound_is_told_and_its_groups_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    run_facts._patterns.cache_clear()
    monkeypatch.setitem(sys.modules, "rdkit", None)
    review = of(IMIDAZOLE)
    assert (review.status, review.reason, review.cid, review.smiles) == ("unresolved", "no_rdkit", 795, "C1=CN=CN1")
    assert (review.has_cooh, review.candidates[0].has_cooh, review.suggestion) == (None, None, "")
