"""Claude Code, Codex, opencode and OpenClaw from npm, with a scripted model: one session's words are in the next.

``make agents`` runs these tests; nothing else does, because the programs have several hundred megabytes.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from phronesis import Memory
from real_agents.scripted_models import scripted_model
from served import serving

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
