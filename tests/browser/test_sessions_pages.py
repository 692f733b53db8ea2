"""The sessions, and one of them as a conversation."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from web_story import DECIDED

TALK = "/sessions/view?id=pump-2/week&user=ann"


def test_sessions_are_found_by_title_first_words_and_what_was_said(tab: Visit, store: Memory) -> None:
    asked = {"role": "user", "content": "Plan three days in Rome, please.", "id": "rome-0"}
    answered = {"role": "assistant", "content": "Begin with the Pantheon before noon.", "id": "rome-1"}
    turn = {"messages": [asked, answered], "session_metadata": {"title": "A trip to Italy"}}
    store.commit_turn("chat-rome", turn, user_id="tourist")
    page = tab.see("/sessions")
    expect(page.locator("article", has_text="泵房")).to_contain_text("2 messages")
    expect(page.get_by_role("link", name="Where do we stand with pump 2?")).to_be_visible()
    tab.shot("sessions")
    page.get_by_label("Search", exact=True).fill("Pantheon")
    page.get_by_role("main").get_by_role("button", name="Apply").click()
    found = page.locator("article")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("A trip to Italy")
    expect(found).to_contain_text("Plan three days in Rome, please.")
    found.get_by_role("link", name="Begin with the Pantheon before noon.").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A trip to Italy")
    expect(page.locator("article:target")).to_contain_text("Pantheon")
    for query, count in (("q=italy", 1), ("user=tourist&until=2020-01-01", 0), ("user=tourist&since=2020-01-01", 1)):
        expect(tab.see(f"/sessions?{query}").locator("article")).to_have_count(count)


def test_a_conversation_shows_who_said_what_and_what_was_learned(tab: Visit) -> None:
    page = tab.see(TALK)
    expect(page.locator(".said-user", has_text=DECIDED)).to_be_visible()
    expect(page.locator(".said-data", has_text="weather")).to_contain_text("in quarantine")
    call = page.locator("details.call", has_text="read_gauge")
    expect(call.get_by_text("3.0")).to_be_hidden()
    expect(call.locator("summary")).to_contain_text("pump: 2")
    call.locator("summary").click()
    expect(call.get_by_text("3.0")).to_be_visible()
    expect(page.locator(".ref")).to_contain_text("logs/pump-2.csv")
    expect(page.get_by_role("region", name="Running summary")).to_contain_text("Where do we stand with pump 2?")
    tab.shot("session")
    learned = page.locator(".said-user", has_text=DECIDED).locator("+ .learned")
    expect(learned).to_have_accessible_name("Learned from this message")
    learned.get_by_role("link").filter(has_text="Viton").first.click()
    expect(page.get_by_text("Viton").first).to_be_visible()


def test_a_session_is_exported_and_erased(tab: Visit, store: Memory) -> None:
    store.commit_turn("chat-bulb", [{"role": "user", "content": "The spare bulb is in drawer 4."}], user_id="bulb")
    page = tab.see("/sessions/view?id=chat-bulb&user=bulb")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    assert download.value.suggested_filename == "chat-bulb.jsonl"
    (turn,) = map(json.loads, Path(download.value.path()).read_text("utf-8").splitlines())
    assert turn["messages"][0]["content"] == "The spare bulb is in drawer 4."
    page.get_by_text("Delete this session").click()
    page.get_by_label(re.compile("to confirm")).fill("chat-bulb")
    page.get_by_role("button", name="Erase permanently").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    assert not store.get_all(user_id="bulb", kinds=["message"])
    assert not store.sessions.turns("chat-bulb", user_id="bulb")
