"""The plugin of OpenClaw: its manifest, and what it does between OpenClaw's calls and a server, run by Node."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopback_server import served_api
from node_runtime import find_node
from phronesis import Memory, __version__
from phronesis.config.server import Serving
from phronesis.core.data_delimiters import OFF_RECORD
from phronesis.interfaces.hosts import HOSTS, NAME, Caller
from phronesis.interfaces.http.app import make_app

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations/openclaw"

_DRIVER = """
import plugin from %s
const handlers = {}, tools = {}, warnings = [], capability = {}
let middleware
plugin.register({
  pluginConfig: %s,
  logger: { warn: (text) => warnings.push(text) },
  on: (name, handler) => (handlers[name] = handler),
  registerAgentToolResultMiddleware: (handler) => (middleware = handler),
  registerTool: (tool) => (tools[tool.name] = tool),
  registerMemoryCapability: (given) => Object.assign(capability, given),
})
let count = 0
async function ask(sessionId, text, more = {}, messages = []) {
  const event = { prompt: `[Sun] ${text}`, currentUserMessage: text, currentUserMessageId: `m${++count}`, messages }
  const added = await handlers.before_prompt_build(event, { sessionId, trigger: "user", ...more })
  const reply = { role: "assistant", content: [{ type: "text", text: "Noted." }] }
  await handlers.agent_end({ messages: [{ role: "user", content: text }, reply], success: true }, { sessionId })
  return added
}
async function exec(sessionId, command, exitCode, output) {
  const text = exitCode ? `${output}\\n\\n(Command exited with code ${exitCode})` : output
  const result = { content: [{ type: "text", text }], details: { status: "completed", exitCode } }
  const event = { toolCallId: `c${++count}`, toolName: "exec", args: { command }, result }
  const changed = await middleware(event, { runtime: "openclaw", sessionId })
  return changed?.result.content.map((part) => part.text)
}
const use = async (name, given) => (await tools[name].execute("t1", given)).details
const out = { names: Object.keys(tools) }
%s
out.warnings = warnings
console.log(JSON.stringify(out))
"""

_STORY = """
out.prompt = capability.promptBuilder({ availableTools: new Set(["memory_search"]) })
out.first = await ask("one", "The staging server is called preprod. <private>a<private>b</private> hunter2</private>")
out.failed = await exec("one", "make all", 2, "no rule")
out.unrelated = await exec("one", "ls", 0, "a")
out.worked = await exec("one", "make", 0, "built")
out.compacted = await ask("one", "go on", {}, [{ role: "compactionSummary", summary: "…" }])
out.second = await ask("two", "Which is the staging server?")
out.secret = await ask("two", "My PIN is 4711. Please don’t remember this!")
out.nothing = await ask("two", "ok", { trigger: "heartbeat" })
out.lesson = await exec("two", "make all", 2, "no rule")
out.found = await use("memory_search", { query: "staging server", maxResults: 3 })
out.told = out.found.results.find((one) => one.snippet.includes("preprod"))
out.read = await use("memory_get", { path: out.told.path })
out.missing = await use("memory_get", { path: "phronesis/none" })
"""

_ALONE = """
out.first = await ask("one", "The staging server is called preprod.")
out.failed = await exec("one", "make all", 2, "no rule")
out.found = await use("memory_search", { query: "staging server" })
out.read = await use("memory_get", { path: "phronesis/none" })
"""


def drive(tmp_path: Path, story: str, **config: Any) -> dict[str, Any]:
    """Register the plugin with a host of our own that plays a story; return what came of it."""
    program, entry = find_node(), tmp_path / "index.ts"  # Node runs no TypeScript under node_modules or beside CommonJS
    shutil.copy(PLUGIN / "index.ts", entry)
    driver = tmp_path / "driver.mjs"
    driver.write_text(_DRIVER % (json.dumps(str(entry)), json.dumps(config), story), encoding="utf-8")
    done = subprocess.run([program, str(driver)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy={"embedder": "none"}) as opened:
        yield opened


def test_the_manifest_names_what_the_plugin_registers() -> None:
    package, manifest = (
        json.loads((PLUGIN / name).read_text("utf-8")) for name in ("package.json", "openclaw.plugin.json")
    )
    (file,) = HOSTS["openclaw"].files(
        Caller(Path("/home/lin"), [NAME], ["--user", "lin", "--url", "http://memory:8765"])
    )
    plugins = json.loads(file.render_installed(None))["plugins"]
    assert package["version"] == __version__
    assert (manifest["id"], manifest["kind"]) == (NAME, "memory")
    assert manifest["contracts"]["tools"] == ["memory_search", "memory_get"]
    assert plugins["slots"] == {"memory": NAME}
    assert plugins["entries"][NAME]["config"] == {"url": "http://memory:8765", "user": "lin"}
    assert set(plugins["entries"][NAME]["config"]) <= set(manifest["configSchema"]["properties"])
    (folder,) = plugins["load"]["paths"]
    assert {path.name for path in Path(folder).iterdir()} >= {"index.ts", "openclaw.plugin.json", "package.json"}


def test_the_plugin_knows_the_phrases_of_a_turn_off_the_record() -> None:
    text = (PLUGIN / "index.ts").read_text("utf-8")
    assert [phrase for phrase in OFF_RECORD if f'"{phrase}"' not in text] == []


def test_openclaw_recalls_without_any_tool_call(memory: Memory, tmp_path: Path) -> None:
    with served_api(make_app(memory, Serving())) as address:
        out = drive(tmp_path, _STORY, url=address, user="lin", timeoutMs=60_000)
    assert out["warnings"] == []
    assert out["names"] == ["memory_search", "memory_get"]
    assert "memory_search" in "".join(out["prompt"])
    assert out["first"] == {}
    assert "- make all: no rule\n" in out["compacted"]["prependContext"] + "\n"
    assert "preprod" in out["second"]["prependContext"]
    assert out["second"]["prependContext"].startswith("Remembered by Phronesis.")
    assert "nothing" not in out  # undefined: a heartbeat gets nothing
    assert "failed" not in out
    assert out["lesson"][0].startswith("no rule")
    assert "This failed before (once). What worked then:\n- make" in out["lesson"][1]
    assert len(out["found"]["results"]) <= 3
    assert out["read"] == {"status": "ok", "path": out["told"]["path"], "text": out["told"]["snippet"]}
    assert out["missing"] == {"status": "not_found", "path": "phronesis/none", "text": ""}
    held = [item.content for item in memory.get_all(user_id="lin", limit=100).items]
    assert "hunter2" not in "".join(held)
    assert "4711" not in "".join(held)
    assert not any("[Sun]" in text or "heartbeat" in text for text in held)
    attempts = memory.get_all(kinds=["l1"], namespace="openclaw").items
    assert len(attempts) == 3  # a command that worked without having failed is no experience


def test_openclaw_goes_on_without_a_server(tmp_path: Path) -> None:
    out = drive(tmp_path, _ALONE, url="http://127.0.0.1:9", timeoutMs=500)
    assert out["first"] == {}
    assert "failed" not in out
    assert (out["found"]["results"], out["found"]["unavailable"]) == ([], True)
    assert out["read"]["status"] == "error"
    assert [text.split(":")[1].strip() for text in out["warnings"]] == ["recall", "record", "lesson", "experience"]
