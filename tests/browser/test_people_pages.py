"""People, what kind of person each is, and one trait over time, as a person looks at them and corrects them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browsing import Visit, own_site
from phronesis import Memory
from web_story import RAN, RUNNER, TEA


def test_people_are_listed_and_looked_up(tab: Visit) -> None:
    page = tab.see("/people")
    expect(page.get_by_role("link", name="王芳")).to_be_visible()
    tab.shot("people")
    page.get_by_label("Find").fill("LI")
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_role("link", name="王芳")).to_have_count(0)
    page.get_by_role("main").get_by_role("link", name=RUNNER, exact=False).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(RUNNER)
    behaviours = page.get_by_role("region", name="Behaviours")
    trait = behaviours.get_by_role("article").first
    expect(trait.get_by_role("img", name=re.compile("54%: emerging .*established from 60%"))).to_be_visible()
    trait.get_by_text("7 for, 1 against").click()
    expect(trait.locator(".contradicting")).to_contain_text("my knee hurts")
    expect(behaviours).to_contain_text(TEA)
    expect(page.get_by_role("region", name="Known")).to_contain_text("I prefer short answers.")
    expect(page.get_by_role("region", name="Past reflections")).to_contain_text("1 contradicted")
    tab.shot("person")


SAID = (
    "I'm allergic to penicillin. I live in Porto. My name is Ana Silva.",
    "My sister Mia lives in Oslo.",
    "I need to renew my passport by 5 December 2999.",
    "Keep your answers short.",
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Memory, str]]:
    """A store of its own with what Ana said in it; and its address."""
    with own_site(tmp_path) as (memory, address):
        for n, text in enumerate(SAID):
            memory.commit_turn(f"talk/{n}", {"messages": [{"role": "user", "content": text}]}, user_id="Ana")
        dentist: dict[str, Any] = {"subject": "user", "key": "contact.dentist", "value": "Dr. Rossi"}
        memory.add("My dentist is Dr. Rossi.", kind="profile", user_id="Ana", **dentist)
        memory.flush()
        yield memory, address


def test_a_wrong_allergy_is_corrected_where_it_stands(memory: Memory, visit: Visit) -> None:
    page = visit.see("/people/view?id=Ana")
    health = page.get_by_role("region", name="Health and diet")
    expect(health.get_by_role("listitem")).to_contain_text("Allergy")
    expect(page.get_by_role("region", name="Where and how to reach them", exact=True)).to_contain_text(
        "Contact: dentist"
    )
    expect(page.get_by_role("region", name="Mia: Where and how to reach them")).to_contain_text("Oslo")
    expect(page.get_by_role("region", name="People and things")).to_contain_text("Mia")
    health.get_by_text("Correct or end").click()
    visit.shot("person-correcting")
    health.get_by_label("Allergy").fill("aspirin")
    health.get_by_role("button", name="Save").click()
    expect(page.locator("#notices")).to_contain_text("Saved.")
    (item,) = (one for one in memory.get_all(user_id="Ana") if one.key == "allergy")
    assert (item.content, item.value) == ("I'm allergic to aspirin", "aspirin")
    page.get_by_role("button", name="Undo").click()
    expect(health.get_by_role("link", name="penicillin")).to_be_visible()
    health.get_by_text("Correct or end").click()
    health.get_by_label("The words").fill("I'm allergic to latex")
    health.get_by_role("button", name="Save").click()
    expect(health.get_by_role("link", name="latex")).to_be_visible()


@pytest.mark.parametrize(("button", "notice"), [("It was wrong", "Retracted"), ("No longer true", "It ended")])
def test_a_fact_is_ended_and_comes_back(visit: Visit, button: str, notice: str) -> None:
    page = visit.see("/people/view?id=Ana")
    home = page.get_by_role("region", name="Where and how to reach them", exact=True).get_by_role("listitem")
    home = home.filter(has_text="Lives in")
    home.get_by_text("Correct or end").click()
    home.get_by_role("button", name=button).click()
    expect(page.locator("#notices")).to_contain_text(notice)
    expect(home).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(home).to_contain_text("Porto")


def test_a_task_is_done(visit: Visit) -> None:
    page = visit.see("/people/view?id=Ana")
    tasks = page.get_by_role("region", name="To do")
    expect(tasks).to_contain_text("passport")
    tasks.get_by_role("button", name="Done").click()
    expect(tasks).to_contain_text("Nothing is to be done.")


def test_everything_about_a_person_is_exported_then_deleted(memory: Memory, visit: Visit, tmp_path: Path) -> None:
    page = visit.see("/people/view?id=Ana")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export everything").click()
    assert download.value.suggested_filename == "Ana.jsonl"
    download.value.save_as(tmp_path / "Ana.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "Ana.jsonl").read_text("utf-8").splitlines()]
    assert {line["record"] for line in lines} == {"memory", "turn", "entity"}
    said = {line["messages"][0]["content"] for line in lines if line["record"] == "turn"}
    assert said == set(SAID)
    page.get_by_text("Delete everything about Ana").click()
    page.get_by_label("Type Ana to confirm").fill("Ana")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    expect(page.get_by_text('"clean": true')).to_be_visible()
    assert list(memory.get_all(user_id="Ana")) == []


def test_a_person_is_reflected_on_now(tab: Visit, store: Memory) -> None:
    for n in range(3):
        store.add("I water the orchids on Mondays.", user_id="mia", kind="episodic", session_id=f"talk/{n}")
    page = tab.see("/people/view?id=mia")
    reflection = page.get_by_role("region", name="Reflection", exact=True)
    expect(reflection).to_contain_text("due the first time")
    reflection.get_by_role("button", name="Reflect now").click()
    expect(page.locator("#notices")).to_contain_text("Reflected.")
    expect(page.get_by_role("region", name="Behaviours")).to_contain_text("Often gardens")
    expect(reflection).to_contain_text("not due nothing new was learned")


def test_a_trait_is_seen_over_time_with_what_speaks_for_it_and_against(tab: Visit) -> None:
    page = tab.see(f"/people/view?id={RUNNER}")
    page.get_by_role("link", name=RAN).click()
    chart = page.get_by_role("img", name=re.compile("Line of the confidence"))
    expect(chart.locator("canvas")).to_be_visible()
    lines = page.evaluate("echarts.getInstanceByDom(document.querySelector('.chart')).getOption().series")
    assert [len(line["data"]) for line in lines] == [2, 2, 2, 6]  # the borders of three stages, and six reflections
    assert lines[3]["data"][4]["itemStyle"]["color"] == page.evaluate("phronesis.colour('bad')")
    page.get_by_text("As a table").click()
    expect(page.get_by_role("row", name=re.compile("60% emerging 1"))).to_be_visible()
    evidence = page.get_by_role("region", name="Evidence for and against")
    expect(evidence.get_by_role("heading", name="For it · 7")).to_be_visible()
    expect(evidence.locator(".contradicting")).to_contain_text("my knee hurts")
    tab.shot("trait")
    evidence.locator(".contradicting").get_by_role("link", name=re.compile("knee")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("my knee hurts")


def test_a_trait_is_corrected_and_removed(tab: Visit, store: Memory) -> None:
    for n in range(3):
        store.add("I bake rye bread at night.", user_id="noa", kind="episodic", session_id=f"talk/{n}")
    store.reflect("noa", force=True)
    (trait,) = store.get_user_traits("noa", "trend")
    page = tab.see(f"/memories/{trait.id}")
    page.get_by_text("Correct this trait").click()
    page.get_by_label("The trait in a sentence").fill("Bakes bread when awake at night")
    page.get_by_label("Where it shows").select_option("personal")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Bakes bread when awake at night")
    assert store.get_user_traits("noa", "trend")[0].context == "personal"
    page.get_by_role("button", name="Remove this trait").click()
    expect(page.locator("article .badge", has_text="retracted")).to_be_visible()
    assert store.get_user_traits("noa", "trend") == []
