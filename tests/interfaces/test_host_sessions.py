"""Memory in each host, from its installation to its removal: two sessions that run what the installer wrote.

A driver reads the files of the host's configuration, as the host does, and gives what they name the host's own JSON.
What the model would be told is what the host takes from the answer: a host that ignores it is told nothing. OpenClaw's
plugin and Hermes' provider have tests of their own.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from mcp_talk import Talk
from node_runtime import find_node
from phronesis import Memory
from phronesis.interfaces.cli.dispatch import run

pytestmark = pytest.mark.slow

PROJECT = "/home/lin/engine"
SERVERS = {
    "claude-code": (".claude.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "opencode": (".config/opencode/opencode.json", "mcp"),
}
"""Where a host's MCP servers stand."""


# Hosts that run a command for each event.

EVENTS: dict[str, dict[str, str]] = {
    "claude-code": {
        "start": "SessionStart",
        "prompt": "UserPromptSubmit",
        "worked": "PostToolUse",
        "failed": "PostToolUseFailure",
        "compact": "PreCompact",
        "stop": "Stop",
    },
    "cursor": {
        "start": "sessionStart",
        "prompt": "beforeSubmitPrompt",
        "worked": "postToolUse",
        "failed": "postToolUse",
        "compact": "preCompact",
        "stop": "afterAgentResponse",
    },
}
EVENTS["codex"] = EVENTS["vscode"] = EVENTS["claude-code"] | {"failed": "PostToolUse"}

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "cursor": ".cursor/hooks.json",
    "vscode": ".copilot/hooks/phronesis.json",
}

IGNORED = {"cursor": {"beforeSubmitPrompt", "preCompact"}, "vscode": {"UserPromptSubmit", "PreCompact"}}
"""Events whose answers a host takes no context from."""


