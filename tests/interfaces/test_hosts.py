"""Installing in agents: their files change and change back, and what they then run works end to end."""

import json
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from phronesis.errors import InputError
from phronesis.interfaces.cli.exit_codes import run
from phronesis.interfaces.hosts.config_files import Change, InstallRecord, JsonFile, TomlFile, changes
from phronesis.interfaces.hosts.host_table import HOSTS, Caller, find_problem, is_our_hook

OWN = """{
    // the user's own
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "beep"}]}],
        "PreCompact": [ ]
    },
}"""
"""Settings as people write them: another indentation, a comment, a trailing comma, an empty list."""

FILES = {
    ".claude/settings.json": OWN,
    ".claude.json": '{"numStartups": 3, "mcpServers": {"other": {"command": "x"}}}',
    ".codex/config.toml": 'model = "gpt-5"',
    ".cursor/hooks.json": '{"version": 1, "hooks": {}}\r\n',
    ".config/Code/User/mcp.json": "",
    ".openclaw/openclaw.json": '{\n\t"plugins": {\n\t\t"allow": ["telegram"],\n\t\t"slots": {"memory": "lancedb"}\n\t}\n}\n',
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with files of the user's own."""
    folder = tmp_path / "home"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return folder


def tree(home: Path) -> dict[str, bytes | None]:
    """Return the bytes of all files under a home folder, and None for folders."""
    return {str(path.relative_to(home)): None if path.is_dir() else path.read_bytes() for path in home.rglob("*")}


@pytest.mark.parametrize("host", HOSTS)
def test_an_installation_is_shown_repeated_without_change_and_taken_back(
    home: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(home)
    assert run(["install", host, "--user", "lin", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "+++ " in shown
    assert "would change" in shown
    assert tree(home) == before
    assert run(["install", host, "--user", "lin"]) == 0
    assert capsys.readouterr().out.startswith(shown.partition(" files would")[0])
    after = tree(home)
    assert after != before
    assert find_problem(host, home) is None
    assert run(["install", host, "--user", "lin", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"dry_run": False, "changed": []}
    assert tree(home) == after
    assert run(["install", host, "--namespace", "lab"]) == 0  # other options take the place of those before
    assert run(["uninstall", host]) == 0
    assert tree(home) == before
    capsys.readouterr()
    assert run(["uninstall", host]) == 0
    assert capsys.readouterr().out == "Nothing to change.\n"


@pytest.mark.parametrize(
    ("host", "name", "edit"),
    [
        ("claude-code", ".claude/settings.json", lambda text: text.replace('"opus"', '"sonnet"')),
        ("claude-code", ".claude/settings.json", lambda text: text.replace("{\n", '{\n    "theme": "dark",\n', 1)),
        ("claude-code", ".claude.json", lambda text: text.replace("3", "4")),
        ("codex", ".codex/config.toml", lambda text: f"# mine\n{text}"),
        ("cursor", ".cursor/hooks.json", lambda text: text.replace('{"version"', '{"stop": [], "version"')),
        ("vscode", ".config/Code/User/mcp.json", lambda text: text),
        ("openclaw", ".openclaw/openclaw.json", lambda text: text.replace('"telegram"', '"telegram", "matrix"')),
    ],
)
def test_what_the_user_edits_meanwhile_is_all_that_differs_afterwards(
    home: Path, host: str, name: str, edit: Callable[[str], str]
) -> None:
    before = tree(home) | {name: edit(FILES[name]).encode()}
    assert run(["install", host, "--user", "lin"]) == 0
    (home / name).write_bytes(edit((home / name).read_bytes().decode()).encode())
    assert run(["uninstall", host]) == 0
    assert tree(home) == before


def test_a_file_that_the_installation_made_keeps_what_the_user_added(home: Path) -> None:
    assert run(["install", "vscode"]) == 0
    path = home / ".copilot/hooks/phronesis.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    held["hooks"]["Stop"].append({"command": "beep"})
    path.write_text(json.dumps(held), encoding="utf-8")
    assert run(["uninstall", "vscode"]) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {"version": 1, "hooks": {"Stop": [{"command": "beep"}]}}


def test_what_an_installation_without_a_record_added_is_found_by_its_command(home: Path) -> None:
    before = tree(home)
    assert run(["install", "cursor"]) == 0
    shutil.rmtree(home / ".local")
    assert run(["uninstall", "cursor"]) == 0
    assert {name for name in tree(home) if name not in before} == set()
    assert not (home / ".cursor/hooks.json").exists()  # nobody knows that it was there


def test_vs_code_runs_the_hooks_of_claude_code_once(home: Path) -> None:
    assert run(["install", "claude-code"]) == 0
    assert run(["install", "vscode"]) == 0
    assert '"hooks"' not in (home / ".copilot/hooks/phronesis.json").read_text(encoding="utf-8")


def test_doctor_says_why_a_host_no_longer_calls(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert find_problem("codex", home) is None
    assert run(["install", "codex"]) == 0
    capsys.readouterr()
    text = (home / ".codex/hooks.json").read_text(encoding="utf-8")
    (home / ".codex/hooks.json").unlink()
    assert run(["doctor", "--url", "sqlite://", "--json"]) == 1
    (check,) = [check for check in json.loads(capsys.readouterr().out)["checks"] if check["name"] == "agents"]
    assert "hooks.json no longer names Phronesis" in check["detail"]
    assert "run 'phronesis install codex'" in check["remedy"]
    (home / ".codex/hooks.json").write_text("{", encoding="utf-8")
    assert "no longer names" in str(find_problem("codex", home))
    (home / ".codex/hooks.json").write_text(text.replace("/phronesis hook", "-gone/phronesis hook"), encoding="utf-8")
    assert "is gone" in str(find_problem("codex", home))


def test_a_file_that_cannot_be_read_is_left_alone_with_what_to_add(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    file = JsonFile(path, {("servers", "phronesis"): {"command": "phronesis"}})
    for text, told in (
        ("{ servers: 1 }", '"servers"'),
        ("[]", "no object"),
        ('{"servers": 1}', "servers is no object"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=told):
            changes([file], InstallRecord(tmp_path / "record.json"), install=True)
        assert path.read_text(encoding="utf-8") == text
    table = TomlFile(tmp_path / "c.toml", "[mcp_servers.phronesis]\nx = 1", ("mcp_servers", "phronesis"))
    with pytest.raises(InputError, match=r"a table .* of its own"):
        table.installed("[mcp_servers.phronesis]\nx = 2\n")
    with pytest.raises(InputError, match="is no TOML"):
        table.installed("x = \n")
    for text in ("y = 1\n", "y = 1", "y = 1\n\n"):
        assert table.removed(text, {}) == table.removed(table.installed(text), {}) == text


def test_a_changed_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("{}", encoding="utf-8")
    target.chmod(0o600)
    link.symlink_to(target)
    Change(link, "{}", '{"a": 1}\n').write()
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == '{"a": 1}\n'
    assert target.stat().st_mode & 0o777 == 0o600


def test_only_our_hooks_are_recognised() -> None:
    assert is_our_hook({"command": "/opt/bin/phronesis hook stop --host cursor"})
    assert is_our_hook({"hooks": [{"command": "python -m phronesis hook stop"}]})
    assert not is_our_hook({"command": "beep 'unclosed"})
    assert not is_our_hook({"command": "git hook phronesis"})
    assert not is_our_hook("phronesis hook stop")


# End to end: what a host would run, from the files that were installed.


@pytest.fixture
def url(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a store whose daemon ends with the test."""
    assert home.exists()
    folder = tempfile.mkdtemp(prefix="ph-")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    monkeypatch.delenv("PHRONESIS_DAEMON", raising=False)
    given = f"sqlite:///{tmp_path / 'h.db'}"
    subprocess.run([sys.executable, "-m", "phronesis", "daemon", "start", "--url", given], check=True, timeout=90)
    yield given
    run(["daemon", "stop", "--url", given])
    shutil.rmtree(folder, ignore_errors=True)


def hook_commands(home: Path, host: str) -> dict[str, str]:
    """Return the command line that a host runs for each of its events."""
    place = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
    root = json.loads((home / place.get(host, ".copilot/hooks/phronesis.json")).read_text(encoding="utf-8"))
    out = {}
    for name, members in root["hooks"].items():
        for member in members:
            for one in member.get("hooks", [member]):
                if "phronesis" in one["command"]:
                    out[name] = one["command"]
    return out


def call(command: str, **payload: Any) -> str:
    """Run a hook as a host does; return what it adds to the model's context."""
    done = subprocess.run(
        shlex.split(command), input=json.dumps(payload), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    answer = json.loads(done.stdout) if done.stdout else {}
    told = answer.get("hookSpecificOutput", answer)
    return str(told.get("additionalContext", told.get("additional_context", "")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "events"),
    [
        ("claude-code", ("SessionStart", "UserPromptSubmit", "PostToolUseFailure", "PreCompact")),
        ("codex", ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact")),
        ("cursor", ("sessionStart", "beforeSubmitPrompt", "postToolUseFailure", "preCompact")),
        ("vscode", ("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact")),
    ],
)
def test_a_host_recalls_without_any_tool_call(home: Path, url: str, host: str, events: tuple[str, ...]) -> None:
    start, prompt, failed, compact = events
    assert run(["install", host, "--user", "lin", "--url", url]) == 0
    hooks = hook_commands(home, host)
    name = {"cursor": "conversation_id", "vscode": "sessionId"}.get(host, "session_id")
    first, second = {name: "one", "cwd": "/home/lin/engine"}, {name: "two", "cwd": "/home/lin/engine"}
    broken = {
        "tool_name": "Bash",
        "tool_input": {"command": "make all"},
        **(
            {"error": "no rule"}
            if failed.endswith("Failure")
            else {"tool_response": {"exit_code": 2, "output": "no rule"}}
        ),
    }
    call(hooks[start], source="startup", **first)
    assert call(hooks[prompt], prompt="The staging server is called preprod.", **first) == ""
    assert call(hooks[failed], **broken, **first) == ""
    call(hooks[compact], trigger="auto", **first)
    assert "make all: no rule" in call(hooks[start], source="compact", **first)
    assert "preprod" in call(hooks[prompt], prompt="Which is the staging server?", **second)
    assert "make all" in call(hooks[prompt], prompt="run make all in the engine", **second)
    assert run(["uninstall", host]) == 0


_DRIVER = """
import { Phronesis } from %s
const client = { session: { messages: async () => ({ data: [
  { info: { role: "assistant" }, parts: [{ type: "text", text: "Noted." }] } ] }) } }
const plugin = await Phronesis({ client, directory: "/home/lin/engine" })
async function say(sessionID, text) {
  const output = { message: { id: "m-" + sessionID + text.length }, parts: [{ type: "text", text }] }
  await plugin["chat.message"]({ sessionID }, output)
  return output.parts.slice(1).map((part) => part.text).join("")
}
const out = {}
out.first = await say("one", "The staging server is called preprod.")
await plugin.event({ event: { type: "session.idle", properties: { sessionID: "one" } } })
const args = { command: "make all" }
const result = { title: "", output: "no rule", metadata: { exit: 2 } }
await plugin["tool.execute.after"]({ tool: "bash", sessionID: "one", callID: "c1", args }, result)
const kept = { context: [] }
await plugin["experimental.session.compacting"]({ sessionID: "one" }, kept)
out.compacted = kept.context.join("")
out.second = await say("two", "Which is the staging server?")
await plugin["tool.execute.after"]({ tool: "bash", sessionID: "two", callID: "c2", args }, result)
out.lesson = result.output
console.log(JSON.stringify(out))
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_plugin_of_opencode_recalls_without_any_tool_call(home: Path, url: str, tmp_path: Path) -> None:
    assert run(["install", "opencode", "--user", "lin", "--url", url]) == 0
    plugin = tmp_path / "plugin.mjs"
    plugin.write_text((home / ".config/opencode/plugins/phronesis.js").read_text(encoding="utf-8"), encoding="utf-8")
    driver = tmp_path / "driver.mjs"
    driver.write_text(_DRIVER % json.dumps(str(plugin)), encoding="utf-8")
    done = subprocess.run(["node", str(driver)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    out = json.loads(done.stdout)
    assert out["first"] == ""
    assert "make all: no rule" in out["compacted"]
    assert "preprod" in out["second"]
    assert "This failed before" in out["lesson"]


def test_the_program_in_the_files_is_one_that_can_be_started(home: Path) -> None:
    caller = Caller(home, [sys.executable, "-m", "phronesis"], ["--user", "lin"])
    (file, _) = HOSTS["claude-code"].files(caller)
    assert f"{sys.executable} -m phronesis hook stop --host claude-code --user lin" in file.installed(None)
