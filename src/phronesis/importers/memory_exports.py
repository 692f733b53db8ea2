"""Importers for ``get_all``'s output of mem0, and for the items of a LangGraph store, which LangMem uses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from phronesis.importers.import_call import (
    INSIDE,
    Format,
    ImportCall,
    SkippedObject,
    Step,
    bytes_of,
    mapping_or_empty,
    name_of,
    present_fields,
    read_members,
)

_MEM0_KEPT: Final = ("id", "hash", "updated_at", "categories", "actor_id", "role", "app_id")
"""mem0 fields that are kept in the metadata, under ``mem0``."""
_WORDS: Final = ("content", "memory", "text", "data", "value")
"""Members of a store's value that may hold its text, in order; LangMem uses ``content.content``."""


def read_mem0(path: Path) -> Iterator[Step]:
    """Yield each memory of ``{"results": […]}``, of a list, or of JSON lines, as a fact of its user."""
    for member in read_members(path, inside=INSIDE):
        given = member.value
        if not isinstance(given, dict) or not isinstance(given.get("memory"), str) or not given["memory"].strip():
            yield SkippedObject(member.place, member.fault or "no memory with words", member.done)
            continue
        kept = {name: given[name] for name in _MEM0_KEPT if given.get(name) is not None}
        arguments = {
            "content": given["memory"],
            "kind": "fact",
            "occurred_at": given.get("created_at"),
            "agent_id": given.get("agent_id"),
            "run_id": given.get("run_id"),
            "external_id": name_of(given.get("id")),
            "metadata": {**mapping_or_empty(given.get("metadata")), "mem0": kept},
        }
        ref = f"mem0:{given.get('id') or member.place}"
        owner = given.get("user_id")
        yield ImportCall(
            "add",
            ref,
            present_fields(arguments),
            None if owner is None else str(owner),
            member.done,
            {"mem0": {"id": given.get("id")}},
        )


def read_langgraph(path: Path) -> Iterator[Step]:
    """Yield each item ``{namespace, key, value, created_at?}`` of a list or of JSON lines as a fact.

    Namespace and key, joined by slashes, are its ``external_id`` and are in the metadata under ``langgraph``; so is the
    value, if it is more than text.
    """
    for member in read_members(path, inside=INSIDE):
        given = member.value
        if not isinstance(given, dict) or "value" not in given:
            yield SkippedObject(member.place, member.fault or "no item with a value", member.done)
            continue
        text = _words(given["value"])
        if not text:
            yield SkippedObject(member.place, "a value without words", member.done)
            continue
        namespace = _namespace(given.get("namespace"))
        about = {"namespace": namespace, "key": given.get("key"), "updated_at": given.get("updated_at")}
        about["value"] = given["value"] if isinstance(given["value"], dict) and len(given["value"]) > 1 else None
        name = "/".join([*namespace, str(given.get("key"))])
        arguments = {
            "content": text,
            "kind": "fact",
            "occurred_at": given.get("created_at"),
            "external_id": None if given.get("key") is None else name_of(name),
            "metadata": {"langgraph": present_fields(about)},
        }
        yield ImportCall(
            "add",
            f"langgraph:{'/'.join(namespace)}/{given.get('key')}",
            present_fields(arguments),
            done=member.done,
            identity={"langgraph": {"namespace": namespace, "key": given.get("key")}},
        )


def _words(value: Any) -> str:
    """Return the text of a value; the value as JSON if it has no text member."""
    if isinstance(value, str):
        return value.strip()
    if not isinstance(value, Mapping) or not value:
        return ""
    for name in _WORDS:
        if name in value and (found := _words(value[name])):
            return found
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _namespace(given: Any) -> Sequence[str]:
    if isinstance(given, str):
        return given.split(".")
    return [str(one) for one in given] if isinstance(given, list) else []


MEM0: Final = Format(
    read_mem0,
    partial(bytes_of, inside=INSIDE),
    "what mem0's get_all gives: objects with a memory",
    fits=lambda given: isinstance(given.get("memory"), str),
)
LANGGRAPH: Final = Format(
    read_langgraph,
    partial(bytes_of, inside=INSIDE),
    "items of a LangGraph store, as LangMem keeps them: objects with a namespace, a key and a value",
    fits=lambda given: "value" in given and ("key" in given or "namespace" in given),
)
