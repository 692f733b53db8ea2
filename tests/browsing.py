"""Tabs of a browser that are watched, and servers for them to look at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from fastapi import FastAPI
from playwright.sync_api import Page

from loopback_server import served_api
from phronesis import Memory
from phronesis.interfaces.authentication import Authenticator
from phronesis.interfaces.web.mounting import mount

BUILD = Path(__file__).parents[1] / ".build"
BROWSER_ARGUMENTS = """
    --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync
""".split()
GRAVE = {"serious", "critical"}
PATIENCE = 10_000  # milliseconds


@contextmanager
def served(memory: Memory, *, keys_required: bool = False) -> Iterator[str]:
    """Serve a store's pages from a thread; gives the address."""
    app = FastAPI(openapi_url=None)
    mount(app, Authenticator(memory, keys_required=keys_required))
    with served_api(app) as address:
        yield address


@contextmanager
def own_site(folder: Path) -> Iterator[tuple[Memory, str]]:
    """Open an empty store in a folder and serve its pages; gives it and the address."""
    url = f"sqlite:///{folder / 'memory.db'}"
    with Memory.open(url, policy={"embedder": "none"}) as memory, served(memory) as address:
        yield memory, address


@dataclass
class Visit:
    """A tab, and what was wrong with it."""

    page: Page
    address: str
    wrong: list[str] = field(default_factory=list)

    def see(self, path: str) -> Page:
        """Open a page of the server, and wait until nothing is asked for any more."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def shot(self, name: str) -> None:
        """Let axe look at the page: no serious finding is let pass. Keep a picture of it where somebody wants them."""
        if os.environ.get("PHRONESIS_SCREENSHOTS"):
            folder = BUILD / "screenshots"
            folder.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=folder / f"{name}.png", full_page=True)
        found = Axe().run(self.page).response["violations"]
        grave = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found if one["impact"] in GRAVE]
        assert grave == [], grave


def is_elsewhere(url: str, host: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https", "ws", "wss"} and parts.netloc != host
