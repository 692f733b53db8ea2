"""The messages of one session in a framework's own form: kept in the log as turns, and returned exactly.

Each entry is a message of a turn, so facts are extracted from it and it is found by search; the framework's form is in
the message's metadata. Removing entries is recorded as a tool call of the session, and archives their items.
``Memory.erase(session_id=…)`` removes the text permanently.
"""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from phronesis.core.items import Item
from phronesis.errors import InputError
from phronesis.memory import Memory

REMOVED: Final = "session.remove"
"""The tool call that records which messages were removed from the conversation."""

_PAGE: Final = 1_000

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Line:
    """One entry: its role, its text, and its own form, which must be JSON data."""

    role: str
    words: str
    form: Any
    name: str | None = None


class Transcript:
    """The entries of one session written by one framework, identified by ``form``. Thread-safe."""

    def __init__(
        self,
        memory: Memory,
        session_id: str,
        *,
        form: str,
        user_id: str | None,
        agent_id: str | None,
        namespace: str | None,
    ) -> None:
        self.memory = memory
        self.session_id = session_id
        self._form = form
        self._lane: dict[str, Any] = {"user_id": user_id, "namespace": namespace}
        self._writing = {**self._lane, "agent_id": agent_id}
        self._lock = threading.Lock()

    def read(self) -> list[Any]:
        """Return the forms of all entries, oldest first."""
        return list(self._entries().values())

    def append(self, lines: Sequence[Line]) -> None:
        """Add entries, all or none."""
        if lines:
            turn = {"messages": [self._message(line) for line in lines]}
            self.memory.commit_turn(self.session_id, turn, **self._writing)

    def pop(self) -> Any:
        """Remove the last entry and return its form; None if there is none."""
        with self._lock:
            entries = self._entries()
            if not entries:
                return None
            last = next(reversed(entries))
            self._remove([last])
            return entries[last]

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            entries = list(self._entries())
            if entries:
                self._remove(entries)

    def _message(self, line: Line) -> dict[str, Any]:
        try:
            form = json.dumps(line.form, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"an entry of a session must be JSON data: {error}", field="items") from error
        words = line.words
        if not words.strip() and line.role not in ("assistant", "tool"):
            words = form  # such a message needs some text
        message = {"id": uuid.uuid4().hex, "role": line.role, "content": words, "metadata": {self._form: form}}
        return message if line.name is None else {**message, "name": line.name}

    def _entries(self) -> dict[str, Any]:
        """Return forms by message id, without erased messages and those of other writers."""
        entries: dict[str, Any] = {}
        for turn in self.memory.sessions.turns(self.session_id, **self._lane):
            for message in turn.messages:
                form = (message.get("metadata") or {}).get(self._form)
                if form is not None:
                    entries[message["id"]] = json.loads(form)
            for gone in _removed_ids(turn.tool_calls):
                entries.pop(gone, None)
        return entries

    def _remove(self, message_ids: Sequence[str]) -> None:
        for item in list(self._items(message_ids)):
            self.memory.delete(item.id, reason="taken out of its session")
        # Recorded last: after an interruption the entries are still listed, and the next call removes them again.
        call = {"name": REMOVED, "args": {"message_ids": list(message_ids)}, "status": "ok"}
        self.memory.commit_turn(self.session_id, {"tool_calls": [call]}, **self._writing)

    def _items(self, message_ids: Sequence[str]) -> Iterator[Item]:
        for start in range(0, len(message_ids), _PAGE):
            said = {"message_id": {"in": list(message_ids[start : start + _PAGE])}}
            yield from self.memory.get_all(
                **self._lane, session_id=self.session_id, kinds=["message"], filters=said, limit=_PAGE
            )
        # No other listing includes quarantined items.
        held = self.memory.quarantine.list(**self._lane, session_id=self.session_id, limit=_PAGE)
        gone = frozenset(message_ids)
        yield from (item for item in held if item.message_id in gone and item.status == "active")


async def run_whole(call: Callable[..., _Result], *given: Any) -> _Result:
    """Run a call on a thread. If it is cancelled before it begins, it never does; else it ends before the cancellation.

    So whoever cancels a write finds all of it in the log, or nothing, and none comes later.
    """
    turn = threading.Lock()  # held by the side that was first: the call, or its cancellation

    def run() -> _Result | None:
        return call(*given) if turn.acquire(blocking=False) else None

    running = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return cast("_Result", await asyncio.shield(running))
    except asyncio.CancelledError:
        if not turn.acquire(blocking=False):
            await asyncio.wait([running])
            _ = running.exception()  # the cancellation is raised in its stead
        raise


def words_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, Sequence) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _removed_ids(tool_calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for call in tool_calls:
        if call.get("name") == REMOVED:
            yield from call.get("args", {}).get("message_ids", ())
