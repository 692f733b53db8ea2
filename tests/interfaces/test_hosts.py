"""Installing in agents: their files change and change back, and what they then run works end to end."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from phronesis.errors import InputError
from phronesis.interfaces.cli.agents import NAMES
from phronesis.interfaces.cli.dispatch import run
from phronesis.interfaces.hosts import HOSTS, find_problem, is_our_hook
from phronesis.interfaces.hosts.config_files import Change, InstallRecord, JsonFile, TomlFile, changes

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
    ".claude/settings.json": f"\ufeff{OWN}",
    ".claude.json": '{"numStartups": 3, "mcpServers": {"other": {"command": "x"}}}',
    ".codex/config.toml": 'model = "gpt-5"',
    ".cursor/hooks.json": '{"version": 1, "hooks": {}}\r\n',
    ".cursor/mcp.json": " \r\n",
    ".config/Code/User/mcp.json": "",
    ".hermes/phronesis.json": '{"user_id": "ruth"}',
    ".openclaw/openclaw.json": '{\n\t"plugins": {\n\t\t"allow": ["telegram"],\n\t\t"slots": {"memory": "x"}\n\t}\n}\n',
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


def test_the_command_line_offers_every_host() -> None:
    assert tuple(HOSTS) == NAMES


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


def test_an_installation_says_what_the_server_needs(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("phronesis.interfaces.cli.agents.find_spec", lambda _name: None)
    for host, needs in (("claude-code", True), ("hermes", False)):
        assert run(["install", host, "--dry-run"]) == 0, home
        assert ("phronesis[mcp]" in capsys.readouterr().err) is needs


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
    assert find_problem("vscode", home) is None
    assert run(["uninstall", "claude-code"]) == 0
    assert "hooks/phronesis.json no longer names Phronesis" in str(find_problem("vscode", home))


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
    (home / ".codex/hooks.json").write_text(text, encoding="utf-8")
    assert find_problem("codex", home) is None
    record = home / ".local/share/phronesis/hosts/codex.json"
    record.write_text(json.dumps(json.loads(record.read_bytes()) | {"program": "/gone/phronesis"}), encoding="utf-8")
    assert find_problem("codex", home) == "/gone/phronesis is gone"


def test_a_slot_that_went_to_another_plugin_is_reported_and_kept(home: Path) -> None:
    path = home / ".openclaw/openclaw.json"
    assert run(["install", "openclaw"]) == 0
    root = json.loads(path.read_bytes())
    assert root["plugins"]["allow"] == ["telegram", "phronesis"]
    assert find_problem("openclaw", home) is None
    root["plugins"]["slots"]["memory"] = "memory-lancedb"
    path.write_text(json.dumps(root), encoding="utf-8")
    assert "no longer names Phronesis" in str(find_problem("openclaw", home))
    assert run(["uninstall", "openclaw"]) == 0
    left = {"allow": ["telegram"], "slots": {"memory": "memory-lancedb"}}
    assert json.loads(path.read_bytes()) == {"plugins": left}


def test_a_file_that_cannot_be_read_is_left_alone_with_what_to_add(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    file = JsonFile(path, {("servers", "phronesis"): {"command": "phronesis"}})
    for text, told in (
        ("{ servers: 1 }", '"servers"'),
        ("[" * 9_000, "nested too deeply"),
        ("[]", "no object"),
        ('{"servers": 1}', "servers is no object"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=told):
            changes([file], InstallRecord(tmp_path / "record.json"), install=True)
        assert path.read_text(encoding="utf-8") == text
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(InputError, match="is no UTF-8 text"):
        changes([file], InstallRecord(tmp_path / "record.json"), install=False)
    table = TomlFile(tmp_path / "c.toml", "[mcp_servers.phronesis]\nx = 1", ("mcp_servers", "phronesis"))
    with pytest.raises(InputError, match=r"a table .* of its own"):
        table.render_installed("[mcp_servers.phronesis]\nx = 2\n")
    with pytest.raises(InputError, match="is no TOML"):
        table.render_installed("x = \n")
    for text in ("y = 1\n", "y = 1", "y = 1\n\n"):
        assert table.render_removed(text, {}) == table.render_removed(table.render_installed(text), {}) == text


def test_a_changed_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("{}", encoding="utf-8")
    target.chmod(0o600)
    link.symlink_to(target)
    Change(link, "{}", '{"a": 1}\n').write()
    assert link.is_symlink()
    lost = tmp_path / "lost.json"
    lost.symlink_to(tmp_path / "none/lost.json")
    Change(lost, None, "{}").write()
    assert (tmp_path / "none/lost.json").read_text(encoding="utf-8") == "{}"
    Change(lost, "{}", None).write()
    assert lost.is_symlink()
    assert target.read_text(encoding="utf-8") == '{"a": 1}\n'
    assert target.stat().st_mode & 0o777 == 0o600


def test_options_that_a_host_passes_on_mean_the_same_in_every_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    assert run(["install", "codex", "--url", "sqlite:///lab.db"]) == 0
    for name in (".codex/hooks.json", ".codex/config.toml"):
        assert f"sqlite:///{home / 'lab.db'}" in (home / name).read_text(encoding="utf-8")
    for host in ("hermes", "openclaw"):
        assert run(["install", host, "--tenant", "acme"]) == 2
        assert "has no --tenant; it takes --url, --user, --namespace" in capsys.readouterr().err


def test_an_installation_that_fails_half_way_can_be_taken_back(home: Path) -> None:
    (home / ".cursor/mcp.json.phronesis").mkdir()  # where the second file's draft would be
    before = tree(home)
    assert run(["install", "cursor"]) == 1
    assert tree(home) != before
    assert run(["uninstall", "cursor"]) == 0
    assert tree(home) == before


def test_only_our_hooks_are_recognised() -> None:
    assert is_our_hook({"command": "/opt/bin/phronesis hook stop --host cursor"})
    assert is_our_hook({"hooks": [{"command": "python -m phronesis hook stop"}]})
    assert not is_our_hook({"command": "beep 'unclosed"})
    assert not is_our_hook({"command": "git hook phronesis"})
    assert not is_our_hook("phronesis hook stop")
