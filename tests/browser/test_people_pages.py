"""People, what kind of person each is, and one trait over time, as a person looks at them and corrects them."""

import re

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from web_story_learned import RAN, RUNNER, TEA


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
    expect(behaviours.get_by_role("article").first).to_contain_text("7 for, 1 against")
    expect(behaviours).to_contain_text(TEA)
    expect(page.get_by_role("region", name="Known")).to_contain_text("I prefer short answers.")
    expect(page.get_by_role("region", name="Past reflections")).to_contain_text("1 contradicted")
    tab.shot("person")


def test_a_person_is_reflected_on_now(tab: Visit, store: Memory) -> None:
    for n in range(3):
        store.add("I water the orchids on Mondays.", user_id="mia", kind="episodic", session_id=f"talk/{n}")
    page = tab.see("/people/view?id=mia")
    reflection = page.get_by_role("region", name="Reflection", exact=True)
    expect(reflection).to_contain_text("due the first time")
    reflection.get_by_role("button", name="Reflect now").click()
    expect(page.get_by_role("status")).to_have_text("Reflected.")
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
