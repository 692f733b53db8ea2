"""A memory store of Strands Agents over a Memory.

``Agent(memory_manager=MemoryManager(stores=[PhronesisMemoryStore(memory, user_id="lin", session_id="chat-1")]))``.
"""

import asyncio
import hashlib
import uuid
from typing import Any, Final

from strands.memory import AddMessagesContext, ExtractionConfig, InvocationTrigger, MemoryEntry, MemoryStore
from strands.memory import SearchOptions as Options

from phronesis.core.results import Evidence
from phronesis.memory import Memory

LIMIT: Final = 5
"""Memories that one search returns at most, where nothing else is asked."""

_HOST: Final = "strands"


class PhronesisMemoryStore(MemoryStore):
    """The ``MemoryStore`` of one agent.

    The manager adds what bears on a prompt to the model's input, and gives the messages of each invocation to
    ``add_messages``, where facts are extracted without a call of the agent's model. ``session_id``: the session in
    which they are recorded; default: one for each store.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        name: str = "phronesis",
        writable: bool = True,
    ) -> None:
        self.name = name
        self.description: str | None = "Long-term memory of the user and of earlier sessions."
        self.max_search_results: int | None = LIMIT
        self.writable = writable
        self.extraction = ExtractionConfig(trigger=InvocationTrigger()) if writable else None
        self._memory = memory
        self._scope: dict[str, Any] = {"user_id": user_id, "namespace": namespace}
        self._run = uuid.uuid4().hex
        self._session_id = session_id or f"{_HOST}-{self._run}"

    async def initialize(self) -> None:
        """Tell the messages of an agent from those of the one before: each counts its own from 0."""
        self._run = uuid.uuid4().hex

    async def search(self, query: str, options: Options | None = None) -> list[MemoryEntry]:
        """Return what bears on a query, best first; nothing where nothing does."""
        limit = (options or {}).get("max_search_results") or LIMIT
        found = await asyncio.to_thread(self._memory.search, query, limit=limit, **self._scope)
        return [] if found.abstained else [_entry(one) for one in found]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Remember a text as it stands. The same text again is the same memory."""
        own_name = f"{_HOST}:{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()}"
        given = {"kind": "fact", "metadata": metadata, "external_id": own_name, **self._scope}
        await asyncio.to_thread(self._memory.add, content, **given)

    async def add_messages(self, messages: list[Any], context: AddMessagesContext | None = None) -> None:
        """Record messages as one turn; a batch that is sent again is recorded once."""
        numbers = (context.sequence_numbers if context else None) or [None] * len(messages)
        said: list[dict[str, Any]] = []
        for number, message in zip(numbers, messages, strict=True):
            text = "\n".join(block["text"] for block in message["content"] if "text" in block)
            if text.strip():
                own_id = {} if number is None else {"id": f"{self._run}-{number}"}
                said.append({"role": message["role"], "content": text, **own_id})
        if said:
            await asyncio.to_thread(
                self._memory.commit_turn, self._session_id, {"messages": said}, agent_id=_HOST, **self._scope
            )


def _entry(found: Evidence) -> MemoryEntry:
    item = found.item
    known = {"id": item.id, "kind": item.kind, "score": found.score, "citation": item.citation}
    return MemoryEntry(content=item.content, metadata={**item.metadata, **known})
