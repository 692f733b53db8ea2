"""Entities: who is spoken of, what is known of them, and which names are one."""

import re

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory


def test_namesakes_are_seen_merged_and_parted_again(memory: Memory, visit: Visit) -> None:
    for text in ("My colleague Anna lives in Rome.", "My sister Anna lives in Oslo.", "Anna is allergic to nuts."):
        memory.add([{"role": "user", "content": text}], user_id="eve", session_id="tea")
    page = visit.see("/entities?user=eve")
    expect(page.get_by_role("row", name="sister Anna")).to_contain_text("Person · sister")
    visit.shot("entities")
    page.get_by_role("link", name="sister Anna").click()
    known = page.get_by_role("region", name="What is known")
    expect(known.get_by_role("listitem")).to_have_count(2)
    expect(known).to_contain_text("tea")
    expect(page.get_by_text("Several have this name:")).to_contain_text("colleague Anna")
    visit.shot("entity")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_label("It is the same as").select_option("colleague Anna")
    page.get_by_role("button", name="Merge").click()
    expect(page.locator("#notices")).to_contain_text("They are one now.")
    expect(known.get_by_role("listitem")).to_have_count(4)  # the alias is known too
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Not the same").click()
    expect(page.locator("#notices")).to_contain_text("They are two now.")
    page.get_by_role("button", name="Undo").click()
    page = visit.see("/entities?user=eve&q=sister")
    expect(page.get_by_role("row", name="colleague Anna")).to_contain_text("sister Anna")


def test_what_is_of_another_is_split_off(memory: Memory, visit: Visit) -> None:
    for key, value in (("home_city", "Rome"), ("employer", "IBM")):
        item = memory.add(f"Tom: {value}", kind="profile", subject="Tom", key=key, value=value, user_id="max").items[0]
    page = visit.see(f"/memories/{item.id}")
    page.get_by_role("complementary").get_by_role("link", name="Tom", exact=True).click()
    known = page.get_by_role("region", name="What is known")
    known.get_by_role("listitem").filter(has_text="IBM").get_by_role("checkbox").check()
    page.get_by_label("What is chosen is about another").fill("Tom Ray")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Split off what is chosen").click()
    expect(known.get_by_role("listitem")).to_have_count(1)
    assert [one.name for one in memory.entities.list("ray", user_id="max")] == ["Tom Ray"]


def test_the_graph_joins_entities_by_what_is_stated(memory: Memory, visit: Visit) -> None:
    memory.add([{"role": "user", "content": "My sister Mia lives in Oslo."}], user_id="ida")
    page = visit.see("/entities?user=ida")
    page.get_by_role("link", name="Graph of entities").click()
    links = page.evaluate("phronesis.data('walked').links.map((link) => link.label)")
    assert sorted(links) == ["Brother or sister", "Lives in"]
    expect(page.get_by_role("row", name=re.compile("^Mia open: Mia Person .* (ida; Oslo|Oslo; ida)$"))).to_be_visible()
    page.get_by_role("button", name="Mia").click()
    expect(page.get_by_role("status")).to_contain_text("Oslo")
    visit.shot("entity-graph")
    page.get_by_label("Kind").select_option("place")
    page.get_by_role("main").get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator("#nodes tr")).to_have_count(2)
    page.get_by_role("link", name="open: Oslo").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Oslo")


def test_all_that_is_known_of_an_entity_is_erased(memory: Memory, visit: Visit) -> None:
    for text in ("My sister Ana lives in Oslo.", "Ana is allergic to nuts."):
        memory.add([{"role": "user", "content": text}], user_id="joe")
    page = visit.see("/entities?user=joe")
    page.get_by_role("link", name="Ana").click()
    expect(page.get_by_role("region", name="What is known")).to_contain_text("Allergy")
    page.get_by_text("Delete everything about Ana").click()
    page.get_by_role("button", name="Erase permanently").click()
    page.get_by_label("to confirm").fill("2")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    assert list(memory.get_all(user_id="joe")) == []
