"""The composer: a message's context, the same under other settings, and what would be remembered of the message."""

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from phronesis.core.ids import LaneName
from phronesis.store.impressions import shown_since

ASKED = "What did we decide about the seal of pump 2?"


def test_a_context_is_shown_with_all_that_explains_it(tab: Visit, store: Memory) -> None:
    page = tab.see("/composer?session=pump-2/week&user=ann")
    page.get_by_role("textbox", name="Message").fill(ASKED)
    page.get_by_role("group", name="Settings", exact=True).get_by_label("Token budget").fill("700")
    page.get_by_role("button", name="Compose").click()
    expect(page.get_by_role("heading", name="of 700 tokens")).to_be_visible()
    expect(page.get_by_role("row", name="Evidence")).to_be_visible()
    expect(page.get_by_role("region", name="Recent turns")).to_contain_text("Thanks, that is all for today.")
    expect(page.get_by_role("region", name="Plan")).to_contain_text(ASKED)
    expect(page.get_by_role("region", name="Left out")).to_contain_text("no room in its slot")
    evidence = page.get_by_role("region", name="Evidence")
    evidence.get_by_text("Why it was found").first.click()
    expect(evidence.get_by_role("rowheader", name="words", exact=True).first).to_be_visible()
    expect(page.locator("#rendered-text .fence").first).to_contain_text("<memory-")
    page.evaluate("scrollTo(0, 0)")
    tab.shot("composer")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert ASKED in page.evaluate("navigator.clipboard.readText()")
    with store.admin.components.database.transaction(store.admin.tenant, "read") as unit:
        assert not shown_since(unit, LaneName("user", "ann"), seq=0)


def test_what_would_be_remembered_is_shown_before_it_is(tab: Visit, store: Memory) -> None:
    before = store.get_all(user_id="ann", limit=1_000)
    page = tab.see("/composer?user=ann")
    page.get_by_role("textbox", name="Message").fill(
        "I moved to Bergen yesterday, and I am allergic to peanuts. My key is sk-abcdefghijklmnopqrstuvwxyz012345."
    )
    page.get_by_role("button", name="What would be remembered").click()
    learned = page.get_by_role("region", name="What would be learned")
    expect(learned).to_contain_text("home_city = Bergen")
    expect(learned).to_contain_text("Would contradict:")
    expect(learned).to_contain_text("allergy = peanuts")
    expect(page.get_by_role("region", name="What would be refused, and why")).to_contain_text("openai key")
    expect(page.get_by_role("region", name="Kept word for word")).to_contain_text("I moved to Bergen yesterday")
    tab.shot("composer-preview")
    page.get_by_role("textbox", name="Message").fill("Hm.")
    page.get_by_role("button", name="What would be remembered").click()
    expect(page.get_by_text("Nothing would be learned from this message.")).to_be_visible()
    assert store.get_all(user_id="ann", limit=1_000) == before


def test_one_context_under_two_settings(tab: Visit) -> None:
    page = tab.see("/composer?session=pump-2/week&user=ann")
    page.get_by_role("textbox", name="Message").fill(ASKED)
    page.get_by_text("Compare with other settings").click()
    other = page.get_by_role("group", name="Other settings")
    other.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Both settings give the same context.")).to_be_visible()
    other.get_by_label("Token budget").fill("400")
    other.get_by_label("Only this kind").select_option("message")
    other.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("shown by the first settings only")).to_be_visible()
    evidence = page.get_by_role("region", name="Evidence")
    expect(evidence.locator(".only").first).to_contain_text("only first")
    expect(page.get_by_role("region", name="Two settings side by side")).to_contain_text("of 400 tokens")
    page.evaluate("scrollTo(0, 0)")
    tab.shot("composer-compared")
    other.get_by_label("Token budget").fill("3")
    other.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_contain_text("token_budget")
