"""The composer: a message is typed, and its context is seen with what it cost and what had no room."""

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from phronesis.core.scope import LaneName
from phronesis.store.context_impressions import shown_since

ASKED = "What did we decide about the seal of pump 2?"


def test_a_context_is_shown_with_all_that_explains_it(tab: Visit, store: Memory) -> None:
    page = tab.see("/composer?session=pump-2/week&user=ann")
    page.get_by_role("textbox", name="Message").fill(ASKED)
    page.get_by_label("Token budget").fill("700")
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
