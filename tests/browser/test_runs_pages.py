"""Runs: output, feedback, what was learned and rolled back, and the structure of the modifier."""

import re

import pytest
from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from web_story import LAB, MODIFIERS


@pytest.fixture(autouse=True)
def answers_known(store: Memory) -> None:
    """Have the modifiers looked up: a test of another page may have erased something, and all answers with it."""
    for run_id, modifier in MODIFIERS.items():
        if modifier != MODIFIERS["run-none"]:
            store.runs.review(run_id, namespace=LAB)


def test_a_run_shows_its_modifier_drawn_and_suggests_without_blocking(tab: Visit) -> None:
    page = tab.see(f"/runs?namespace={LAB}")
    expect(page.get_by_role("article")).to_have_count(4)
    tab.shot("runs")
    page.get_by_role("link", name="run-salt").click()
    modifier = page.get_by_role("region", name="Modifier")
    drawing = modifier.get_by_role("img", name="Structure of Sodium Benzoate")
    expect(drawing).to_be_visible()
    expect(drawing.locator("ellipse.carboxylate")).to_have_count(3)
    assert drawing.locator("script, foreignObject, image, [style]").count() == 0
    for told in (
        "C1=CC=C(C=C1)C(=O)[O-].[Na+]",
        "WXMKPNITSTVMEF-UHFFFAOYSA-M",
        "no free carboxyl group",
        "atoms 6, 7, 8 of the SMILES",
    ):
        expect(modifier).to_contain_text(told)
    link = modifier.get_by_role("link", name="517055")
    expect(link).to_have_attribute("href", "https://pubchem.ncbi.nlm.nih.gov/compound/517055")
    expect(modifier.locator(".suggestion")).to_contain_text("Consider sending the run back, or generating it anew.")
    expect(page.get_by_role("button", name="Learn from this run")).to_be_enabled()
    tab.shot("run")


def test_a_free_acid_needs_no_suggestion_and_several_compounds_are_candidates(tab: Visit) -> None:
    page = tab.see(f"/runs/view?id=run-acid&namespace={LAB}")
    modifier = page.get_by_role("region", name="Modifier")
    expect(modifier.locator("ellipse.acid")).to_have_count(3)
    expect(modifier.locator(".suggestion")).to_have_count(0)
    page = tab.see(f"/runs/view?id=run-several&namespace={LAB}")
    expect(modifier).to_contain_text("The name means several compounds")
    expect(modifier.get_by_role("row")).to_have_count(3)
    expect(modifier.get_by_role("row", name=re.compile("Acetic Acid"))).to_contain_text("yes")
    tab.shot("run-candidates")


def test_a_modifier_is_looked_up_when_somebody_asks(tab: Visit, store: Memory) -> None:
    store.runs.record({"run_id": "asked", "output": {"M1": "Cu", "modifier": "imidazole"}}, namespace="asking")
    store.runs.record({"run_id": "unknown", "output": {"M1": "Cu", "modifier": "unobtainium"}}, namespace="asking")
    page = tab.see("/runs/view?id=asked&namespace=asking")
    modifier = page.get_by_role("region", name="Modifier")
    expect(modifier).to_contain_text("PubChem was not asked about it yet.")
    modifier.get_by_role("button", name="Look it up").click()
    expect(page.locator("#notices")).to_contain_text("Looked up.")
    expect(modifier.get_by_role("img", name="Structure of Imidazole")).to_be_visible()
    page = tab.see("/runs/view?id=unknown&namespace=asking")
    modifier.get_by_role("button", name="Look it up").click()
    expect(modifier).to_contain_text("PubChem knows no compound of this name.")


def test_feedback_is_given_then_learned_from_and_taken_back(tab: Visit, store: Memory) -> None:
    block = store.get_all(kinds=["reasoning"], namespace=LAB)[0].content
    claims = store.reasoning.add(block, namespace="bench")
    run = {"run_id": "b1", "output": {"M1": "Cu", "M2": "Zn"}, "raw": "one", "memory_ids": [claims.id]}
    store.runs.record(run, namespace="bench")
    page = tab.see("/runs/view?id=b1&namespace=bench")
    page.get_by_label("Product 1").fill("formate")
    page.get_by_label("Fraction 1").fill("0.7")
    page.get_by_label("Value 1").fill("7.5")
    page.get_by_label("Notes").fill("阴极颜色变深")
    page.get_by_role("button", name="Save").click()
    feedback = page.get_by_role("region", name="Feedback")
    expect(feedback.get_by_role("row", name=re.compile("formate 7.5 0.7"))).to_be_visible()
    expect(feedback).to_contain_text("阴极颜色变深")
    page.get_by_role("button", name="Learn from this run").click()
    learned = page.get_by_role("article", name="Learn 1")
    expect(learned.get_by_role("row", name=re.compile("^c1 supports it"))).to_be_visible()
    expect(learned.get_by_role("link", name="Cu–Zn")).to_be_visible()
    learned.get_by_role("button", name="Roll back").click()
    expect(learned).to_contain_text("rolled back")
    expect(learned.get_by_role("button", name="Roll back")).to_have_count(0)
    assert store.reasoning.get(claims.id).claims == claims.claims
