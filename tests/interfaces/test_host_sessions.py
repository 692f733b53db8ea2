"""Memory in each host, from its installation to its removal: two sessions that run what the installer wrote."""

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from host_drivers import IGNORED, call_tool, opened_host
from phronesis import Memory
from phronesis.interfaces.cli.dispatch import run
from phronesis.interfaces.hosts import HOSTS
from served import serving

pytestmark = pytest.mark.slow

SERVERS = {
    "claude-code": (".claude.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
}
"""Where a host's MCP servers stand."""

OPTIONS = {"openclaw": ("--namespace", "engine"), "hermes": ("--namespace", "engine")}
"""Of hosts that work in no project's folder."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder, and the folder of sockets of a user of its own."""
    folder = tempfile.mkdtemp(prefix="ph-")
    given = {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": folder, "XDG_DATA_HOME": str(tmp_path / "home/data")}
    for name, value in (given | {"PHRONESIS_EMBEDDER": "none"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PHRONESIS_DAEMON", raising=False)
    (tmp_path / "home").mkdir()
    yield tmp_path / "home"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(home: Path, tmp_path: Path) -> Iterator[str]:
    """The URL of a store whose daemon ends with the test."""
    assert home.exists()
    given = f"sqlite:///{tmp_path / 'h.db'}"
    subprocess.run([sys.executable, "-m", "phronesis", "daemon", "start", "--url", given], check=True, timeout=90)
    yield given
    run(["daemon", "stop", "--url", given])


def settle(url: str) -> None:
    """Interpret what was recorded: a host waits for a user, a test does not."""
    with Memory.open(url) as memory:
        memory.flush()


def server_command(home: Path, host: str) -> list[str]:
    """Return the command of the MCP server that a host starts."""
    name, member = SERVERS[host]
    text = (home / name).read_text(encoding="utf-8")
    root: dict[str, Any] = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    entry = root[member]["phronesis"]
    return entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_remembers_from_session_to_session_and_is_left_as_it_was(
    home: Path, url: str, tmp_path: Path, name: str
) -> None:
    with ExitStack() as ends:
        address = ends.enter_context(serving(url)).url if name == "openclaw" else url
        assert run(["install", name, "--user", "lin", "--url", address, *OPTIONS.get(name, ())]) == 0
        host = ends.enter_context(opened_host(name, home, tmp_path / "driver"))

        assert host.start("one") == ""
        assert host.prompt("one", "The staging server is called preprod. I'm allergic to acetone.") == ""
        assert host.ran("one", "make all", 2, "no rule to make target") == ""
        assert host.ran("one", "make", 0, "built") == ""
        settle(url)
        assert "make all: no rule to make target" in host.compact("one")

        told = host.start("two") + host.prompt("two", "Which is the staging server?")
        if name in IGNORED:  # the host takes nothing before a prompt: the model calls the tool
            assert "acetone" in told
            told += call_tool(server_command(home, name), "search_memories", {"query": "staging server"})
        assert "acetone" in told
        assert "preprod" in told

        before = host.prompt("two", "Build the engine with make all.")
        assert ("attempt: make" in before) is (name not in IGNORED)
        lesson = host.ran("two", "make all", 2, "no rule to make target")
        # Hermes tells of its tools at the end of a turn: there the lesson comes with the prompt alone.
        assert ("What worked then:\n- make" in lesson) is (name != "hermes")
        if name in SERVERS:
            assert "preprod" in call_tool(server_command(home, name), "search_memories", {"query": "staging"})
    assert run(["uninstall", name]) == 0
    assert list(home.iterdir()) == []
