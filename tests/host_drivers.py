"""The hosts that memory is installed in, as far as a test needs them: each runs what the installer wrote for it.

A driver reads the files of the host's configuration, as the host does, and gives what they name the host's own JSON.
What the model would be told is what the host takes from the answer: a host that ignores it is told nothing.
"""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from node_runtime import find_node

PROJECT = "/home/lin/engine"


class Host(Protocol):
    """A host whose model says "Noted." and whose shell gives what it is told to."""

    def start(self, session: str) -> str:
        """Start a session; return what the model is told."""
        ...

    def prompt(self, session: str, text: str) -> str:
        """Send a prompt, and answer it; return what the model is told with it."""
        ...

    def ran(self, session: str, command: str, code: int, output: str) -> str:
        """Tell of a command that was run; return what the model is told beside its output."""
        ...

    def compact(self, session: str) -> str:
        """Compact a session, and go on; return what the model is told."""
        ...


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
            for one in (run for member in members for run in member.get("hooks", [member])):
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


# Hosts that load a module: a process that reads calls as lines, and writes what the model is told.


class LoadedHost:
    """opencode, OpenClaw or Hermes."""

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


@contextmanager
def loaded(*command: str) -> Iterator[LoadedHost]:
    """Run a process that is a host, for the duration of the block."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield LoadedHost(process)
        finally:
            process.communicate(timeout=60)


_LINES = """
import { createInterface } from "node:readline"
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line)
  console.log(JSON.stringify((await calls[given.call](given)) ?? ""))
}
"""

_OPENCODE = """
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
"""

_OPENCLAW = """
import plugin from "./index.ts"
const handlers = {}
let middleware
plugin.register({
  pluginConfig: JSON.parse(process.argv[2]),
  logger: { warn: (text) => console.error(text) },
  on: (name, handler) => (handlers[name] = handler),
  registerAgentToolResultMiddleware: (handler) => (middleware = handler),
  registerTool: () => {},
  registerMemoryCapability: () => {},
})
let count = 0
async function ask(session, text, messages = []) {
  const event = { prompt: text, currentUserMessage: text, currentUserMessageId: `m${++count}`, messages }
  const added = await handlers.before_prompt_build(event, { sessionId: session, trigger: "user" })
  const reply = { role: "assistant", content: [{ type: "text", text: "Noted." }] }
  const ended = { messages: [{ role: "user", content: text }, reply], success: true }
  await handlers.agent_end(ended, { sessionId: session })
  return [added?.appendSystemContext, added?.prependContext].filter(Boolean).join("\\n")
}
const calls = {
  start: () => "",
  prompt: ({ session, text }) => ask(session, text),
  async ran({ session, command, code, output }) {
    const text = code ? `${output}\\n\\n(Command exited with code ${code})` : output
    const result = { content: [{ type: "text", text }], details: { status: "completed", exitCode: code } }
    const event = { toolCallId: `c${++count}`, toolName: "exec", args: { command }, result }
    const changed = await middleware(event, { runtime: "openclaw", sessionId: session })
    return changed?.result.content.slice(1).map((part) => part.text).join("")
  },
  compact: ({ session }) => ask(session, "go on", [{ role: "compactionSummary", summary: "…" }]),
}
"""

_HERMES = """
import abc, importlib.util, json, sys, types
package, module = types.ModuleType("agent"), types.ModuleType("agent.memory_provider")
module.MemoryProvider = abc.ABC  # Hermes' own base class is in the conformance tests
sys.modules |= {"agent": package, "agent.memory_provider": module}
home = sys.argv[1]
spec = importlib.util.spec_from_file_location("provider", home + "/plugins/phronesis/__init__.py")
loaded = importlib.util.module_from_spec(spec)
spec.loader.exec_module(loaded)
held = []
loaded.register(types.SimpleNamespace(register_memory_provider=held.append))
(provider,) = held
provider.initialize("none", hermes_home=home, platform="cli")

def start(session):
    provider.on_session_switch(session)
    return provider.system_prompt_block()

def prompt(session, text):
    told = provider.prefetch(text, session_id=session)
    provider.sync_turn(text, "Noted.", session_id=session)
    return told

def ran(session, command, code, output):
    function = {"name": "terminal", "arguments": json.dumps({"command": command})}
    call = {"id": f"{session}-{command}", "type": "function", "function": function}
    messages = [
        {"role": "user", "content": "build it"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"output": output, "exit_code": code})},
    ]
    provider.sync_turn("build it", "Done.", session_id=session, messages=messages)
    return ""

def compact(session):
    provider.on_session_switch(session)
    return provider.on_pre_compress([])

for line in sys.stdin:
    given = json.loads(line)
    print(json.dumps(globals()[given.pop("call")](**given)), flush=True)
provider.shutdown()
"""


@contextmanager
def opened_host(name: str, home: Path, folder: Path) -> Iterator[Host]:
    """Start a host with what was installed in a home folder; ``folder`` is for the files of its driver."""
    folder.mkdir()
    if name in FILES:
        yield HookedHost(name, home, folder)
        return
    driver = folder / ("driver.py" if name == "hermes" else "driver.mjs")
    if name == "hermes":
        driver.write_text(_HERMES, encoding="utf-8")
        command = [sys.executable, str(driver), str(home / ".hermes")]
    elif name == "opencode":
        # opencode runs on Bun; Node takes the ending for the form of the module.
        shutil.copy(home / ".config/opencode/plugins/phronesis.js", folder / "phronesis.mjs")
        driver.write_text(_OPENCODE + _LINES, encoding="utf-8")
        command = [find_node(types=False), str(driver), PROJECT]
    else:
        plugins = json.loads((home / ".openclaw/openclaw.json").read_text(encoding="utf-8"))["plugins"]
        assert plugins["slots"]["memory"] == "phronesis"
        (source,) = plugins["load"]["paths"]
        shutil.copy(Path(source) / "index.ts", folder)  # Node runs no TypeScript beside CommonJS
        driver.write_text(_OPENCLAW + _LINES, encoding="utf-8")
        command = [find_node(), str(driver), json.dumps(plugins["entries"]["phronesis"]["config"])]
    with loaded(*command) as host:
        yield host


def call_tool(command: list[str], name: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool of an MCP server that a host starts; return its text."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": name, "arguments": dict(arguments)}},
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                break
        process.stdin.close()
        process.wait(timeout=60)
    return "\n".join(part["text"] for part in answer["result"]["content"])
