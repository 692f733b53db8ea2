"""The OpenAPI document is complete: what linters and generators of clients ask of it, without those programs."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from phronesis import Memory
from phronesis.config.server import Serving, UpstreamServer
from phronesis.interfaces.http.app import make_app

NAME = re.compile(r"[a-z]+(_[a-z]+)+")
"""A verb and its object, as in ``add_memory``."""


@pytest.fixture(scope="module")
def document() -> Iterator[dict[str, Any]]:
    upstream = UpstreamServer(base_url="http://127.0.0.1:9/v1")
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        yield make_app(memory, Serving(upstream=upstream)).openapi()


def operations(document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return every operation with its path."""
    return [(path, one) for path, ways in document["paths"].items() for one in ways.values()]


def nodes(part: Any) -> Iterator[dict[str, Any]]:
    """Return every object of a part of the document."""
    if isinstance(part, dict):
        yield part
    for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from nodes(one)


def test_every_operation_is_named_and_described(document: dict[str, Any]) -> None:
    found = operations(document)
    ids = [one["operationId"] for _, one in found]
    assert {"add_memory", "search_memories", "compose_context", "commit_turn", "complete_chat"} <= set(ids)
    assert [one for one in ids if not NAME.fullmatch(one)] == []
    assert [one for one, count in Counter(ids).items() if count > 1] == []
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    for path, one in found:
        assert one["summary"], path
        assert one["description"], path
        assert len(one["tags"]) == 1, path
        assert tags[one["tags"][0]], path
        assert set(re.findall(r"\{(\w+)\}", path)) == {
            p["name"] for p in one.get("parameters", ()) if p["in"] == "path"
        }
        assert all(p["description"] for p in one.get("parameters", ()) if p["in"] == "path"), path
    assert {one["tags"][0] for _, one in found} == tags.keys()


def test_every_operation_has_results_problems_and_security(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    for path, one in operations(document):
        success = [status for status in one["responses"] if status.startswith("2")]
        refused = [response for status, response in one["responses"].items() if status[0] in "45"]
        assert len(success) == 1, path
        assert refused, path
        for response in refused:
            name = response["$ref"].rpartition("/")[2]
            assert "application/problem+json" in document["components"]["responses"][name]["content"]
        assert all(name in schemes for need in one["security"] for name in need), path
    assert [path for path, one in operations(document) if not one["security"]] == ["/healthz", "/readyz"]


def test_what_is_referred_to_is_there_and_nothing_else(document: dict[str, Any]) -> None:
    referred = {one["$ref"].removeprefix("#/components/") for one in nodes(document) if "$ref" in one}
    held = {f"{part}/{name}" for part in ("schemas", "responses") for name in document["components"][part]}
    assert referred == held
    assert [name for name in held if not re.fullmatch(r"\w+/[A-Z]\w*[A-Za-z0-9]", name)] == []
    assert [one for one in nodes(document) if one.get("type") == "array" and "items" not in one] == []
    assert {"license", "contact", "version"} <= document["info"].keys()
    assert document["servers"]


def test_a_small_call_needs_only_its_arguments_and_a_result_leaves_nothing_out(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["NewMemory"]["required"] == ["content"]
    assert schemas["NewMemory"]["properties"]["infer"]["description"] == "Default: true."
    assert not [one for one in schemas["NewMemory"]["properties"].values() if "default" in one]
    assert {"entry_id", "items", "pending"} <= set(schemas["AddResult"]["required"])
