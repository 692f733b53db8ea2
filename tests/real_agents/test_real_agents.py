"""Claude Code, Codex, opencode and OpenClaw from npm, with a scripted model: one session's words are in the next.

``make agents`` runs these tests; nothing else does, because the programs have several hundred megabytes. The model is a
server on loopback, whose address the agents take from the environment: a prompt that holds ``RUN: command END`` is
answered with a call of the shell; any other with "Noted.".
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from phronesis import Memory
from served import serving


def command_in(text: str) -> str | None:
    """Return the command that a prompt asks for."""
    _, mark, rest = text.rpartition("RUN: ")
    return rest.partition(" END")[0] if mark else None


def messages_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stream that answers a request of Anthropic's Messages API."""
    asked = [one for one in body["messages"] if one["role"] != "system"]
    users = list(takewhile(lambda one: one["role"] == "user", reversed(asked)))
    parts = [part for one in users if isinstance(one["content"], list) for part in one["content"]]
    said = [part["text"].strip('"') for part in parts if part["type"] == "text"]  # opencode quotes a prompt
    prompt = next((text for text in said if text.startswith("RUN: ")), json.dumps(users))  # and not what is recalled
    command = None if any(part["type"] == "tool_result" for part in parts) else command_in(prompt)
    shells = [tool["name"] for tool in body.get("tools", ()) if tool["name"] in {"Bash", "bash", "exec"}]
    if command is None or not shells:  # without a shell: a request for the session's title
        begin: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "Noted."}
    else:
        begin = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "name": shells[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"command": command, "description": "a test"})}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": begin},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn" if begin["type"] == "text" else "tool_use", "stop_sequence": None},
            "usage": usage,
        },
        {"type": "message_stop"},
    ]


def responses_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the stream that answers a request of OpenAI's Responses API."""
    asked = [json.dumps(one) for one in body["input"] if one.get("role") == "user"]
    command = None if body["input"][-1].get("type") == "function_call_output" else command_in(asked[-1])
    if command is None:
        text = {"type": "output_text", "text": "Noted.", "annotations": []}
        item: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "content": [text]}
    else:
        call_id = f"call_{len(body['input'])}"
        arguments = json.dumps({"cmd": command})
        item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "exec_command"}
        item["arguments"] = arguments
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}  # type: ignore[dict-item]
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


@contextmanager
def scripted_model() -> Iterator[tuple[str, list[str]]]:
    """Serve both APIs on loopback; yields the address, and the requests as text, which grow as they come."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_arguments: Any) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self.send_response(404)
            self.end_headers()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            requests.append(json.dumps(body, ensure_ascii=False))
            events = messages_events(body) if "messages" in body else responses_events(body)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
    finally:
        server.shutdown()
        server.server_close()


ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".build" / "agents"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("PHRONESIS_REAL_AGENTS" not in os.environ, reason="make agents runs the real programs"),
]

Say = Callable[[str], str]
"""Starts a session with one prompt; returns what the model was sent in it."""


def program(package: str, name: str, folder: Path | None = None) -> str:
    """Return a program of an npm package, installed if it is not."""
    folder = folder or PROGRAMS / name
    if not (folder / "node_modules" / ".bin" / name).exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", str(folder), package], check=True, timeout=900)
    return str(folder / "node_modules" / ".bin" / name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder, a project, and a daemon that ends with the test."""
    (tmp_path / "engine").mkdir()
    folder = tempfile.mkdtemp(prefix="ph-")
    for name, value in {
        "HOME": str(tmp_path),
        "XDG_RUNTIME_DIR": folder,
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "PHRONESIS_EMBEDDER": "none",
        "ANTHROPIC_API_KEY": "sk-ant-none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "FAKE_KEY": "none",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PHRONESIS_DAEMON", raising=False)
    yield tmp_path
    phronesis("daemon", "stop")
    shutil.rmtree(folder, ignore_errors=True)


def phronesis(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "phronesis", *arguments], check=True, capture_output=True, text=True, timeout=120
    )
    return done.stdout


@pytest.fixture
def claude(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Say]:
    command = [program("@anthropic-ai/claude-code", "claude"), "-p"]
    with scripted_model() as (address, requests):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        yield lambda prompt: said(home, requests, [*command, prompt, "--allowedTools", "Bash"])


