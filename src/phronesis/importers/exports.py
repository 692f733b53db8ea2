"""Importers for exports of ChatGPT and Claude (``conversations.json``), of mem0 and of a LangGraph store.

A ChatGPT conversation is a tree of messages. Only the branch that ends in ``current_node`` is imported: the user
abandoned the others by editing or regenerating. Of mem0 it is ``get_all``'s output; LangMem uses a LangGraph store.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from phronesis.core.entries import ROLES
from phronesis.core.timestamps import isoformat
from phronesis.importers.import_call import (
    Format,
    ImportCall,
    Member,
    SkippedObject,
    Step,
    bytes_of,
    mapping_or_empty,
    name_of,
    objects,
    read_members,
)
from phronesis.log.inputs import EXTERNAL_ID

# Shared by both readers: splitting a conversation into turns, one call each.


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation: its id, prefixed with the program's name, its title, and its messages in order."""

    session_id: str
    title: str
    done: int
    messages: Sequence[Mapping[str, Any]] = field(default=())


def with_external_id(message: Mapping[str, Any], identity: object) -> Mapping[str, Any]:
    """Return a message with its id in the program, if any, as its ``external_id``."""
    name = name_of(identity or None)
    return message if name is None else {**message, EXTERNAL_ID: name}


def turns_of(chat: Chat) -> Iterator[ImportCall]:
    """Yield a conversation's turns: a user message with all replies up to the next user message."""
    turn: list[Mapping[str, Any]] = []
    for message in chat.messages:
        if message["role"] == "user" and any(one["role"] != "user" for one in turn):
            yield _turn(chat, turn)
            turn = []
        turn.append(message)
    if turn:
        yield _turn(chat, turn)


