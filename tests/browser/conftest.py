"""A server with a story in it, and Chromium looking at its pages.

Every page is watched: an error on its console, a request to elsewhere, or a serious finding of axe fails the test. With
PHRONESIS_SCREENSHOTS set, a screenshot of each is kept in .build/screenshots, for people to look at.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from browser_program import chromium_path
from browsing import BROWSER_ARGUMENTS, BUILD, PATIENCE, Visit, is_elsewhere, own_site, served
from phronesis import Memory
from web_story import tell

WIDE, PHONE = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What drives a browser is slow."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A store with a story in it, which the tests of pages share: what one changes, it changes for itself alone."""
    url = f"sqlite:///{tmp_path_factory.mktemp('web') / 'memory.db'}"
    with Memory.open(url, policy={"embedder": "none", "conflict": {"default": "keep_both"}}) as memory:
        tell(memory)
        memory.flush()
        yield memory


@pytest.fixture(scope="session")
def address(store: Memory) -> Iterator[str]:
    """The address of a server of the story, without keys."""
    with served(store) as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser, started once for each file: while it runs, no other test may run a loop of its own in this thread."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "chromium.lock").open("w") as lock:  # one process installs it, where it has to be installed
        fcntl.flock(lock, fcntl.LOCK_EX)
        path = chromium_path()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium, and none can be installed: apt-get install chromium")
        pytest.skip("there is no Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_tab(chromium: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Open tabs: ``open_tab(phone=True, dark=True, language="zh-CN", address=…)``; errors in them fail the test."""
    visits: list[Visit] = []
    contexts = []

    def open_one(*, phone: bool = False, dark: bool = False, language: str = "en-US", address: str = address) -> Visit:
        context = chromium.new_context(
            viewport=PHONE if phone else WIDE, color_scheme="dark" if dark else "light", locale=language
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        visit = Visit(context.new_page(), address)
        host = urlsplit(address).netloc
        visit.page.on("console", lambda said: visit.wrong.append(said.text) if said.type == "error" else None)
        visit.page.on("pageerror", lambda error: visit.wrong.append(str(error)))
        visit.page.on("request", lambda one: visit.wrong.append(one.url) if is_elsewhere(one.url, host) else None)
        visit.page.on("dialog", lambda dialog: dialog.accept())
        visits.append(visit)
        return visit

    yield open_one
    for context in contexts:
        context.close()
    assert [one for visit in visits for one in visit.wrong] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, str]]:
    """A store of a file's own, for what is told or decided in it; and its address."""
    with own_site(tmp_path_factory.mktemp("site")) as opened:
        yield opened


@pytest.fixture
def memory(site: tuple[Memory, str]) -> Memory:
    """The store of a file's own."""
    return site[0]


@pytest.fixture
def visit(open_tab: Callable[..., Visit], site: tuple[Memory, str]) -> Visit:
    """A tab at the store of a file's own."""
    return open_tab(address=site[1])


@pytest.fixture
def tab(open_tab: Callable[..., Visit]) -> Visit:
    """A tab as most have it: wide, light, English."""
    return open_tab()
