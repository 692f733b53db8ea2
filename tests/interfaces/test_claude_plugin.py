"""The plugin of Claude Code in ``integrations``: what it calls exists, and is what ``phronesis install`` writes."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from phronesis import __version__
from phronesis.interfaces.hosts import HOSTS, NAME, Caller
from phronesis.interfaces.hosts.config_files import JsonFile
from phronesis.interfaces.mcp.tools import VERBS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations/claude-code"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def front_matter(path: Path) -> dict[str, Any]:
    _, head, _ = path.read_text(encoding="utf-8").split("---\n", 2)
    return dict(yaml.safe_load(head))


def test_the_marketplace_leads_to_the_plugin() -> None:
    (entry,) = read(ROOT / ".claude-plugin/marketplace.json")["plugins"]
    manifest = read(ROOT / entry["source"] / ".claude-plugin/plugin.json")
    assert (manifest["name"], manifest["version"]) == (entry["name"], __version__)


def test_the_plugin_calls_what_an_installation_calls() -> None:
    hooks, servers = HOSTS["claude-code"].files(Caller(Path("/home/lin"), [NAME]))
    assert read(PLUGIN / "hooks/hooks.json") == json.loads(hooks.render_installed(None))
    assert isinstance(servers, JsonFile)
    assert read(PLUGIN / ".mcp.json") == json.loads(servers.render_installed(None))


def test_commands_and_skill_name_tools_that_exist() -> None:
    pages = [*PLUGIN.glob("commands/*.md"), PLUGIN / "skills/memory/SKILL.md"]
    assert len(pages) == 5
    for page in pages:
        assert front_matter(page)["description"]
        for name in re.findall(r"[a-z]+_[a-z_]+", page.read_text(encoding="utf-8")):
            assert name in VERBS, (page.name, name)
