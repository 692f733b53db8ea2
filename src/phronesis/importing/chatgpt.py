"""ChatGPT's export: ``conversations.json``, a list of conversations, each a tree of messages with a current branch.

One conversation is held at a time. Of the tree the branch that ends in ``current_node`` is taken in: what was asked
anew or answered again beside it was given up by the person.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from phronesis.core.conversation import ROLES
from phronesis.core.instants import isoformat
from phronesis.importing.chats import Chat, named, turns_of
from phronesis.importing.given import Format, Skipped, Step, mapping, objects
from phronesis.importing.streams import Member, bytes_of, read_members

INSIDE: Final = r"conversations(-\d+)?\.json"
SPOKEN: Final = frozenset({"text", "multimodal_text", "code"})
"""Types of content that somebody wrote or read; the others are the program's own (thoughts, browsing, its memory)."""

LATEST: Final = 253_402_300_800
"""Seconds of the year 10000, which no time reaches."""


def read_chatgpt(path: Path) -> Iterator[Step]:
    """Give each conversation's turns, and what is passed over; see ``docs/how-to/chatgpt.md``."""
    for member in read_members(path, inside=INSIDE):
        conversation = member.value
        if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
            yield Skipped(member.place, member.fault or "no conversation with a mapping", member.done)
            continue
        yield from _conversation(conversation, member)


def _conversation(given: Mapping[str, Any], member: Member) -> Iterator[Step]:
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
        read = _message(said, identity, at)
        if isinstance(read, str):
            yield Skipped(f"{session_id}#{identity}", read, member.done)
        else:
            messages.append(named(read, own))
    if not messages:
        yield Skipped(session_id, "a conversation without words", member.done)
    yield from turns_of(Chat(session_id, str(given.get("title") or ""), member.done, messages))


def _branch(tree: Mapping[str, Any], current: Any) -> list[Mapping[str, Any]]:
    """Give the nodes from the root to the current one; without a current one, to the latest leaf."""
    nodes = {name: node for name, node in tree.items() if isinstance(node, dict)}
    if not isinstance(current, str) or current not in nodes:
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        current = max(leaves, key=lambda name: _at(nodes[name]), default=None)
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(current, str) and current in nodes and current not in seen:
        seen.add(current)
        branch.append(nodes[current])
        current = nodes[current].get("parent")
    return branch[::-1]


def _at(node: Mapping[str, Any]) -> float:
    return _time(mapping(node.get("message")).get("create_time")) or 0.0


def _time(at: Any) -> float | None:
    """Give seconds since 1970; None for what is no time."""
    return float(at) if isinstance(at, int | float) and 0 <= at < LATEST else None


def _message(said: Mapping[str, Any], identity: str, at: Any) -> dict[str, Any] | str:
    """Give a message, or why it is none of those that are kept."""
    author, content, metadata = (mapping(said.get(name)) for name in ("author", "content", "metadata"))
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


def _total(path: Path) -> int:
    return bytes_of(path, inside=INSIDE)


CHATGPT: Final = Format(read_chatgpt, _total)
