"""Memory in each host, from its installation to its removal: two sessions that run what the installer wrote.

The forms in which each host gives its hooks what happened are in `test_hooks`. OpenClaw's plugin and Hermes' provider
have tests of their own.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from mcp_talk import Talk
from node_runtime import find_node
from phronesis import Memory
from phronesis.adapters.hook_call import EVENTS
from phronesis.interfaces.cli.dispatch import run

pytestmark = pytest.mark.slow

PROJECT = "/home/lin/engine"
HOOKS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "vscode": ".copilot/hooks/phronesis.json",
}
"""Where a host's hooks stand."""
SERVERS = {
    "claude-code": (".claude.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
}
"""Where a host's MCP servers stand."""


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


def search(home: Path, host: str, query: str) -> str:
    """Return what a search gives of the MCP server that a host starts."""
    name, member = SERVERS[host]
    text = (home / name).read_text(encoding="utf-8")
    root: dict[str, Any] = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    entry = root[member]["phronesis"]
    words = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    with Talk(StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))) as talk:
        return str(talk.text("search_memories", query=query))


def hook_commands(home: Path, host: str) -> dict[str, list[str]]:
    """Return the commands of a host's hooks, word by word, by our name of the event."""
    members = json.loads((home / HOOKS[host]).read_text(encoding="utf-8"))["hooks"].values()
    hooks = [hook for listed in members for member in listed for hook in member.get("hooks", [member])]
    commands = [shlex.split(hook["command"]) for hook in hooks]
    return {words[words.index("hook") + 1]: words for words in commands}


def call_hook(command: list[str], session: str, **payload: Any) -> str:
    given = json.dumps({"session_id": session, "cwd": PROJECT, **payload})
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", HOOKS)
def test_a_host_remembers_from_session_to_session_and_is_left_as_it_was(home: Path, url: str, name: str) -> None:
    assert run(["install", name, "--user", "lin", "--url", url]) == 0
    commands = hook_commands(home, name)
    assert set(commands) == set(EVENTS)
    failed = {"tool_name": "Bash", "tool_input": {"command": "make all"}, "error": "no rule to make target"}
    worked = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": {"exit_code": 0}}
    said = "The staging server is called preprod. I'm allergic to acetone."
    assert call_hook(commands["prompt"], "one", prompt=said) == ""
    assert call_hook(commands["stop"], "one", last_assistant_message="Noted.") == ""
    assert call_hook(commands["post-tool"], "one", tool_use_id="c1", **failed) == ""
    assert call_hook(commands["post-tool"], "one", tool_use_id="c2", **worked) == ""
    assert call_hook(commands["pre-compact"], "one") == ""
    settle(url)
    assert "acetone" in call_hook(commands["session-start"], "two", source="startup")
    assert "preprod" in call_hook(commands["prompt"], "two", prompt="Which is the staging server?")
    assert "attempt: make" in call_hook(commands["prompt"], "two", prompt="Build the engine with make all.")
    assert "What worked then:\\n- make" in call_hook(commands["post-tool"], "two", tool_use_id="c3", **failed)
    assert "preprod" in search(home, name, "staging")
    assert run(["uninstall", name]) == 0
    assert list(home.iterdir()) == []


_OPENCODE = """
import { Phronesis } from "./phronesis.mjs"
const reply = { info: { role: "assistant" }, parts: [{ type: "text", text: "Noted." }] }
const client = { session: { messages: async () => ({ data: [reply] }) } }
const plugin = await Phronesis({ client, directory: process.argv[2] })
let count = 0
async function prompt(session, text) {
  const output = { message: { id: `m${++count}` }, parts: [{ type: "text", text }] }
  await plugin["chat.message"]({ sessionID: session }, output)
  await plugin.event({ event: { type: "session.idle", properties: { sessionID: session } } })
  return output.parts.slice(1).map((part) => part.text).join("")
}
async function ran(session, command, code, output) {
  const call = { tool: "bash", sessionID: session, callID: `c${++count}`, args: { command } }
  const result = { title: "", output, metadata: { exit: code } }
  await plugin["tool.execute.after"](call, result)
  return result.output.slice(output.length)
}
async function compact(session) {
  const output = { context: [] }
  await plugin["experimental.session.compacting"]({ sessionID: session }, output)
  return output.context.join("")
}
const out = {}
%s
console.log(JSON.stringify(out))
"""


def play(home: Path, folder: Path, story: str) -> dict[str, str]:
    """Load the installed plugin as opencode does, and play a story; return what the model is told."""
    # opencode runs on Bun; Node takes the ending for the form of the module.
    shutil.copy(home / ".config/opencode/plugins/phronesis.js", folder / "phronesis.mjs")
    (folder / "driver.mjs").write_text(_OPENCODE % story, encoding="utf-8")
    command = [find_node(types=False), str(folder / "driver.mjs"), PROJECT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


_FIRST = """
out.first = await prompt("one", "The staging server is called preprod.")
out.failed = await ran("one", "make all", 2, "no rule to make target")
out.worked = await ran("one", "make", 0, "built")
"""
_SECOND = """
out.compacted = await compact("one")
out.asked = await prompt("two", "Which is the staging server?")
out.failed = await ran("two", "make all", 2, "no rule to make target")
"""


def test_opencode_remembers_from_session_to_session_and_is_left_as_it_was(home: Path, url: str, tmp_path: Path) -> None:
    assert run(["install", "opencode", "--user", "lin", "--url", url]) == 0
    assert set(play(home, tmp_path, _FIRST).values()) == {""}
    settle(url)
    out = play(home, tmp_path, _SECOND)
    assert "make all: no rule to make target" in out["compacted"]
    assert "preprod" in out["asked"]
    assert "What worked then:\n- make" in out["failed"]
    assert "preprod" in search(home, "opencode", "staging")
    assert run(["uninstall", "opencode"]) == 0
    assert list(home.iterdir()) == []
