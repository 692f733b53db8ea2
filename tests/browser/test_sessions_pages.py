"""The sessions, and one of them as a conversation."""

from playwright.sync_api import expect

from browsing import Visit
from web_story_said import DECIDED

TALK = "/sessions/view?id=pump-2/week&user=ann"


def test_the_list_leads_to_a_conversation(tab: Visit) -> None:
    page = tab.see("/sessions")
    expect(page.locator("article", has_text="泵房")).to_contain_text("2 messages")
    tab.shot("sessions")
    page.get_by_role("link", name="pump-2/week").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("pump-2/week")


def test_a_conversation_shows_who_said_what_and_what_was_learned(tab: Visit) -> None:
    page = tab.see(TALK)
    expect(page.locator(".said-user", has_text=DECIDED)).to_be_visible()
    expect(page.locator(".said-data", has_text="weather")).to_contain_text("in quarantine")
    call = page.locator("details.call", has_text="read_gauge")
    expect(call.get_by_text('"bar": 3.0')).to_be_hidden()
    call.locator("summary").click()
    expect(call.get_by_text('"bar": 3.0')).to_be_visible()
    expect(page.locator(".ref")).to_contain_text("logs/pump-2.csv")
    expect(page.get_by_role("region", name="Running summary")).to_contain_text("Where do we stand with pump 2?")
    tab.shot("session")
    page.get_by_role("list", name="Learned from this turn").get_by_role("link").filter(has_text="Viton").first.click()
    expect(page.get_by_text("Viton").first).to_be_visible()