class HookedHost:
    """Claude Code, Codex, Cursor or VS Code."""

    def __init__(self, name: str, home: Path, folder: Path) -> None:
        self.name = name
        self.transcript = folder / "rollout.jsonl"
        self.calls = 0
        root = json.loads((home / FILES[name]).read_text(encoding="utf-8"))
        self.commands: dict[str, str] = {}
        for event, members in root["hooks"].items():
            for one in (each for member in members for each in member.get("hooks", [member])):
                if "phronesis" in one["command"]:
                    self.commands[event] = one["command"]

    def start(self, session: str) -> str:
        return self._call("start", session, source="new" if self.name == "vscode" else "startup")

    def prompt(self, session: str, text: str) -> str:
        told = self._call("prompt", session, prompt=text)
        said = {"text": "Noted."} if self.name == "cursor" else {"last_assistant_message": "Noted."}
        self._call("stop", session, **said)
        return told

    def ran(self, session: str, command: str, code: int, output: str) -> str:
        self.calls += 1
        tool = {"tool_name": "Bash", "tool_use_id": f"call-{self.calls}", "tool_input": {"command": command}}
        given: dict[str, Any] = {"tool_response": output}
        if self.name == "claude-code":
            given = {"tool_response": {"stdout": output, "stderr": "", "interrupted": False}}
            if code:
                given = {"error": f"Exit code {code}\n{output}", "is_interrupt": False}
        elif self.name == "cursor":
            given = {"tool_output": json.dumps({"exitCode": code, "stdout": output, "stderr": ""}), "duration": 3}
        elif self.name == "vscode" and code:
            given = {"tool_response": f"{output}\n\nCommand exited with code {code}"}
        elif self.name == "codex":
            item = {"type": "CommandExecution", "id": tool["tool_use_id"], "exit_code": code}
            with self.transcript.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"type": "event_msg", "payload": {"item": item}}) + "\n")
        return self._call("failed" if code else "worked", session, **tool, **given)

    def compact(self, session: str) -> str:
        self._call("compact", session, trigger="auto")
        if self.name in IGNORED:  # no session is started: the next tool is told
            return self.ran(session, "ls", 0, "Makefile")
        return self._call("start", session, source="compact")

    def _call(self, event: str, session: str, **payload: Any) -> str:
        name = EVENTS[self.name][event]
        common: dict[str, Any] = {"session_id": session, "cwd": PROJECT, "hook_event_name": name}
        if self.name == "cursor":
            common = {"conversation_id": session, "workspace_roots": [PROJECT], "hook_event_name": name}
        elif self.name == "vscode":
            common = {"sessionId": session, "cwd": PROJECT, "hookEventName": name}
        elif self.name == "codex":
            common["transcript_path"] = str(self.transcript)
        done = subprocess.run(
            shlex.split(self.commands[name]),
            input=json.dumps(common | payload),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == ""
        answer = json.loads(done.stdout or "{}")
        if name in IGNORED.get(self.name, ()):
            return ""
        if self.name == "cursor":
            return str(answer.get("additional_context", ""))
        output = answer.get("hookSpecificOutput", {})
        assert not output or output["hookEventName"] == name
        return str(output.get("additionalContext", ""))


# A host that loads a module: a process that reads calls as lines, and writes what the model is told.


class LoadedHost:
    """opencode."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def start(self, session: str) -> str:
        return self._call("start", session=session)

    def prompt(self, session: str, text: str) -> str:
        return self._call("prompt", session=session, text=text)

    def ran(self, session: str, command: str, code: int, output: str) -> str:
        return self._call("ran", session=session, command=command, code=code, output=output)

    def compact(self, session: str) -> str:
        return self._call("compact", session=session)

    def _call(self, name: str, **given: Any) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"call": name, **given}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        return str(json.loads(line))


_OPENCODE = """
import { createInterface } from "node:readline"
import { Phronesis } from "./phronesis.mjs"
const reply = { info: { role: "assistant" }, parts: [{ type: "text", text: "Noted." }] }
const client = { session: { messages: async () => ({ data: [reply] }) } }
const plugin = await Phronesis({ client, directory: process.argv[2] })
let count = 0
const calls = {
  start: () => "",
  async prompt({ session, text }) {
    const output = { message: { id: `m${++count}` }, parts: [{ type: "text", text }] }
    await plugin["chat.message"]({ sessionID: session }, output)
    await plugin.event({ event: { type: "session.idle", properties: { sessionID: session } } })
    return output.parts.slice(1).map((part) => part.text).join("")
  },
  async ran({ session, command, code, output }) {
    const call = { tool: "bash", sessionID: session, callID: `c${++count}`, args: { command } }
    const result = { title: "", output, metadata: { exit: code } }
    await plugin["tool.execute.after"](call, result)
    return result.output.slice(output.length)
  },
  async compact({ session }) {
    const output = { context: [] }
    await plugin["experimental.session.compacting"]({ sessionID: session }, output)
    return output.context.join("")
  },
}
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line)
  console.log(JSON.stringify((await calls[given.call](given)) ?? ""))
}
"""


@contextmanager
def opened_host(name: str, home: Path, folder: Path) -> Iterator[HookedHost | LoadedHost]:
    """Start a host with what was installed in a home folder; ``folder`` is for the files of its driver."""
    folder.mkdir()
    if name in FILES:
        yield HookedHost(name, home, folder)
        return
    # opencode runs on Bun; Node takes the ending for the form of the module.
    shutil.copy(home / ".config/opencode/plugins/phronesis.js", folder / "phronesis.mjs")
    (folder / "driver.mjs").write_text(_OPENCODE, encoding="utf-8")
    command = [find_node(types=False), str(folder / "driver.mjs"), PROJECT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield LoadedHost(process)
        finally:
            process.communicate(timeout=60)


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


@pytest.mark.parametrize("name", SERVERS)
def test_a_host_remembers_from_session_to_session_and_is_left_as_it_was(
    home: Path, url: str, tmp_path: Path, name: str
) -> None:
    assert run(["install", name, "--user", "lin", "--url", url]) == 0
    with opened_host(name, home, tmp_path / "driver") as host:
        assert host.start("one") == ""
        assert host.prompt("one", "The staging server is called preprod. I'm allergic to acetone.") == ""
        assert host.ran("one", "make all", 2, "no rule to make target") == ""
        assert host.ran("one", "make", 0, "built") == ""
        settle(url)
        assert "make all: no rule to make target" in host.compact("one")

        told = host.start("two") + host.prompt("two", "Which is the staging server?")
        if name in IGNORED:  # the host takes nothing before a prompt: the model calls the tool
            assert "acetone" in told
            told += search(home, name, "staging server")
        assert "acetone" in told
        assert "preprod" in told

        before = host.prompt("two", "Build the engine with make all.")
        assert ("attempt: make" in before) is (name not in IGNORED)
        assert "What worked then:\n- make" in host.ran("two", "make all", 2, "no rule to make target")
        assert "preprod" in search(home, name, "staging")
    assert run(["uninstall", name]) == 0
    assert list(home.iterdir()) == []
