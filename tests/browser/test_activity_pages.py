"""Activity: a reader sees what an agent was shown and what became of it, and remembers what no rule recognised."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from browsing import Visit
from mcp_talk import Talk
from phronesis import Memory
from phronesis.interfaces.mcp import Options, make_mcp
from phronesis.store.activity_log import RequestRow, user_number
from phronesis.uuid7 import new_id

SAID = "The spare key is with the neighbours on the second floor."
TURN = {
    "messages": [
        {"role": "user", "content": SAID},
        {"role": "assistant", "content": "You seem to like keys."},
        {"role": "user", "content": "Ha, just kidding, I am the king of Spain!"},
    ]
}


@pytest.fixture(scope="module", autouse=True)
def _told(site: tuple[Memory, str]) -> None:
    """Compose contexts, call tools, and note requests."""
    memory, _ = site
    for words in ("I live in Paris.", "I am allergic to peanuts.", "I prefer tea to coffee."):
        memory.add(words, user_id="ann", agent_id="house-agent")
    memory.commit_turn("kitchen", TURN, user_id="ann")
    memory.commit_turn("厨房", {"messages": [{"role": "user", "content": "今天的公交车又晚点了"}]}, user_id="王芳")
    memory.compose_context("kitchen", "Where do I live?", user_id="ann", agent_id="house-agent")
    package = memory.compose_context("kitchen", "What do I drink?", user_id="ann", agent_id="house-agent")
    doubted = [one.citations[0] for one in package.system_blocks if "Paris" in one.text or "tea" in one.text]
    outcomes = dict.fromkeys(doubted, "contradicted")
    memory.commit_turn("kitchen", "No.", user_id="ann", context_id=package.context_id, outcomes=outcomes)
    memory.compose_context("厨房", "你好", user_id="王芳")
    memory.compose_context("first", "Hello", user_id="new")
    with Talk(make_mcp(memory, Options(user_id="ann"))) as talk:
        talk.text("search_memories", query="allergic to peanuts")
        talk.result("update_memory", id="01900000-0000-7000-8000-000000000000", content="x")
    _requests(memory)
    memory.add("I moved to Oslo.", user_id="ann")


def _requests(memory: Memory) -> None:
    now = datetime.now(UTC) - timedelta(hours=3)
    for n in range(40):
        at = int((now + timedelta(minutes=n)).timestamp() * 1_000_000)
        failed = n % 13 == 12
        row = RequestRow(
            request_id=new_id(),
            at=at,
            interface="http",
            route="POST /api/v1/turns" if n % 3 else "POST /api/v1/context",
            status="422" if failed else "201",
            failed=failed,
            milliseconds=4.0 + n * 1.7,
            key_id=None,
            owner=user_number("ann"),
        )
        memory.admin.components.activity.note_request(memory.admin.tenant, row)


def test_what_was_not_learned_is_remembered_and_taken_back(memory: Memory, visit: Visit) -> None:
    page = visit.see("/")
    page.get_by_role("link", name="Activity").click()
    page.get_by_role("link", name="Not learned").click()
    page.get_by_label("User", exact=True).fill("ann")
    page.locator(".filters button").click()
    row = page.get_by_role("article", name="The spare key")
    expect(row).to_contain_text("The wording is less certain than the policy asks")
    expect(page.get_by_text("You seem to like keys.")).to_have_count(0)
    visit.shot("unlearned")
    row.get_by_text("Remember it anyway").click()
    row.locator("textarea").fill("The spare key of ann's house is with the neighbours.")
    row.locator("select").select_option("fact")
    row.locator("form button").click()
    row = page.get_by_role("article", name="The spare key")
    expect(row).to_contain_text("remembered anyway")
    visit.shot("unlearned-remembered")
    (item,) = (one for one in memory.get_all(user_id="ann", kinds=["fact"]) if "neighbours" in one.content)
    assert item.metadata["remembered_from"]
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("article", name="The spare key")).to_contain_text("Remember it anyway")
    assert not [one for one in memory.get_all(user_id="ann", kinds=["fact"]) if "neighbours" in one.content]
    page.get_by_role("combobox", name="Said by").select_option("assistant")
    page.locator(".filters button").click()
    expect(page.get_by_role("article", name="You seem to like keys.")).to_contain_text("no source about the person")


def test_a_context_says_what_was_shown_and_what_became_of_it(visit: Visit) -> None:
    page = visit.see("/activity")
    expect(page.get_by_role("article")).to_have_count(5)
    expect(page.get_by_text("a user of whom nothing is stored")).to_be_visible()
    visit.shot("contexts")
    page.get_by_label("Agent").fill("house-agent")
    page.locator(".filters button").click()
    expect(page.get_by_role("article")).to_have_count(2)
    page.get_by_role("article").first.get_by_role("link", name="memories shown").click()
    system = page.get_by_role("region", name="System")
    paris = system.get_by_role("article").filter(has_text="I live in Paris")
    expect(paris).to_contain_text("ended since")
    expect(paris).to_contain_text("contradicted")
    expect(page.get_by_text("One of these changed or ended since.")).to_be_visible()
    visit.shot("context")
    paris.get_by_role("link", name="I live in Paris").click()
    expect(page.get_by_text("used 0×, contradicted 1×")).to_be_visible()
    page.get_by_role("link", name="Shown in contexts").click()
    expect(page.get_by_role("article")).to_have_count(2)
    page.get_by_role("article").first.get_by_role("link", name="kitchen").click()
    page.locator('a[href^="/activity?session"]').click()
    expect(page.get_by_role("article")).to_have_count(2)
    assert page.get_by_label("Session").input_value() == "kitchen"
    page = visit.see("/activity?session=kitchen")
    expect(page.get_by_role("alert")).to_contain_text("name a user or a namespace")


def test_what_was_contradicted_waits_on_the_first_page(visit: Visit) -> None:
    page = visit.see("/?user=ann")
    waits = page.get_by_role("region", name="Needs your attention")
    expect(waits.get_by_text("Contradicted in use")).to_have_count(1)  # the other ended since
    expect(waits.get_by_text("tea to coffee")).to_be_visible()


def test_requests_show_latencies_by_route_and_what_failed(visit: Visit) -> None:
    page = visit.see("/activity/requests")
    row = page.get_by_role("row").filter(has_text="POST /api/v1/turns")
    expect(row.get_by_role("cell").nth(0)).to_have_text("26")
    expect(page.get_by_role("row").filter(has_text="search_memories")).to_be_visible()
    visit.shot("requests")
    page.get_by_label("Only failed ones").check()
    page.locator(".filters button").click()
    expect(page.get_by_role("article").filter(has_text="update_memory")).to_contain_text("not_found")
    expect(page.get_by_role("article")).to_have_count(4)
    row.get_by_role("link").click()
    expect(page.get_by_role("article")).to_have_count(26)
    expect(page.get_by_role("article").first).to_contain_text("no key")
