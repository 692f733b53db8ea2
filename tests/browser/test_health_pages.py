"""Health and jobs: what is wrong, what to do about it, and what is still to be done."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browsing import Visit, served
from custom_store import failing, open_with
from phronesis.conversation import direct_statements
from phronesis.core.entries import Entry
from phronesis.engine.handler import Handler
from phronesis.errors import EntryFailed


def test_the_checks_and_the_policy_come_after_the_page(tab: Visit) -> None:
    page = tab.see("/health")
    checks = page.get_by_role("region", name="Checks")
    expect(checks.get_by_role("status")).to_contain_text("checks passed")
    expect(checks.get_by_role("row", name="The log is whole")).to_contain_text("0 breaks")
    policy = page.get_by_role("region", name="Policy in force")
    expect(policy.get_by_role("row", name="conflict.default")).to_contain_text("set when opened")
    tab.shot("health")


def test_what_failed_waits_on_the_first_page_and_is_tried_again(open_tab: Callable[..., Visit], tmp_path: Path) -> None:
    broken = [True]

    def bad(entry: Entry) -> bool:
        return broken[0] and "bad" in str(entry.payload)

    refused = Handler(verb="item", apply=failing(direct_statements.apply, bad))
    with open_with(f"sqlite:///{tmp_path / 'memory.db'}", [refused]) as memory, served(memory) as address:
        with pytest.raises(EntryFailed):
            memory.add("A bad day for the press.", kind="fact", user_id="lin")
        visit = open_tab(address=address)
        page = visit.see("/")
        page.get_by_role("link", name="1 entries could not be interpreted").click()
        failed = page.locator("article.job-failed")
        expect(failed).to_contain_text("tried")
        visit.shot("jobs")
        failed.get_by_role("button", name="Try again").click()
        expect(page.locator("#notices")).to_contain_text("failed again")
        broken[0] = False
        page.locator("article.job-failed").get_by_role("button", name="Try again").click()
        expect(page.locator("#notices")).to_contain_text("Interpreted")
        expect(page.locator("article.job-failed")).to_have_count(0)
        assert [item.content for item in memory.get_all(user_id="lin")] == ["A bad day for the press."]
