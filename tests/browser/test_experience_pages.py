"""What was tried and what is learned from it: lists, answers, and the graph that one walks."""

import re

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from web_story import BUILD


def test_what_worked_is_asked_and_answered(tab: Visit) -> None:
    page = tab.see("/experience")
    page.get_by_label("Situation").fill(BUILD)
    page.get_by_role("button", name="Ask").click()
    answer = page.get_by_role("region", name="Answer")
    worked = answer.locator(".advice.do").filter(has_text="Deleted the cache folder and rebuilt, attempt")
    expect(worked.first).to_be_visible()
    expect(answer.locator(".advice.avoid").first).to_contain_text("under load")
    expect(answer.get_by_text("57% worked (4 of 7)").first).to_be_visible()
    answer.get_by_text(re.compile("Conflicts: ")).click()
    expect(answer.locator(".dispute").first).to_contain_text("the same attempt came out otherwise")
    tab.shot("experience")
    page.get_by_role("navigation", name="Layers").get_by_role("link", name="patterns").click()
    expect(page.get_by_role("img", name=re.compile("100% worked.*95 % interval 51% to 100%"))).to_be_visible()
    tab.shot("experience-patterns")


def test_the_graph_is_walked_by_click_and_by_keyboard(tab: Visit, store: Memory) -> None:
    (pattern,) = (one for one in store.get_all(kinds=["pattern"]) if "pump" in one.content)
    page = tab.see(f"/memories/{pattern.id}")
    page.get_by_role("link", name="In the graph").click()
    nodes = page.get_by_role("region", name="Nodes")
    expect(nodes.get_by_role("row", name=re.compile("attempt failure")).first).to_be_visible()
    buttons = nodes.locator("#nodes button")
    expect(buttons).to_have_count(5)  # a principle, its pattern, three attempts
    buttons.first.focus()
    page.keyboard.press("Enter")
    expect(nodes.get_by_role("status")).to_contain_text("nothing new around it")
    expect(buttons.first).to_be_focused()
    nodes.get_by_role("link", name=re.compile("^open: do not: Tightened")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("gland nut")


def test_the_whole_graph_has_conflicts_and_artifacts(tab: Visit) -> None:
    page = tab.see("/experience/walk")
    graph = page.get_by_role("img", name=re.compile("The graph"))
    expect(graph.locator("canvas").first).to_be_visible()
    expect(page.get_by_role("list", name="Legend")).to_contain_text("contradicts")
    relations = page.evaluate("phronesis.data('walked').links.map((link) => link.relation)")
    assert {"supports", "member_of", "contradicts"} <= set(relations)
    tab.shot("graph")
    page.get_by_role("button", name="Closer").click()
    page.get_by_role("checkbox", name="artifacts").check()
    page.get_by_role("main").get_by_role("button", name="Apply", exact=True).click()
    attempt = page.get_by_role("button", name=re.compile("cache folder and rebuilt, attempt 1$"))
    attempt.last.click()
    expect(page.get_by_role("region", name="Nodes")).to_contain_text("src/app.py")
    tab.shot("graph-artifacts")


def test_the_graph_is_filtered_and_searched(tab: Visit) -> None:
    page = tab.see("/experience/walk")
    rows = page.locator("#nodes tr")
    expect(rows.filter(has_text="success")).not_to_have_count(0)
    page.get_by_label("Outcome").select_option("failure")
    page.get_by_role("checkbox", name="principles").uncheck()
    page.get_by_role("main").get_by_role("button", name="Apply", exact=True).click()
    expect(rows.filter(has_text="failure")).not_to_have_count(0)
    expect(rows.filter(has_text="success")).to_have_count(0)
    expect(rows.filter(has_text="principle")).to_have_count(0)
    kinds = page.evaluate("phronesis.data('walked').nodes.map((node) => node.kind)")
    assert set(kinds) == {"pattern", "l1"}
    page.get_by_label("Find a node").fill("gland nut")
    expect(rows.filter(has_text="under load").first).to_be_hidden()
    expect(rows.filter(has_text="gland nut").first).to_be_visible()
    tab.shot("graph-filtered")
    page = tab.see("/experience/walk?q=pump+leaks+at+the+shaft+seal")
    expect(rows.filter(has_text="gland nut")).not_to_have_count(0)
    expect(rows.filter(has_text="cache folder")).to_have_count(0)
    expect(tab.see("/experience/walk?since=2999-01-01").get_by_text("No results.")).to_be_visible()


def test_only_experience_is_walked(tab: Visit, store: Memory) -> None:
    cases: list[tuple[str, int]] = [
        ("graph?id=00000000-0000-5000-8000-000000000000", 404),
        ("graph?id={fact}", 404),
        ("graph?id={l1}", 200),
    ]
    for path, status in cases:
        known = {kind: store.get_all(kinds=[kind], limit=1)[0].id for kind in ("fact", "l1")}
        answer = tab.page.request.get(f"{tab.address}/experience/{path.format(**known)}")
        assert answer.status == status
        if status == 200:
            told = answer.json()
            assert told["starts"] == [known["l1"]]
            assert {"member_of"} <= {link["relation"] for link in told["links"]}
