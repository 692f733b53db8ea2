"""A server with a story in it, and Debian's Chromium looking at its pages.

Every page is watched: an error on its console, a request to elsewhere, or a serious finding of axe fails the test. A
screenshot of each is kept in .build/screenshots, for people to look at.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, sync_playwright

from browser_program import chromium_path
from phronesis import Memory
from phronesis.interfaces.rest.serving import Serving
from phronesis.interfaces.serving import make_server
from web_story import tell

SCREENSHOTS = Path(__file__).parents[2] / ".build" / "screenshots"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync"]  # fmt: skip
GRAVE = {"serious", "critical"}


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A store with a story in it, which tests of pages share: what a test changes, it puts back."""
    url = f"sqlite:///{tmp_path_factory.mktemp('web') / 'memory.db'}"
    with Memory.open(url, policy={"embedder": "none", "conflict": {"default": "keep_both"}}) as memory:
        tell(memory)
        memory.flush()
        yield memory


@pytest.fixture(scope="session")
def server(store: Memory) -> Iterator[str]:
    """The address of a server of the store, without keys."""
    with serving(store) as address:
        yield address
