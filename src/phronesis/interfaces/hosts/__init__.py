"""Entries in the configuration files of agents that people use, so that they call Phronesis.

Here stands what each host needs; `config_files` changes JSON, TOML and whole files, and leaves alone what is not ours.
"""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any, Final

from phronesis.errors import InputError
from phronesis.interfaces.hosts.config_files import ConfigFile, InstallRecord, JsonFile, OwnFile, TomlFile
from phronesis.interfaces.hosts.json_text import Place, parse

NAME: Final = "phronesis"
"""Our name among a host's MCP servers."""

HOOK_SECONDS: Final = 20
"""Seconds after which a host gives a hook up: the first one of a day may start the daemon."""

VARIABLES: Final = (
    *("PHRONESIS_URL", "PHRONESIS_POLICY", "PHRONESIS_EMBEDDER", "PHRONESIS_DAEMON"),
    *("XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
)
"""Variables of the environment that say which store and which daemon is meant."""


@dataclass(frozen=True, slots=True)
class Caller:
    """How a host calls Phronesis: the program and its options, in the home folder whose files are changed."""

    home: Path
    program: Sequence[str]
    options: Sequence[str] = ()

    def hook(self, event: str, host: str) -> str:
        """Return the command line of a hook."""
        return shlex.join([*self.program, "hook", event, "--host", host, *self.options])

    @property
    def server(self) -> list[str]:
        """Return the command of the MCP server, word by word."""
        return [*self.program, "mcp", *self.options]


@dataclass(frozen=True, slots=True)
class Host:
    """One host: its name in prose, its files, what is to be done by hand afterwards, and whether it starts our MCP."""

    title: str
    files: Callable[[Caller], Sequence[ConfigFile]]
    remark: str = ""
    starts_server: bool = True


def is_our_hook(member: Any) -> bool:
    """Return whether a member of a host's list of hooks runs one of ours, in this or in an earlier version."""
    if isinstance(member, dict):
        command = member.get("command", "")
        try:
            words = shlex.split(command) if isinstance(command, str) else []
        except ValueError:
            words = []
        runs = "hook" in words and any(NAME in word for word in words[: words.index("hook")])
        return runs or is_our_hook(member.get("hooks"))
    return isinstance(member, list) and any(map(is_our_hook, member))


def _server_entry(caller: Caller, **more: Any) -> dict[str, Any]:
    command, *arguments = caller.server
    return {**more, "command": command, "args": arguments}


Hooks = dict[Place, Sequence[Any]]
"""Members of lists of hooks, by the path of the list."""


def _grouped(caller: Caller, host: str, events: Mapping[str, tuple[str, str | None]]) -> Hooks:
    """Return hooks in the form of Claude Code and Codex: groups with a matcher, by the host's name of the event."""
    out: Hooks = {}
    for name, (event, matcher) in events.items():
        run = {"type": "command", "command": caller.hook(event, host), "timeout": HOOK_SECONDS}
        out[("hooks", name)] = [{**({} if matcher is None else {"matcher": matcher}), "hooks": [run]}]
    return out


_CLAUDE_EVENTS: Final[Mapping[str, tuple[str, str | None]]] = {
    "SessionStart": ("session-start", None),
    "UserPromptSubmit": ("prompt", None),
    "PostToolUse": ("post-tool", "Bash"),
    "PostToolUseFailure": ("post-tool", "*"),
    "PreCompact": ("pre-compact", None),
    "Stop": ("stop", None),
}


def _claude_code(caller: Caller) -> Sequence[ConfigFile]:
    hooks = _grouped(caller, "claude-code", _CLAUDE_EVENTS)
    server: dict[Place, Any] = {("mcpServers", NAME): _server_entry(caller, type="stdio")}
    return (
        JsonFile(caller.home / ".claude/settings.json", listed=hooks, is_ours=is_our_hook),
        JsonFile(caller.home / ".claude.json", entries=server),
    )


def _codex(caller: Caller) -> Sequence[ConfigFile]:
    events = {name: event for name, event in _CLAUDE_EVENTS.items() if name != "PostToolUseFailure"}
    command, *arguments = caller.server
    block = f"[mcp_servers.{NAME}]\ncommand = {_toml(command)}\nargs = [{', '.join(map(_toml, arguments))}]\n"
    block += f"env_vars = [{', '.join(map(_toml, VARIABLES))}]"  # it gives its servers no others
    return (
        JsonFile(caller.home / ".codex/hooks.json", listed=_grouped(caller, "codex", events), is_ours=is_our_hook),
        TomlFile(caller.home / ".codex/config.toml", block, ("mcp_servers", NAME)),
    )


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _cursor(caller: Caller) -> Sequence[ConfigFile]:
    events = {
        "sessionStart": "session-start",
        "beforeSubmitPrompt": "prompt",
        "postToolUse": "post-tool",
        "postToolUseFailure": "post-tool",
        "preCompact": "pre-compact",
        "afterAgentResponse": "stop",
    }
    hooks: Hooks = {("hooks", name): [{"command": caller.hook(event, "cursor")}] for name, event in events.items()}
    return (
        JsonFile(caller.home / ".cursor/hooks.json", {}, hooks, is_our_hook, {"version": 1}),
        JsonFile(caller.home / ".cursor/mcp.json", {("mcpServers", NAME): _server_entry(caller)}),
    )


def _vscode(caller: Caller) -> Sequence[ConfigFile]:
    hooks = _grouped(caller, "vscode", _CLAUDE_EVENTS)
    plain: Hooks = {place: [run for group in groups for run in group["hooks"]] for place, groups in hooks.items()}
    settings = caller.home / ".claude/settings.json"
    if settings.exists() and f"{NAME} hook prompt".encode() in settings.read_bytes():  # VS Code runs these too
        plain = dict.fromkeys(plain, ())
    user = {"darwin": "Library/Application Support/Code/User", "win32": "AppData/Roaming/Code/User"}
    folder = caller.home / user.get(sys.platform, ".config/Code/User")
    return (
        JsonFile(caller.home / ".copilot/hooks/phronesis.json", {}, plain, is_our_hook, {"version": 1}),
        JsonFile(folder / "mcp.json", {("servers", NAME): _server_entry(caller, type="stdio")}),
    )


def _opencode(caller: Caller) -> Sequence[ConfigFile]:
    server = {"type": "local", "command": caller.server, "enabled": True}
    plugin = files("phronesis.interfaces.hosts").joinpath("templates", "opencode.js").read_text(encoding="utf-8")
    for mark, words in (("__PROGRAM__", caller.program), ("__OPTIONS__", caller.options)):
        plugin = plugin.replace(mark, json.dumps(list(words)))
    return (
        JsonFile(caller.home / ".config/opencode/opencode.json", {("mcp", NAME): server}),
        OwnFile(caller.home / ".config/opencode/plugins/phronesis.js", plugin),
    )


def _hermes(caller: Caller) -> Sequence[ConfigFile]:
    folder = caller.home / ".hermes/plugins/phronesis"
    plugin = "from phronesis.adapters.hermes import PhronesisMemoryProvider, register\n"
    manifest = f"name: {NAME}\ndescription: Memory with the evidence for every line.\n"
    settings = _settings(caller, {"--url": "url", "--user": "user_id", "--namespace": "namespace"})
    return (
        OwnFile(folder / "__init__.py", plugin),
        OwnFile(folder / "plugin.yaml", manifest),
        OwnFile(caller.home / ".hermes/phronesis.json", json.dumps(settings, indent=2) + "\n"),
    )


def _openclaw(caller: Caller) -> Sequence[ConfigFile]:
    path = caller.home / ".openclaw/openclaw.json"
    config = _settings(caller, {"--url": "url", "--user": "user", "--namespace": "namespace"})
    if not config.get("url", "").startswith(("http://", "https://")):  # the address of a store is the server's affair
        config.pop("url", None)
    hooks = {"allowConversationAccess": True}
    entries: dict[Place, Any] = {
        ("plugins", "entries", NAME): {"enabled": True, "hooks": hooks, "config": config},
        ("plugins", "slots", "memory"): NAME,
        ("plugins", "entries", "memory-core", "enabled"): False,  # its tools have the names of ours
    }
    folder = str(files("phronesis.interfaces.hosts").joinpath("templates", "openclaw"))
    listed: Hooks = {("plugins", "load", "paths"): [folder]}
    with suppress(OSError, ValueError, LookupError, TypeError):  # it does not list the plugins that may be loaded
        if parse(path.read_text(encoding="utf-8")).value["plugins"]["allow"]:
            listed[("plugins", "allow")] = [NAME]
    return (JsonFile(path, entries, listed, _is_our_plugin),)


def _settings(caller: Caller, names: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the command line under the names that a host's plugin has for them."""
    given = dict(zip(caller.options[::2], caller.options[1::2], strict=True))
    for option in given.keys() - names.keys():
        raise InputError(f"this agent's plugin has no {option}; it takes {', '.join(names)}", field=option[2:])
    return {names[option]: value for option, value in given.items()}


def _is_our_plugin(member: Any) -> bool:
    return member == NAME or (isinstance(member, str) and PurePath(member).match(f"{NAME}/interfaces/hosts/*/openclaw"))


HOSTS: Final[Mapping[str, Host]] = {
    "claude-code": Host("Claude Code", _claude_code),
    "codex": Host("Codex", _codex, "Codex asks once whether it may run the new hooks: /hooks shows them."),
    "cursor": Host("Cursor", _cursor, "Cursor adds memory to a session's start; for the rest it calls the MCP tools."),
    "vscode": Host("VS Code", _vscode, "VS Code takes no memory before a prompt: it calls the MCP tools."),
    "opencode": Host("opencode", _opencode),
    "hermes": Host(
        "Hermes",
        _hermes,
        "Install phronesis in the Python of Hermes too, then: hermes config set memory.provider phronesis",
        starts_server=False,
    ),
    "openclaw": Host(
        "OpenClaw",
        _openclaw,
        "OpenClaw calls a server: run 'phronesis serve'. PHRONESIS_API_KEY in OpenClaw's environment is its key.",
        starts_server=False,
    ),
}
"""The hosts by the name that ``phronesis install`` takes."""


def find_problem(name: str, home: Path) -> str | None:
    """Return why a host that Phronesis was installed in does not call it; None: it does, or it was never installed."""
    record = InstallRecord.of_host(name)
    if not record.files:
        return None
    missing = [str(file.path) for file in HOSTS[name].files(Caller(home, [NAME])) if not _names_us(file)]
    if missing:
        return f"{', '.join(missing)} no longer names Phronesis"
    return f"{record.program} is gone" if record.program and shutil.which(record.program) is None else None


def _names_us(file: ConfigFile) -> bool:
    """Return whether a file still has our part: a list of hooks that stays empty has none."""
    if isinstance(file, OwnFile):
        return file.path.exists()
    if isinstance(file, JsonFile) and not file.entries and not any(file.listed.values()):
        return True
    try:
        text = file.path.read_text(encoding="utf-8")
        return NAME in text and (not isinstance(file, JsonFile) or file.holds_slots(text))
    except (OSError, UnicodeDecodeError, InputError):
        return False
