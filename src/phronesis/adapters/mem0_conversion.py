"""Conversion of mem0's ids, filters and results from and to Phronesis' records."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.results import AddResult, HistoryEvent
from phronesis.errors import InputError

NAMES: Final = ("user_id", "agent_id", "run_id")
KINDS: Final = (
    *("message", "fact", "episodic", "profile", "preference", "task", "decision", "event"),
    *("intention", "procedure"),
)
"""Kinds of items that mem0 would call memories."""

EXPIRES: Final = "expiration_date"
_COLUMNS: Final = {
    "id": "id",
    "memory": "content",
    "data": "content",
    "created_at": "recorded_at",
    "updated_at": "updated_at",
    "actor_id": "name",
    "role": "role",
    "agent_id": "agent_id",
    "run_id": "run_id",
}
"""mem0's fields outside the metadata, and the corresponding fields of an item."""

_LOGIC: Final = ("AND", "OR", "NOT")
_SHARED_WITH_NOBODY: Final = "mem0.nobody"
"""A namespace without items: a read of one user's memories excludes shared ones."""


@dataclass(frozen=True, slots=True)
class CallScope:
    """The ids of a call, at least one; ``namespace`` holds memories without a user."""

    user_id: str | None
    agent_id: str | None
    run_id: str | None
    namespace: str

    @property
    def writing(self) -> dict[str, Any]:
        """Arguments of a write: the user's lane, else the shared namespace."""
        shared = self.namespace if self.user_id is None else None
        return {"user_id": self.user_id, "agent_id": self.agent_id, "run_id": self.run_id, "namespace": shared}

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of a read. An agent or a run without a user is looked up across all users, as in mem0."""
        if self.user_id is None:
            return {"agent_id": self.agent_id, "run_id": self.run_id, "across": "tenant"}
        return {**self.writing, "namespace": _SHARED_WITH_NOBODY}


def parse_call_scope(ids: Mapping[str, Any], namespace: str) -> CallScope:
    """Validate the ids among ``ids``; InputError if there is none, or one is empty or contains a space."""
    found = {name: _check_id(ids.get(name), name) for name in NAMES}
    if not any(found.values()):
        raise InputError(
            "At least one of 'user_id', 'agent_id', or 'run_id' must be provided (in search and get_all as filters)",
            field="filters",
        )
    return CallScope(**found, namespace=namespace)


def filters_of(given: Mapping[str, Any], *, show_expired: bool, today: date) -> dict[str, Any]:
    """Convert mem0's filters to Phronesis' own, without the ids."""
    parts = [_translate_filters({name: wanted for name, wanted in given.items() if name not in NAMES})]
    if not show_expired:
        parts.append({"OR": [{f"metadata.{EXPIRES}": None}, {f"metadata.{EXPIRES}": {"gte": today.isoformat()}}]})
    return {"AND": [part for part in parts if part]}


def expiry(value: Any) -> str | None:
    """Return a day in mem0's format, YYYY-MM-DD; None stays None."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    try:
        return (value if isinstance(value, date) else date.fromisoformat(value)).isoformat()
    except (TypeError, ValueError) as error:
        raise InputError("expiration_date must be a valid date in YYYY-MM-DD format", field=EXPIRES) from error


def drop_ids(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata without ids: only the call's own ids count."""
    return {name: value for name, value in (metadata or {}).items() if name not in (*NAMES, "actor_id")}


def _check_id(value: Any, name: str) -> str | None:
    if value is None:
        return None
    text = str(value).strip()
    if not text or any(character.isspace() for character in text):
        raise InputError(f"Invalid {name}: it must not be empty or hold whitespace", field=name)
    return text


def _translate_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, wanted in filters.items():
        if name in _LOGIC:
            if not isinstance(wanted, list) or not wanted:
                raise InputError(f"{name} operator requires a list of conditions", field="filters")
            out[name] = [_translate_filters(one) for one in wanted]
        elif name == "user_id":
            raise InputError("user_id stands beside the other filters, not inside AND, OR or NOT", field="filters")
        else:
            out[_COLUMNS.get(name, f"metadata.{name}")] = {"ne": None} if wanted == "*" else wanted
    return out


def to_mem0_memory(item: Item) -> dict[str, Any]:
    """Return an item as mem0's memory."""
    shown = {
        "id": item.id,
        "memory": item.content,
        "hash": hashlib.md5(item.content.encode("utf-8"), usedforsecurity=False).hexdigest(),
        "created_at": item.recorded_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
    }
    said = {name: getattr(item, _COLUMNS.get(name, name)) for name in (*NAMES, "actor_id", "role")}
    said[EXPIRES] = item.metadata.get(EXPIRES)
    shown |= {name: value for name, value in said.items() if value is not None}
    return {**shown, "metadata": {name: value for name, value in item.metadata.items() if name != EXPIRES} or None}


def search_result(item: Item, score: float | None) -> dict[str, Any]:
    """Return an item as mem0's search result or, without a score, as the result of a lookup by id."""
    return {**to_mem0_memory(item), "score": score}


def events_of(added: AddResult, *, verbatim: bool) -> Iterator[dict[str, Any]]:
    """Yield the events of a write: ADD for new items, UPDATE for refined ones, DELETE for ended ones."""
    for item in added.items:
        event = {"id": item.id, "memory": item.content, "event": "ADD" if item.version == 1 else "UPDATE"}
        yield {**event, "actor_id": item.name, "role": item.role} if verbatim else event
    for item in added.superseded:
        yield {"id": item.id, "memory": item.content, "event": "DELETE"}


def changes_of(item: Item, history: Sequence[HistoryEvent]) -> Iterator[dict[str, Any]]:
    """Yield the changes of an item that mem0 records: of its text, and its end."""
    began = item.recorded_at.isoformat()
    text: str | None = None
    for event in history:
        before, text = text, event.fields.get("content", (None, text))[1]
        status, ended = (event.fields.get(field, (None, None))[1] for field in ("status", "ended"))
        gone = event.op != "create" and (status == "archived" or ended is not None)
        yield {
            "id": event.delta_id,
            "memory_id": item.id,
            "old_memory": before,
            "new_memory": None if gone else text,
            "event": "ADD" if event.op == "create" else "DELETE" if gone else "UPDATE",
            "created_at": began,
            "updated_at": event.at.isoformat(),
            "is_deleted": gone,
            "actor_id": item.name,
            "role": item.role,
        }
