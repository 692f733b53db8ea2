"""The dictionaries that mem0 gives, made of Phronesis' records."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.adapters.mem0.scoping import EXPIRES
from phronesis.core.items import Item
from phronesis.core.results import AddResult, HistoryEvent

UPDATED: Final = "Memory updated successfully!"
DELETED: Final = "Memory deleted successfully!"
ALL_DELETED: Final = "Memories deleted successfully!"


def memory_of(item: Item) -> dict[str, Any]:
    """Give an item as mem0 gives a memory."""
    shown = {
        "id": item.id, "memory": item.content, "hash": _hash(item.content),
        "created_at": item.recorded_at.isoformat(), "updated_at": item.updated_at.isoformat(),
    }  # fmt: skip
    said = {"user_id": item.user_id, "agent_id": item.agent_id, "run_id": item.run_id, "actor_id": item.name,
            "role": item.role, EXPIRES: item.metadata.get(EXPIRES)}  # fmt: skip
    shown |= {name: value for name, value in said.items() if value is not None}
    metadata = {name: value for name, value in item.metadata.items() if name != EXPIRES}
    return {**shown, "metadata": metadata} if metadata else {**shown, "metadata": None}


def scored(item: Item, score: float | None) -> dict[str, Any]:
    """Give an item as mem0 gives what a search found, or, without a score, what was asked for by its id."""
    return {**memory_of(item), "score": score}


def events_of(added: AddResult, *, verbatim: bool) -> Iterator[dict[str, Any]]:
    """Yield what a write did: ADD of what is new, UPDATE of what is said more fully, DELETE of what it ended."""
    for item in added.items:
        event = {"id": item.id, "memory": item.content, "event": "ADD" if item.version == 1 else "UPDATE"}
        yield {**event, "actor_id": item.name, "role": item.role} if verbatim else event
    for item in added.superseded:
        yield {"id": item.id, "memory": item.content, "event": "DELETE"}


def changes_of(item: Item, history: Sequence[HistoryEvent]) -> Iterator[dict[str, Any]]:
    """Yield the changes of an item that mem0 would know: of its words, and its end."""
    began = item.recorded_at.isoformat()
    text: str | None = None
    for event in history:
        before, text = text, event.fields.get("content", (None, text))[1]
        name = _event(event.fields, first=event.op == "create")
        yield {
            "id": event.delta_id, "memory_id": item.id, "old_memory": before,
            "new_memory": None if name == "DELETE" else text, "event": name, "created_at": began,
            "updated_at": event.at.isoformat(), "is_deleted": name == "DELETE", "actor_id": item.name,
            "role": item.role,
        }  # fmt: skip


def _event(fields: Mapping[str, Sequence[Any]], *, first: bool) -> str:
    if first:
        return "ADD"
    gone = fields.get("status", (None, None))[1] == "archived" or fields.get("ended", (None, None))[1] is not None
    return "DELETE" if gone else "UPDATE"


def _hash(text: str) -> str:
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()
