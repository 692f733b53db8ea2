"""Our nine tools beside the reference memory server itself: the same calls, the same answers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from mcp_talk import Talk
from phronesis import Memory
from phronesis.interfaces.mcp import Options, make_mcp

pytestmark = pytest.mark.slow

LI = {"name": "李雷", "entityType": "person", "observations": ["会说西班牙语", "Graduated in 2019"]}
LAB = {"name": "Lab", "entityType": "organization", "observations": []}
TEAM = {"name": "Team", "entityType": "organization", "observations": ["small"]}
WORKS = {"from": "李雷", "to": "Lab", "relationType": "works_at"}
KNOWS = {"from": "李雷", "to": "nobody yet", "relationType": "knows"}

STORY: list[tuple[str, dict[str, Any]]] = [
    ("read_graph", {}),
    ("create_entities", {"entities": [LI, LAB]}),
    ("create_entities", {"entities": [{**LI, "observations": ["other"]}, TEAM]}),
    ("create_relations", {"relations": [WORKS, KNOWS]}),
    ("create_relations", {"relations": [WORKS]}),
    ("add_observations", {"observations": [{"entityName": "Lab", "contents": ["in 上海", "big"]}]}),
    ("add_observations", {"observations": [{"entityName": "Lab", "contents": ["big", "new"]}]}),
    ("read_graph", {}),
    ("search_nodes", {"query": "上海"}),
    ("search_nodes", {"query": "ORGANIZATION"}),
    ("search_nodes", {"query": "西班牙"}),
    ("search_nodes", {"query": "no such thing"}),
    ("open_nodes", {"names": ["Lab", "missing"]}),
    ("open_nodes", {"names": []}),
    ("delete_observations", {"deletions": [{"entityName": "Lab", "observations": ["big", "never"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "missing", "observations": ["x"]}]}),
    ("delete_relations", {"relations": [KNOWS, KNOWS]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["李雷", "missing"]}),
    ("read_graph", {}),
    ("create_entities", {"entities": [LI]}),
    ("create_relations", {"relations": [WORKS]}),
    ("read_graph", {}),
]


@pytest.fixture
def reference(node_modules: Path, tmp_path: Path) -> Iterator[Talk]:
    program = node_modules / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    command = StdioServerParameters(
        command=str(node_modules / ".bin" / "node"),
        args=[str(program)],
        env={**os.environ, "MEMORY_FILE_PATH": str(tmp_path / "graph.jsonl")},
    )
    with Talk(command) as talk:
        yield talk


@pytest.fixture
def ours() -> Iterator[Talk]:
    with (
        Memory.open("sqlite://", policy={"version": 1, "embedder": "none"}) as memory,
        Talk(make_mcp(memory, Options(reference_tools=True))) as talk,
    ):
        yield talk


def test_the_same_calls_give_the_same_answers(reference: Talk, ours: Talk) -> None:
    for step, (tool, arguments) in enumerate(STORY):
        expected, given = reference.result(tool, **arguments), ours.result(tool, **arguments)
        assert not expected.is_error
        assert given.structured_content == expected.structured_content, (step, tool)
        assert given.content == expected.content, (step, tool)


def test_the_same_call_is_refused_in_the_same_words(reference: Talk, ours: Talk) -> None:
    unknown = {"observations": [{"entityName": "nobody", "contents": ["x"]}]}
    for talk in (reference, ours):
        result = talk.result("add_observations", **unknown)
        assert result.is_error
        assert "Entity with name nobody not found" in result.content[0].text  # type: ignore[union-attr]


def test_the_tools_take_and_give_the_same_fields(reference: Talk, ours: Talk) -> None:
    own = ours.tools()
    for name, tool in reference.tools().items():
        assert fields(own[name].input_schema) == fields(tool.input_schema), name
        assert fields(own[name].output_schema or {}) == fields(tool.output_schema or {}), name


def fields(schema: dict[str, Any], parts: dict[str, Any] | None = None) -> Any:
    """Give the names of a schema's members, and of theirs, whatever else it says of them."""
    known = schema.get("$defs", {}) if parts is None else parts
    if "$ref" in schema:
        return fields(known[schema["$ref"].rpartition("/")[2]], known)
    if schema.get("type") == "array":
        return [fields(schema["items"], known)]
    if schema.get("type") == "object":
        return {name: fields(one, known) for name, one in schema.get("properties", {}).items()}
    return schema.get("type")
