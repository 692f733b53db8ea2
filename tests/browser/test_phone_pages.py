"""Each page on a phone, dark and in Chinese: nothing is wider than the screen, and a reader can change the language."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from browsing import Visit
from phronesis import Memory
from web_story import LAB, RAN, RUNNER


@pytest.fixture
def phone(open_tab: Callable[..., Visit]) -> Visit:
    return open_tab(phone=True, dark=True, language="zh-CN")


def fits(phone: Visit, name: str) -> None:
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.shot(f"{name}-zh-dark-phone")


@pytest.mark.parametrize(
    ("name", "path", "shown"),
    [
        ("memories", "/memories?user=ann", ("button", "归档")),
        ("new-memory", "/memories/new", ("button", "记住")),
        ("error", "/memories/01900000-0000-7000-8000-000000000000", ("heading", "没有找到")),
        ("graph", "/experience/walk", ("heading", "经验图谱")),
        ("health", "/health", ("region", "检查")),
        ("trait", "/memories/{trait}", ("heading", "置信度变化")),
        ("person", f"/people/view?id={RUNNER}", ("button", "立即反思")),
        ("quarantine", "/quarantine", ("button", "放行")),
        ("run", f"/runs/view?id=run-acid&namespace={LAB}", ("img", "Benzoic Acid 的结构")),
        ("sessions", "/sessions?q=密封圈", ("link", "二号泵用什么密封圈？")),
        ("contexts", "/activity", ("link", "上下文记录")),
        ("unlearned", "/activity/unlearned", ("article", "Where do we stand")),
        ("requests", "/activity/requests", ("link", "请求记录")),
        ("entity-graph", "/entities/graph?user=王芳", ("img", "图谱")),
        ("session", "/sessions/view?id=pump-2/week&user=ann", ("region", "会话摘要")),
    ],
)
def test_it_fits(phone: Visit, store: Memory, name: str, path: str, shown: tuple[Any, str]) -> None:
    store.runs.review("run-acid", namespace=LAB)  # what another test erased took its answer along
    (trait,) = (one for one in store.get_user_traits(RUNNER, "trend") if one.content == RAN)
    page = phone.see(path.format(trait=trait.id))
    role, words = shown
    expect(page.get_by_role(role, name=words).first).to_be_visible()
    fits(phone, name)
    phone.wrong[:] = [one for one in phone.wrong if not one.startswith("Failed to load resource")]  # the error's page


def test_a_document(phone: Visit) -> None:
    page = phone.see("/resources")
    page.get_by_role("link", name="Pump manual").click()
    page.get_by_role("link", name="改了什么").click()
    expect(page.get_by_role("region", name="第 2 版的改动")).to_be_visible()
    fits(phone, "document")


def test_a_context(phone: Visit) -> None:
    page = phone.see("/composer?session=泵房&user=王芳")
    page.get_by_role("textbox", name="消息", exact=True).fill("二号泵用什么密封圈？")
    page.get_by_role("button", name="组装").click()
    expect(page.get_by_role("region", name="最近的轮次")).to_contain_text("聚四氟乙烯")
    fits(phone, "composer")


def test_filters_are_folded_away(phone: Visit) -> None:
    page = phone.see("/memories?user=ann")
    expect(page.get_by_label("类型")).to_be_hidden()
    page.get_by_text("筛选").click()
    page.get_by_label("类型").select_option("decision")
    expect(page.locator("#found article").first).to_contain_text("决定")
    page.locator("#found article").first.get_by_role("checkbox").check()
    expect(page.locator(".chosen").get_by_role("button", name="归档", exact=True)).to_be_visible()
    fits(phone, "selection")


def test_the_menu_and_the_language(phone: Visit) -> None:
    page = phone.see("/?span=month")
    expect(page.get_by_role("heading", name="概览")).to_be_visible()
    fits(phone, "home")
    page.get_by_role("button", name="菜单").click()
    page.get_by_role("link", name="记忆", exact=True).click()
    expect(page.get_by_role("heading", name="记忆")).to_be_visible()
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