def _turn(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> ImportCall:
    events: dict[str, Any] = {"messages": list(messages)}
    if chat.title:
        events["session_metadata"] = {"title": chat.title}
    arguments = {"session_id": chat.session_id, "turn_events": events}
    return ImportCall("commit_turn", f"{chat.session_id}#{messages[0]['id']}", arguments, done=chat.done)


CHATGPT_FILE: Final = r"conversations(-\d+)?\.json"
SPOKEN: Final = frozenset({"text", "multimodal_text", "code"})
"""Content types that a person wrote or read; the others are internal to the program (thoughts, browsing, memory)."""
LATEST: Final = 253_402_300_800
"""The first second of the year 10000, in seconds since 1970: an upper bound on valid times."""


def read_chatgpt(path: Path) -> Iterator[Step]:
    """Yield each conversation's turns, and what is skipped; see ``docs/how-to/chats.md``."""
    for member in read_members(path, inside=CHATGPT_FILE):
        conversation = member.value
        if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
            yield SkippedObject(member.place, member.fault or "no conversation with a mapping", member.done)
            continue
        yield from _chatgpt_conversation(conversation, member)


def _chatgpt_conversation(given: Mapping[str, Any], member: Member) -> Iterator[Step]:
    session_id = f"chatgpt:{given.get('conversation_id') or given.get('id') or member.place}"
    messages = []
    at = given.get("create_time")
    for n, node in enumerate(_branch(given["mapping"], given.get("current_node"))):
        said = node.get("message")
        if not isinstance(said, dict):
            continue  # the root of the tree
        at = said.get("create_time") or at
        own = said.get("id") or node.get("id")
        identity = str(own or n)
        read = _chatgpt_message(said, identity, at)
        if isinstance(read, str):
            yield SkippedObject(f"{session_id}#{identity}", read, member.done)
        else:
            messages.append(with_external_id(read, own))
    if not messages:
        yield SkippedObject(session_id, "a conversation without words", member.done)
    yield from turns_of(Chat(session_id, str(given.get("title") or ""), member.done, messages))


def _branch(tree: Mapping[str, Any], current: Any) -> list[Mapping[str, Any]]:
    """Return the nodes from the root to the current one or, without one, to the latest leaf."""
    nodes = {name: node for name, node in tree.items() if isinstance(node, dict)}
    if not isinstance(current, str) or current not in nodes:
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        current = max(leaves, key=lambda name: _created_at(nodes[name]), default=None)
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current in nodes and current not in seen:
        seen.add(current)
        branch.append(nodes[current])
        current = nodes[current].get("parent")
    return branch[::-1]


def _created_at(node: Mapping[str, Any]) -> float:
    return _time(mapping_or_empty(node.get("message")).get("create_time")) or 0.0


def _time(at: Any) -> float | None:
    """Return seconds since 1970; None if the value is not a time."""
    return float(at) if isinstance(at, int | float) and 0 <= at < LATEST else None


def _chatgpt_message(said: Mapping[str, Any], identity: str, at: Any) -> dict[str, Any] | str:
    """Return a message, or the reason for skipping it."""
    author, content, metadata = (mapping_or_empty(said.get(name)) for name in ("author", "content", "metadata"))
    role, form = str(author.get("role")), str(content.get("content_type"))
    if role not in ROLES:
        return f"role {role:.40}"
    if role == "system" or metadata.get("is_visually_hidden_from_conversation"):
        return "hidden from the conversation"
    if role == "assistant" and said.get("recipient") not in {None, "", "all"}:
        return "said to a tool"
    if form not in SPOKEN:
        return f"content of type {form:.40}"
    text = "\n".join(part for part in _parts(content) if part.strip())
    if not text:
        return "no text"
    kept = {"attachments": _attachments(metadata), "model": metadata.get("model_slug")}
    message: dict[str, Any] = {
        "role": role,
        "content": text,
        "id": identity,
        "metadata": {k: v for k, v in kept.items() if v},
    }
    if author.get("name"):
        message["name"] = str(author["name"])
    seconds = _time(at)
    if seconds is not None:
        message["created_at"] = isoformat(datetime.fromtimestamp(seconds, UTC))
    return message


def _parts(content: Mapping[str, Any]) -> list[str]:
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else [content.get("text")]
    texts = [
        part.get("text") if isinstance(part, dict) else part for part in given
    ]  # a dict: a transcript, or an image
    return [text for text in texts if isinstance(text, str)]


def _attachments(metadata: Mapping[str, Any]) -> list[str]:
    return [str(one["name"]) for one in objects(metadata.get("attachments")) if one.get("name")]


CHATGPT: Final = Format(read_chatgpt, partial(bytes_of, inside=CHATGPT_FILE))


# Claude's export: ``conversations.json``, a list of conversations with ``chat_messages`` in order.

CLAUDE_FILE: Final = r"conversations\.json"
ROLE_OF: Final = {"human": "user", "assistant": "assistant"}


def read_claude(path: Path) -> Iterator[Step]:
    """Yield each conversation's turns, and what is skipped; one conversation is held at a time."""
    for member in read_members(path, inside=CLAUDE_FILE):
        conversation = member.value
        if not isinstance(conversation, dict) or not isinstance(conversation.get("chat_messages"), list):
            yield SkippedObject(member.place, member.fault or "no conversation with chat_messages", member.done)
            continue
        yield from _claude_conversation(conversation, member)


def _claude_conversation(given: Mapping[str, Any], member: Member) -> Iterator[Step]:
    session_id = f"claude:{given.get('uuid') or member.place}"
    messages = []
    for n, said in enumerate(given["chat_messages"], start=1):
        read = _claude_message(said, n) if isinstance(said, dict) else "not an object"
        if isinstance(read, str):
            yield SkippedObject(f"{session_id}, message {n}", read, member.done)
        else:
            messages.append(with_external_id(read, said.get("uuid")))
    if not messages:
        yield SkippedObject(session_id, "a conversation without words", member.done)
    yield from turns_of(Chat(session_id, str(given.get("name") or ""), member.done, messages))


def _claude_message(said: Mapping[str, Any], n: int) -> dict[str, Any] | str:
    """Return a message, or the reason for skipping it."""
    role = ROLE_OF.get(str(said.get("sender")))
    if role is None:
        return f"sender {said.get('sender')!s:.40}"
    text = _text(said)
    if not text.strip():
        return "no text"
    named = [*objects(said.get("attachments")), *objects(said.get("files"))]
    names = [str(one["file_name"]) for one in named if one.get("file_name")]
    message: dict[str, Any] = {"role": role, "content": text, "id": str(said.get("uuid") or n)}
    if names:
        message["metadata"] = {"attachments": names}
    if said.get("created_at"):
        message["created_at"] = said["created_at"]
    return message


def _text(said: Mapping[str, Any]) -> str:
    """Return the text: that of the text blocks (without tool calls and results), else the message's own.

    A long pasted text is an attachment without a name whose content is in the file; it is included.
    """
    blocks = objects(said.get("content"))
    texts = [str(one["text"]) for one in blocks if one.get("type") == "text" and one.get("text")]
    words = texts or [str(said.get("text") or "")]
    pasted = [
        str(one["extracted_content"])
        for one in objects(said.get("attachments"))
        if not one.get("file_name") and one.get("extracted_content")
    ]
    if not any(word.strip() for word in words):  # the message consists of an attached file only
        pasted = [
            str(one["extracted_content"]) for one in objects(said.get("attachments")) if one.get("extracted_content")
        ]
    return "\n\n".join(one for one in (*words, *pasted) if one.strip())


CLAUDE: Final = Format(read_claude, partial(bytes_of, inside=CHATGPT_FILE))

INSIDE: Final = r".*\.jsonl?"
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
            _given_fields(arguments),
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
            "metadata": {"langgraph": _given_fields(about)},
        }
        yield ImportCall(
            "add",
            f"langgraph:{'/'.join(namespace)}/{given.get('key')}",
            _given_fields(arguments),
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


def _given_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


MEM0: Final = Format(read_mem0, partial(bytes_of, inside=INSIDE))
LANGGRAPH: Final = Format(read_langgraph, partial(bytes_of, inside=INSIDE))
