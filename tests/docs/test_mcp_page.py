"""docs/how-to/mcp.md tells the truth: its tables are the server's, and its configurations start a command."""

import json
import re
from pathlib import Path

import pytest

from mcp_talk import Talk
from phronesis import Memory
from phronesis.interfaces.mcp import Options, make_mcp
from shown_commands import find_command

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "mcp.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    return found[1:]


@pytest.fixture(scope="module")
def served() -> dict[str, list[list[str]]]:
    with (
        Memory.open("sqlite://", policy={"version": 1, "embedder": "none"}) as memory,
        Talk(make_mcp(memory, Options(tools="all"))) as talk,
    ):
        tools = []
        for tool in talk.tools().values():
            hints = tool.annotations
            assert hints is not None
            said = ["reads"] if hints.read_only_hint else ["writes"]
            said += ["destructive"] if hints.destructive_hint else []
            said += ["idempotent"] if hints.idempotent_hint and not hints.read_only_hint else []
            tools.append([f"`{tool.name}`", str(tool.title), ", ".join(said)])
        fixed = talk.ask(lambda client: client.list_resources()).resources
        templates = talk.ask(lambda client: client.list_resource_templates()).resource_templates
        prompts = talk.ask(lambda client: client.list_prompts()).prompts
        addresses = [one.uri for one in fixed] + [one.uri_template for one in templates]
        return {
            "tools": tools,
            "resources": [[f"`{one}`"] for one in addresses],
            "prompts": [[f"`{one.name}`"] for one in prompts],
        }


def test_the_tables_are_those_of_the_server(served: dict[str, list[list[str]]]) -> None:
    assert rows(section("Tools")) == served["tools"]
    assert [row[:1] for row in rows(section("Resources"))] == served["resources"]
    assert [row[:1] for row in rows(section("Prompts"))] == served["prompts"]


def test_the_reference_tools_are_named(served: dict[str, list[list[str]]]) -> None:
    with Memory.open("sqlite://", policy={"version": 1, "embedder": "none"}) as memory:
        server = make_mcp(memory, Options(reference_tools=True, tools="all"))
        with Talk(server) as talk:
            more = list(talk.tools())[len(served["tools"]) :]
    named = re.findall(r"`(\w+_\w+)`", section("The reference server's tools"))
    assert named[: len(more)] == more


def test_the_configurations_are_json_that_starts_the_command() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    for block in blocks:
        (servers,) = json.loads(block).values()
        server = servers["phronesis"]
        if "url" in server:
            assert server["url"].endswith("/mcp")
            continue
        command, arguments = find_command(server["args"])
        command.make_context("mcp", arguments)
        assert server["command"] == "phronesis"
