"""A memory service of Google's Agent Development Kit over a Memory.

``Runner(…, memory_service=PhronesisMemoryService(memory))``. A user's events become turns of the user's memory, and
facts are extracted from what the user says; the name of the app is the namespace of what is shared.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai.types import Content, Part

from phronesis.core.items import Item
from phronesis.errors import NotFound
from phronesis.memory import Memory

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

LIMIT: Final = 10
"""Memories that one search returns at most."""

_UNNAMED: Final = "adk"
"""The session of events that name none."""


class PhronesisMemoryService(BaseMemoryService):
    """The kit's ``BaseMemoryService``. A session may be added again and again: each event is recorded once."""

    def __init__(self, memory: Memory, *, limit: int = LIMIT) -> None:
        self._memory = memory
        self._limit = limit

    async def add_session_to_memory(self, session: "Session") -> None:
        """Record the events of a session that are not recorded yet."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: "Sequence[Event]",
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Record events as one turn."""
        session, owner = session_id or _UNNAMED, {"user_id": user_id, "namespace": app_name}
        await asyncio.to_thread(self._record, session, owner, list(events), custom_metadata)

    def _record(
        self, session: str, owner: dict[str, Any], events: "list[Event]", metadata: Mapping[str, object] | None
    ) -> None:
        turns = self._memory.sessions.turns(session, **owner)
        known = {message.get("id") for turn in turns for message in turn.messages}
        known |= {call.get("id") for turn in turns for call in turn.tool_calls}
        results = {part.id: part.response for event in events for part in event.get_function_responses()}
        messages: list[dict[str, Any]] = []
        calls: list[dict[str, Any]] = []
        for event in events:
            parts = (event.content.parts or ()) if event.content else ()
            text = "\n".join(part.text for part in parts if part.text and not part.thought)
            if text.strip() and event.id not in known:
                said = {"role": "user" if event.author == "user" else "assistant", "content": text, "id": event.id}
                named = {} if event.author == "user" else {"name": event.author}
                messages.append({**said, **named, "created_at": datetime.fromtimestamp(event.timestamp, UTC)})
            calls += [
                {"id": call.id, "name": call.name, "args": call.args, "result": results.get(call.id)}
                for call in event.get_function_calls()
                if call.id not in known
            ]
        if messages or calls:
            given: dict[str, Any] = {"messages": messages, "tool_calls": calls, "metadata": dict(metadata or {})}
            self._memory.commit_turn(session, {name: value for name, value in given.items() if value}, **owner)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember each memory as it stands."""
        for entry in memories:
            text = "\n".join(part.text for part in entry.content.parts or () if part.text)
            metadata = {**(custom_metadata or {}), **entry.custom_metadata}
            await asyncio.to_thread(
                self._memory.add, text, kind="fact", user_id=user_id, namespace=app_name, metadata=metadata
            )

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return what bears on a query; nothing where nothing does."""
        found = await asyncio.to_thread(
            self._memory.search, query, user_id=user_id, namespace=app_name, limit=self._limit
        )
        return SearchMemoryResponse(memories=[] if found.abstained else [_entry(one.item) for one in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Archive a memory of the user, or of the app; one of somebody else is left alone."""
        if memory_id is None:
            return
        try:
            item = await asyncio.to_thread(self._memory.get, memory_id)
        except NotFound:
            return
        if item.user_id == user_id or (item.user_id is None and item.namespace == app_name):
            await asyncio.to_thread(self._memory.delete, memory_id)


def _entry(item: Item) -> MemoryEntry:
    at = item.occurred_at or item.recorded_at
    return MemoryEntry(
        id=item.id,
        content=Content(role="user", parts=[Part(text=item.content)]),
        author=item.name or item.role or item.subject,
        timestamp=at.isoformat(),
        custom_metadata={"kind": item.kind, "citation": item.citation},
    )
