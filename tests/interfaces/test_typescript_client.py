"""The TypeScript client: its types are those of the document, and Node calls a server with it."""

import json
import re
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
from phronesis.interfaces.http.app import make_app

PACKAGE = Path(__file__).parents[2] / "integrations/typescript"
TYPES = (PACKAGE / "src/schema.ts").read_text("utf-8")
REMEDY = "generate the types anew: npm run generate (integrations/typescript/README.md)"

_STORY = """
import { Phronesis, PhronesisError } from "./index.ts"
const memory = new Phronesis({ baseUrl: process.argv[2], apiKey: process.argv[3], retries: 1 })
const added = await memory.add("I live in Lyon.", { user_id: "lin/1" }, { idempotencyKey: "k" })
const again = await memory.add("I live in Lyon.", { user_id: "lin/1" }, { idempotencyKey: "k" })
await memory.commitTurn("monday", [{ role: "user", content: "The tea is oolong." }], { user_id: "lin/1" })
const found = await memory.search("Where do I live?", { user_id: "lin/1" })
const context = await memory.composeContext("tuesday", "Where do I live?", { user_id: "lin/1", token_budget: 800 })
const id = added.items[0].id
const item = await memory.call("get", "/api/v1/memories/{id}", { path: { id } })
const changed = await memory.call("patch", "/api/v1/memories/{id}", {
  path: { id }, body: { content: "I live in Nice." }, version: item.version,
})
const late = await memory
  .call("patch", "/api/v1/memories/{id}", { path: { id }, body: { content: "x" }, version: item.version })
  .catch((error) => error instanceof PhronesisError && [error.status, error.code, error.problem.field])
const traits = await memory.call("get", "/api/v1/users/{user_id}/traits", { path: { user_id: "lin/1" } })
await memory.ingest({ attempt: "make all", label: "failure", source_ref: "r1" }, { namespace: "build" })
const answer = await memory.query("make all", { namespace: "build" })
console.log(JSON.stringify({ same: added.entry_id === again.entry_id, found, context, changed, late, traits, answer }))
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'memory.db'}", policy={"embedder": "none"}) as opened:
        yield opened


def fields(block: str, indent: int) -> dict[str, bool]:
    """Return the members at a depth of a block of generated types, and whether each is required."""
    found = re.findall(rf'^ {{{indent}}}"?([\w-]+)"?(\??): ', block, re.MULTILINE)
    return {name: not optional for name, optional in found}


def test_the_types_are_those_of_the_document(memory: Memory) -> None:
    """Names and which of them are required, not their order and comments, which depend on versions of libraries."""
    document = make_app(memory, Serving()).openapi()
    schemas = TYPES[TYPES.index("    schemas: {") : TYPES.index("    responses: {")]
    generated = dict(re.findall(r"^ {8}(\w+): (\{$.*?^ {8}\}|.*?$)", schemas, re.MULTILINE | re.DOTALL))
    assert generated.keys() == document["components"]["schemas"].keys(), REMEDY
    for name, schema in document["components"]["schemas"].items():
        expected = {field: field in schema.get("required", ()) for field in schema.get("properties", ())}
        assert fields(generated[name], 12) == expected, f"{name}: {REMEDY}"
    operations = TYPES[TYPES.index("export interface operations {") :]
    blocks = dict(re.findall(r"^ {4}(\w+): \{$(.*?)^ {4}\};?$", operations, re.MULTILINE | re.DOTALL))
    calls = {one["operationId"]: one for ways in document["paths"].values() for one in ways.values()}
    assert blocks.keys() == calls.keys(), REMEDY
    for name, call in calls.items():
        taken = blocks[name][: blocks[name].index("\n        };")]
        expected = {one["name"]: one.get("required", False) for one in call.get("parameters", ())}
        assert fields(taken, 16) == expected, f"{name}: {REMEDY}"


def test_the_package_is_small_and_of_this_version() -> None:
    package = json.loads((PACKAGE / "package.json").read_text("utf-8"))
    assert (package["name"], package["version"]) == ("phronesis-client", __version__)
    assert "dependencies" not in package
    assert len((PACKAGE / "src/index.ts").read_text("utf-8").splitlines()) <= 150


def test_node_calls_a_server(memory: Memory, tmp_path: Path) -> None:
    program = find_node()
    shutil.copytree(PACKAGE / "src", tmp_path / "src")
    (tmp_path / "src/story.ts").write_text(_STORY, "utf-8")
    token, _ = memory.admin.keys.create("write", label="typescript")
    with served_api(make_app(memory, Serving())) as address:
        command = [program, str(tmp_path / "src/story.ts"), address, token]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    out: dict[str, Any] = json.loads(done.stdout)
    assert out["same"]
    assert "Lyon" in out["found"]["evidence"][0]["item"]["content"]
    assert "Lyon" in "".join(message["content"] for message in out["context"]["messages"])
    assert out["changed"]["items"][0]["version"] == 2
    assert out["late"] == [412, "conflict.version", "expected_version"]
    assert out["traits"] == []
    assert out["answer"]["l1_evidence"]
