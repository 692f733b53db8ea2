"""Work on a list: add, edit in place, act on one or on many, undo, export, and the names that are suggested."""

import re

from playwright.sync_api import Locator, Page, expect

from browsing import Visit
from phronesis import Memory


def card(page: Page, words: str) -> Locator:
    return page.locator("article.item", has_text=words)


def undo(page: Page) -> None:
    page.locator("#notices").get_by_role("button", name="Undo").click()


def forgive_refusals(visit: Visit) -> None:
    """Leave out what the browser's console says of each answer that is an error."""
    visit.wrong[:] = [one for one in visit.wrong if not one.startswith("Failed to load resource")]


def test_a_memory_is_added_edited_in_place_and_undone(memory: Memory, visit: Visit) -> None:
    page = visit.see("/memories?user=ana")
    page.get_by_role("link", name="Add a memory").click()
    expect(page.get_by_label("User")).to_have_value("ana")
    page.get_by_label("Text").fill("Ana is allergic to walnuts.")
    page.get_by_label("Kind").select_option("preference")
    page.get_by_text("Subject, key and value").click()
    for field, value in (("Subject", "user"), ("Key", "allergy"), ("Value", "walnuts")):
        page.get_by_label(field, exact=True).fill(value)
    visit.shot("new-memory")
    page.get_by_role("button", name="Remember").click()
    expect(page.locator("#notices")).to_contain_text("Remembered")
    found = card(page, "Ana is allergic to walnuts.")
    found.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Text")).to_be_focused()
    page.get_by_label("Text").fill("Ana is allergic to peanuts.")
    page.get_by_label("Value").fill("peanuts")
    visit.shot("edit-in-place")
    page.get_by_role("button", name="Save").click()
    expect(card(page, "peanuts")).to_be_visible()
    (item,) = memory.get_all(user_id="ana")
    assert (item.content, item.value) == ("Ana is allergic to peanuts.", "peanuts")
    undo(page)
    expect(card(page, "walnuts")).to_be_visible()
    assert memory.get(item.id).value == "walnuts"
    undo(page)  # the rollback too
    expect(card(page, "peanuts")).to_be_visible()


def test_the_actions_of_a_card_change_it_where_it_is(memory: Memory, visit: Visit) -> None:
    (item,) = memory.add("The spare key is with the porter.", kind="fact", user_id="cleo").items
    page = visit.see("/memories?user=cleo&q=spare+key")
    found = card(page, "spare key")
    for button, badge in (("Pin", "pinned"), ("Archive", "archived"), ("Retract", "retracted")):
        found.get_by_role("button", name=button, exact=True).click()
        expect(found.locator(".badge", has_text=badge)).to_be_visible()
    expect(found.get_by_role("button", name="Retract")).to_have_count(0)
    undo(page)
    expect(found.locator(".badge", has_text="retracted")).to_have_count(0)
    assert memory.get(item.id).ended is None
    page.locator("#notices").get_by_role("button", name="Close").click()
    expect(page.locator("#notices .notice")).to_have_count(0)


def test_a_list_is_worked_through_by_keyboard(memory: Memory, visit: Visit) -> None:
    (item,) = memory.add("The fuse box is in the cellar.", kind="fact", user_id="gil").items
    page = visit.see("/memories?user=gil")
    page.get_by_role("checkbox", name="The fuse box is in the cellar.").focus()
    for _ in range(4):  # the text, the owner, edit, pin
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".badge", has_text="pinned")).to_be_visible()
    expect(page.get_by_role("link", name="The fuse box is in the cellar.")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#notices .notice")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_placeholder("What do you want to know?")).to_be_focused()
    assert memory.get(item.id).pinned


def test_what_is_chosen_is_archived_together_and_undone_together(memory: Memory, visit: Visit) -> None:
    for n in range(4):
        memory.add(f"Shelf {n} holds acids.", kind="fact", user_id="bea")
    page = visit.see("/memories?user=bea")
    expect(page.get_by_role("button", name="Archive").last).to_be_visible()
    expect(page.locator(".chosen")).to_be_hidden()
    page.get_by_label("Select all").check()
    card(page, "Shelf 3").get_by_role("checkbox").uncheck()
    visit.shot("selection")
    page.locator(".chosen").get_by_role("button", name="Archive", exact=True).click()
    expect(page.locator("#notices")).to_contain_text("3 memories: Archived.")
    expect(page.locator("article .badge", has_text="archived")).to_have_count(3)
    assert [item.content for item in memory.get_all(user_id="bea")] == ["Shelf 3 holds acids."]
    undo(page)
    expect(page.locator("article .badge", has_text="archived")).to_have_count(0)
    assert len(memory.get_all(user_id="bea")) == 4


def test_several_are_erased_once_their_number_was_typed(memory: Memory, visit: Visit) -> None:
    for n in range(2):
        memory.add(f"Gate {n} opens with 771{n}.", kind="fact", user_id="eve")
    page = visit.see("/memories?user=eve")
    page.get_by_label("Select all").check()
    page.locator(".chosen").get_by_role("button", name="Erase permanently").click()
    visit.shot("erase")
    page.get_by_label("Type 2 to confirm").fill("3")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_role("alert")).to_contain_text("Type exactly: 2")
    page.get_by_label("Type 2 to confirm").fill("2")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    assert len(memory.get_all(user_id="eve")) == 0
    page.get_by_role("link", name="Back to the list").click()
    expect(page).to_have_url(re.compile("user=eve"))
    forgive_refusals(visit)


def test_names_are_suggested_while_typing(memory: Memory, visit: Visit) -> None:
    memory.add("The oven is at 40 degrees.", kind="fact", namespace="lab-7")
    memory.add("I like rain.", user_id="zora_1%", infer=False)
    page = visit.see("/memories")
    page.get_by_label("User").press_sequentially("RA_")
    expect(page.locator("#known-user option")).to_have_count(1)
    expect(page.locator("#known-user option")).to_have_attribute("value", "zora_1%")
    page.get_by_label("Namespace").press_sequentially("lab")
    expect(page.locator("#known-namespace option")).to_have_attribute("value", "lab-7")
    page.get_by_label("User").fill("zora_1%")  # as a choice from the list does
    expect(card(page, "I like rain.")).to_be_visible()


def test_an_error_stays_in_the_frame(memory: Memory, visit: Visit) -> None:
    (item,) = memory.add("The door is green.", kind="fact", user_id="fay").items
    page = visit.see("/memories?user=fay")
    card(page, "green").get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Text")).to_be_focused()
    memory.update(item.id, content="The door is red.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("expected_version")
    expect(page.get_by_label("Text")).to_have_value("The door is green.")
    forgive_refusals(visit)
