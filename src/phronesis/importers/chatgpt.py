"""Importer for ChatGPT's export, ``conversations.json``.

A conversation is a tree of messages. Only the branch that ends in ``current_node`` is imported: the user abandoned the
others by editing or regenerating. What was said to tools and by them is no memory, but for ``bio``, ChatGPT's own
memory: what it kept is a fact. Custom instructions, which each conversation repeats, are one message of the user.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from phronesis.core.entries import ROLES
from phronesis.core.serialization import digest
from phronesis.importers.import_call import (
    LATEST,
    Format,
    ImportCall,
    SkippedObject,
    Step,
    bytes_of,
    mapping_or_empty,
    objects,
    present_fields,
    read_objects,
    text_or_empty,
    time_of,
    turns_of,
    with_external_id,
)

CHATGPT_FILE: Final = r"conversations(-\d+)?\.json"
SPOKEN: Final = frozenset({"text", "multimodal_text"})
"""Content types that a person wrote or read; the others are internal to the program (thoughts, code, browsing)."""
INSTRUCTIONS: Final = "user_editable_context"
"""The content type of custom instructions, hidden at the start of each conversation."""
BIO: Final = "bio"
"""The tool by which ChatGPT keeps a memory."""


Statements = dict[tuple[str, str], tuple[float, str]]
"""When and in which conversation a text was first seen, by what it is and the text: conversations repeat them."""


def read_chatgpt(path: Path) -> Iterator[Step]:
    """Yield each conversation's turns, what is skipped, and at last custom instructions and what ChatGPT kept."""
    statements: Statements = {}
    parse = partial(_chatgpt_conversation, statements)
    lacks = "no conversation with a mapping"
    yield from read_objects(path, inside=CHATGPT_FILE, fits=is_chatgpt, lacks=lacks, parse=parse)
    for (about, text), (seconds, conversation_id) in statements.items():
        yield _statement_call(about, text, seconds=seconds, conversation_id=conversation_id)


def is_chatgpt(given: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation of ChatGPT's export."""
    return isinstance(given.get("mapping"), Mapping)


def _chatgpt_conversation(statements: Statements, given: Mapping[str, Any], place: str) -> Iterator[Step]:
    session_id = f"chatgpt:{given.get('conversation_id') or given.get('id') or place}"
    messages = []
    at = given.get("create_time")
    for n, node in enumerate(_branch(given["mapping"], given.get("current_node"))):
        said = node.get("message")
        if not isinstance(said, dict):
            continue  # the root of the tree
        at = said.get("create_time") or at
        own = said.get("id") or node.get("id")
        identity = str(own or n)
        if stated := _custom_instructions(said) or _kept(said):
            first = (_seconds(at), session_id.partition(":")[2])
            statements |= {one: min(statements.get(one, first), first) for one in stated.items()}
            continue
        read = _chatgpt_message(said, identity, at)
        if isinstance(read, str):
            yield SkippedObject(f"{session_id}#{identity}", read)
        else:
            messages.append(with_external_id(read, own))
    if not messages:
        yield SkippedObject(session_id, "a conversation without words")
    yield from turns_of(session_id, messages, title=str(given.get("title") or ""))


def _custom_instructions(said: Mapping[str, Any]) -> dict[str, str]:
    """Return what a message of custom instructions says, as the user wrote it; nothing for another message."""
    content, metadata = mapping_or_empty(said.get("content")), mapping_or_empty(said.get("metadata"))
    as_written = mapping_or_empty(metadata.get("user_context_message_data"))
    if content.get("content_type") != INSTRUCTIONS and not as_written:
        return {}
    texts = {}
    for name, wrapped in (("about_user_message", "user_profile"), ("about_model_message", "user_instructions")):
        text = text_or_empty(content.get(wrapped))
        _, _, rest = text.partition("```")  # ChatGPT wraps a user's own words in fences
        inside = rest.rpartition("```")[0].strip() if "```" in rest else text
        texts[name] = text_or_empty(as_written.get(name)) or inside
    return {name: text for name, text in texts.items() if text}


def _kept(said: Mapping[str, Any]) -> dict[str, str]:
    """Return what ChatGPT kept by a message; nothing for a message to somebody else."""
    text = _message_text(mapping_or_empty(said.get("content"))) if said.get("recipient") == BIO else ""
    return {BIO: text} if text else {}


def _statement_call(about: str, text: str, *, seconds: float, conversation_id: str) -> ImportCall:
    """Return the message of the user that custom instructions are, or the fact that ChatGPT kept."""
    name = f"chatgpt:{about}#{digest(text)[:16]}"
    kept = about == BIO
    own = {"tool": BIO} if kept else {"custom_instructions": about}
    arguments = {
        "content": text,
        "kind": "fact" if kept else None,
        "occurred_at": time_of(seconds),
        "external_id": name,
        "metadata": {"chatgpt": {**own, "conversation": conversation_id}},
    }
    return ImportCall("add", name, present_fields(arguments), identity={"chatgpt": own})


def _branch(tree: Mapping[str, Any], current: Any) -> list[Mapping[str, Any]]:
    """Return the nodes from the root to the current one or, without one, to the latest leaf."""
    nodes = {name: node for name, node in tree.items() if isinstance(node, dict)}
    if not isinstance(current, str) or current not in nodes:
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        made = {name: _seconds(mapping_or_empty(nodes[name].get("message")).get("create_time"), 0.0) for name in leaves}
        current = max(leaves, key=made.__getitem__, default=None)
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current in nodes and current not in seen:
        seen.add(current)
        branch.append(nodes[current])
        current = nodes[current].get("parent")
    return branch[::-1]


def _seconds(at: Any, otherwise: float = LATEST) -> float:
    """Return seconds since 1970, or another number if the value is not a time."""
    return float(at) if isinstance(at, int | float) and 0 <= at < LATEST else otherwise


def _chatgpt_message(said: Mapping[str, Any], identity: str, at: Any) -> dict[str, Any] | str:
    """Return a message, or the reason for skipping it."""
    author, content, metadata = (mapping_or_empty(said.get(name)) for name in ("author", "content", "metadata"))
    role, form = str(author.get("role")), str(content.get("content_type"))
    if role not in ROLES:
        return f"role {role:.40}"
    if role == "system" or metadata.get("is_visually_hidden_from_conversation"):
        return "hidden from the conversation"
    if role == "tool":
        return "said by a tool"
    if said.get("recipient") not in {None, "", "all"}:
        return "said to a tool"
    if form not in SPOKEN:
        return f"content of type {form:.40}"
    text = _message_text(content)
    if not text:
        return "no text"
    attached = [str(one["name"]) for one in objects(metadata.get("attachments")) if one.get("name")]
    kept = {"attachments": attached or None, "model": metadata.get("model_slug") or None}
    message = {"role": role, "content": text, "id": identity, "metadata": present_fields(kept)}
    name = str(author["name"]) if author.get("name") else None
    return present_fields({**message, "name": name, "created_at": time_of(at)})


def _message_text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts")
    given = parts if isinstance(parts, list) else [content.get("text")]
    texts = (part.get("text") if isinstance(part, dict) else part for part in given)  # a dict: transcript, or image
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


CHATGPT: Final = Format(
    read_chatgpt,
    partial(bytes_of, inside=CHATGPT_FILE),
    "ChatGPT's export: conversations.json, or the zip archive around it, of conversations with a mapping",
    fits=is_chatgpt,
)
