"""Importers: mem0's ``get_all``, the items of a LangGraph store (LangMem uses it), and Letta's agent files (``.af``).

Letta's memory blocks are facts, messages a session, attached files documents. The ids in an agent file are those of the
file, so that a block is named by its agent and label, and a message by its time and text: a later file of the same
agent adds what is new.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.serialization import digest
from phronesis.importers.import_call import (
    INSIDE,
    ImportCall,
    SkippedObject,
    Step,
    json_format,
    json_or_none,
    mapping_or_empty,
    name_of,
    objects,
    present_fields,
    text_or_empty,
    turns_of,
)

_MEM0_KEPT: Final = ("id", "hash", "updated_at", "categories", "actor_id", "role", "app_id")
"""mem0 fields that are kept in the metadata, under ``mem0``."""
_WORDS: Final = ("content", "memory", "text", "data", "value")
"""Members of a store's value that may hold its text, in order; LangMem uses ``content.content``."""


def _memory(given: Mapping[str, Any], place: str) -> Iterator[Step]:
    """Yield a memory of ``{"results": […]}``, of a list, or of JSON lines, as a fact of its user."""
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
    owner = None if given.get("user_id") is None else str(given["user_id"])
    identity = {"mem0": {"id": given.get("id")}}
    ref = f"mem0:{given.get('id') or place}"
    yield ImportCall("add", ref, present_fields(arguments), owner, identity=identity)


def _stored_item(given: Mapping[str, Any], place: str) -> Iterator[Step]:
    """Yield an item ``{namespace, key, value, created_at?}`` of a list or of JSON lines as a fact.

    Namespace and key, joined by slashes, are its ``external_id`` and are in the metadata under ``langgraph``; so is the
    value, if it is more than text.
    """
    text, namespace, key = _words(given["value"]), _namespace(given.get("namespace")), given.get("key")
    if not text:
        yield SkippedObject(place, "a value without words")
        return
    about = {"namespace": namespace, "key": key, "updated_at": given.get("updated_at")}
    about["value"] = given["value"] if isinstance(given["value"], dict) and len(given["value"]) > 1 else None
    arguments = {
        "content": text,
        "kind": "fact",
        "occurred_at": given.get("created_at"),
        "external_id": None if key is None else name_of("/".join([*namespace, str(key)])),
        "metadata": {"langgraph": present_fields(about)},
    }
    ref, identity = f"langgraph:{'/'.join(namespace)}/{key}", {"langgraph": {"namespace": namespace, "key": key}}
    yield ImportCall("add", ref, present_fields(arguments), identity=identity)


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


MEM0: Final = json_format(
    "what mem0's get_all gives: objects with a memory",
    inside=INSIDE,
    fits=lambda given: bool(text_or_empty(given.get("memory"))),
    lacks="no memory with words",
    parse=_memory,
)
LANGGRAPH: Final = replace(
    json_format(
        "items of a LangGraph store, as LangMem keeps them: objects with a namespace, a key and a value",
        inside=INSIDE,
        fits=lambda given: "value" in given,
        lacks="no item with a value",
        parse=_stored_item,
    ),
    # By a value alone, any file would be taken for one where no format is named.
    fits=lambda given: "value" in given and ("key" in given or "namespace" in given),
)


LETTA_FILE: Final = r".*\.(af|json)"
PERSONA: Final = "persona"
"""The label of the block in which an agent describes itself."""
SEND: Final = "send_message"
"""The tool by which older agents speak."""


def _agents(given: Mapping[str, Any], _place: str) -> Iterator[Step]:
    """Yield the blocks, messages and files of each agent of an agent file."""
    shared = {str(one.get("id")): one for one in objects(given.get("blocks"))}
    for agent in objects(given.get("agents")) if "agents" in given else [given]:
        yield from _agent(agent, shared)
    for one in shared.values():  # those of no agent
        yield from _block(one, "shared")
    for file in objects(given.get("files")):
        name, text = text_or_empty(file.get("file_name")), text_or_empty(file.get("content"))
        if name and text:
            arguments = {"text": text, "uri": f"letta:file/{name}", "title": name, "metadata": {"letta": {}}}
            yield ImportCall("resource", f"letta:file/{name}", arguments)


def is_letta(given: Mapping[str, Any]) -> bool:
    """Return whether an object is an agent file, of today's form or of the first, which holds one agent."""
    today = isinstance(given.get("agents"), list) and isinstance(given.get("blocks"), list)
    return today or (isinstance(given.get("core_memory"), list) and "agent_type" in given)


def _agent(agent: Mapping[str, Any], shared: dict[str, Mapping[str, Any]]) -> Iterator[Step]:
    name = name_of(agent.get("name") or agent.get("id")) or "agent"
    own = agent.get("block_ids")
    blocks = [shared.pop(str(one)) for one in own if str(one) in shared] if isinstance(own, list) else []
    for one in [*blocks, *objects(agent.get("memory_blocks")), *objects(agent.get("core_memory"))]:
        yield from _block(one, name)
    messages = []
    for n, said in enumerate(objects(agent.get("messages")), start=1):
        for read in _messages(said):
            if isinstance(read, str):
                yield SkippedObject(f"letta:{name}, message {n}", read)
            else:
                messages.append(read)
    yield from turns_of(f"letta:{name}", messages, agent_id=name, title=name)


def _block(block: Mapping[str, Any], agent: str) -> Iterator[Step]:
    """Yield a memory block as a fact; the persona is one about the agent."""
    label, text = text_or_empty(block.get("label")) or "block", text_or_empty(block.get("value"))
    ref = f"letta:{agent}/{label}"
    if not text:
        yield SkippedObject(ref, "a block without text")
        return
    about = {"agent": agent, "label": label}
    arguments = {
        "content": text,
        "kind": "fact",
        "subject": agent if label == PERSONA else None,
        "agent_id": agent,
        "external_id": name_of(ref),
        "metadata": {"letta": present_fields({**about, "description": block.get("description") or None})},
    }
    yield ImportCall("add", ref, present_fields(arguments), identity={"letta": about})


def _messages(said: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | str]:
    """Yield what a message says to a person, or the reason for skipping it."""
    role, at = str(said.get("role")), text_or_empty(said.get("created_at")) or None
    if role not in {"user", "assistant"}:
        yield f"role {role:.40}"
        return
    content = said.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)
    texts = [text_or_empty(one.get("text")) for one in blocks if one.get("type") == "text"]
    functions = [mapping_or_empty(call.get("function")) for call in objects(said.get("tool_calls"))]
    sent = [
        mapping_or_empty(json_or_none(one.get("arguments"))).get("message")
        for one in functions
        if one.get("name") == SEND
    ]
    if role == "assistant" and any(map(text_or_empty, sent)):  # the text beside it is the agent's thought
        texts = [text_or_empty(one) for one in sent]
    elif role == "user":  # older agents get the words in JSON, and events such as a login under the user's name
        events = [(text, mapping_or_empty(json_or_none(text))) for text in texts]
        texts = [
            text_or_empty(event.get("message")) if event.get("type") == "user_message" else text
            for text, event in events
            if event.get("type", "user_message") == "user_message"
        ]
    text = "\n".join(filter(None, texts))
    if text:
        identity = digest([role, at, text])[:16]
        yield present_fields({"role": role, "content": text, "id": identity, "created_at": at})
    else:
        yield "no words to a person"


LETTA: Final = json_format(
    "an agent file of Letta (.af): an object with agents and blocks",
    inside=LETTA_FILE,
    fits=is_letta,
    lacks="no agent file",
    parse=_agents,
)