@pytest.fixture
def codex(home: Path) -> Iterator[Say]:
    command = [program("@openai/codex", "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    with scripted_model() as (address, requests):
        (home / ".codex").mkdir()
        (home / ".codex/config.toml").write_text(
            f'model = "gpt-5"\nmodel_provider = "fake"\n\n[model_providers.fake]\nname = "fake"\n'
            f'base_url = "{address}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n',
            encoding="utf-8",
        )
        free = "--dangerously-bypass-approvals-and-sandbox"
        yield lambda prompt: said(home, requests, [*command, free, prompt])


@pytest.fixture
def opencode(home: Path) -> Iterator[Say]:
    command = [program("opencode-ai", "opencode"), "run"]
    with scripted_model() as (address, requests):
        models = {"m": {"name": "m", "limit": {"context": 100_000, "output": 4_000}, "tool_call": True}}
        options = {"baseURL": f"{address}/v1", "apiKey": "none"}
        fake = {"npm": "@ai-sdk/anthropic", "name": "fake", "options": options, "models": models}
        given = {
            "$schema": "https://opencode.ai/config.json",  # which it adds by itself
            "model": "fake/m",
            "small_model": "fake/m",
            "provider": {"fake": fake},
            "permission": {"bash": "allow"},
        }
        (home / ".config/opencode").mkdir(parents=True, exist_ok=True)
        (home / ".config/opencode/opencode.json").write_text(json.dumps(given), encoding="utf-8")
        yield lambda prompt: said(home, requests, [*command, prompt])


@pytest.fixture
def openclaw_program(monkeypatch: pytest.MonkeyPatch) -> str:
    folder = PROGRAMS / "openclaw"
    node = program("node@24", "node", folder)  # OpenClaw runs on no older one, and neither does its installation
    monkeypatch.setenv("PATH", str(Path(node).parent), prepend=os.pathsep)
    return program("openclaw@2026.9.6", "openclaw", folder)


@pytest.fixture
def openclaw(home: Path, openclaw_program: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Say]:
    command = [openclaw_program, "agent", "--local", "--agent", "main", "--session-id"]
    monkeypatch.setenv("PHRONESIS_URL", f"sqlite:///{home / 'memory.db'}")
    with scripted_model() as (address, requests), serving(os.environ["PHRONESIS_URL"]) as server:
        models = [{"id": "m", "name": "m", "input": ["text"], "contextWindow": 100_000, "maxTokens": 4_000}]
        fake = {"baseUrl": address, "apiKey": "none", "api": "anthropic-messages", "models": models}
        agents = {"defaults": {"model": {"primary": "fake/m"}, "skipBootstrap": True}}
        path = home / ".openclaw/openclaw.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"models": {"providers": {"fake": fake}}, "agents": agents}), encoding="utf-8")
        before = path.read_bytes()
        phronesis("install", "openclaw", "--user", "lin", "--url", server.url)
        yield lambda prompt: said(home, requests, [*command, f"s{len(requests)}", "--message", prompt])
        phronesis("uninstall", "openclaw")
        assert path.read_bytes() == before


def said(home: Path, requests: list[str], command: list[str]) -> str:
    """Run one session; return what the model was sent, once all that was recorded is interpreted."""
    before = len(requests)
    variables = {**os.environ, "PWD": str(home / "engine")}  # opencode believes it
    done = subprocess.run(
        command,
        cwd=home / "engine",
        env=variables,
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "conflict" not in done.stderr  # OpenClaw's own plugin of memory has tools of the same names
    with Memory.open() as memory:
        memory.flush()  # the last hook of a session is answered before its entry is interpreted
    return "\n".join(requests[before:])


CONFIGURATION = {
    "claude-code": (".claude/settings.json",),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "opencode": (".config/opencode/opencode.json", ".config/opencode/plugins/phronesis.js"),
}
"""The files of a host that the installer changes, and that the program leaves alone."""

TRANSCRIPTS = {"claude-code": ".claude/projects", "codex": ".codex/sessions"}


def configuration(home: Path, host: str) -> dict[str, bytes | None]:
    paths = {name: home / name for name in CONFIGURATION[host]}
    return {name: path.read_bytes() if path.exists() else None for name, path in paths.items()}


@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode"])
def test_an_agent_recalls_without_a_tool_call_and_is_left_as_it_was(
    home: Path, host: str, request: pytest.FixtureRequest
) -> None:
    say: Say = request.getfixturevalue(host.partition("-")[0])
    before = configuration(home, host)
    phronesis("install", host, "--user", "lin")
    phronesis("daemon", "start")
    assert "Remembered by Phronesis" not in say("The staging server is called preprod.")
    told = say("Which server is the staging server?")
    assert "The staging server is called preprod." in told.partition("Remembered by Phronesis")[2]
    say("RUN: make nosuchtarget END")
    say("RUN: make -s --version END")
    assert "This failed before" in say("RUN: make nosuchtarget END")
    assert "make nosuchtarget" in phronesis("list", "--namespace", "engine", "--kind", "l1")
    if host in TRANSCRIPTS:
        sessions = str(home / TRANSCRIPTS[host])
        taken = phronesis("import", sessions, "--format", host, "--user", "lin")
        assert taken.startswith("0 imported"), taken
    phronesis("uninstall", host)
    assert configuration(home, host) == before


def test_openclaw_recalls_without_a_tool_call_and_is_left_as_it_was(home: Path, openclaw: Say) -> None:
    assert "Remembered by Phronesis" not in openclaw("The staging server is called preprod.")
    assert "user) The staging server is called preprod." in openclaw("Which server is the staging server?")
    openclaw("RUN: make nosuchtarget END")
    assert "This failed before" in openclaw("RUN: make nosuchtarget END")
    assert "make nosuchtarget" in phronesis("list", "--namespace", "openclaw", "--kind", "l1")


def test_openclaw_installs_the_package_that_would_be_published(home: Path, openclaw_program: str) -> None:
    packed = subprocess.run(
        ["npm", "pack", "--silent", str(ROOT / "integrations/openclaw")], cwd=home, check=True, capture_output=True
    )
    archive = home / packed.stdout.decode().strip()
    command = [openclaw_program, "plugins", "install", str(archive), "--force", "--accept-capabilities"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    held = json.loads((home / ".openclaw/openclaw.json").read_text(encoding="utf-8"))["plugins"]
    assert (held["slots"]["memory"], held["entries"]["phronesis"]["enabled"]) == ("phronesis", True)
    assert (home / ".openclaw/extensions/phronesis/index.js").exists()


def test_the_plugin_of_openclaw_has_the_types_of_its_interface(openclaw_program: str) -> None:
    folder = Path(openclaw_program).parents[2]
    compiler = program("typescript@5", "tsc", folder)
    (folder / "plugin").mkdir(exist_ok=True)  # beside OpenClaw's package, where its types are found
    for name in ("index.ts", "package.json"):
        shutil.copy(ROOT / "integrations/openclaw" / name, folder / "plugin")
    options = "--noEmit --strict --erasableSyntaxOnly --module nodenext --target es2023 --skipLibCheck --types node"
    command = [compiler, *options.split(), "plugin/index.ts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
