"""The composer: a message is typed, and its context is seen with what it cost and what had no room."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from browsing import Visit
from phronesis import Memory
from phronesis.core.scope import LaneName
from phronesis.store.context_impressions import shown_since

ASKED = "What did we decide about the seal of pump 2?"


def composed(page: Page, budget: str = "700") -> Page:
    page.get_by_role("textbox", name="Message").fill(ASKED)
    page.get_by_label("Token budget").fill(budget)
    page.get_by_role("button", name="Compose").click()
    return page


def test_a_context_is_shown_with_all_that_explains_it(tab: Visit, store: Memory) -> None:
    page = composed(tab.see("/composer?session=pump-2/week&user=ann"))
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


def test_a_citation_leads_to_its_memory(tab: Visit) -> None:
    page = composed(tab.see("/composer?user=ann"), budget="")
    page.get_by_role("region", name="Evidence").locator("a.cite").first.click()
    expect(page.get_by_role("region", name="History")).to_be_visible()


def test_what_cannot_be_composed_is_said_beside_the_form(tab: Visit) -> None:
    page = composed(tab.see("/composer?user=ann"), budget="5")
    expect(page.get_by_role("alert")).to_contain_text("give at least")


def test_on_a_phone_in_chinese(open_tab: Callable[..., Visit]) -> None:
    visit = open_tab(phone=True, dark=True, language="zh-CN")
    page = visit.see("/composer?session=泵房&user=王芳")
    page.get_by_role("textbox", name="消息", exact=True).fill("二号泵用什么密封圈？")
    page.get_by_role("button", name="组装").click()
    expect(page.get_by_role("region", name="最近的轮次")).to_contain_text("聚四氟乙烯")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.shot("composer-zh-dark-phone")
