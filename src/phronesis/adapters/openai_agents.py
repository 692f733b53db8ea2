"""A session of the OpenAI Agents SDK over a Memory: conversation history with long-term memory.

``await Runner.run(agent, "Hello", session=PhronesisSession("chat-1", memory))``. The class matches the SDK's protocol
structurally; nothing of the SDK is imported.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.adapters.transcript import Line, Transcript, words_of
from phronesis.memory import Memory

_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool"})


class PhronesisSession:
    """The SDK's ``Session``: items are returned unchanged, and facts about the user are extracted from them.

    ``pop_item`` and ``clear_session`` remove items from the history and archive the messages; extracted facts stay. A
    session that opened its Memory closes it with ``close``.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        session_settings: Any = None,
    ) -> None:
        """Create a session; of the SDK's ``session_settings`` only ``limit`` is used."""
        self.session_id = session_id
        self.session_settings = session_settings
        self._transcript = Transcript(
            memory, session_id, form="openai_agents", user_id=user_id, agent_id=agent_id, namespace=namespace
        )
        self._opened: Memory | None = None

    @classmethod
    def from_url(cls, session_id: str, *, url: str | None = None, **options: Any) -> "PhronesisSession":
        """Open a Memory for this session alone; ``options`` are those of the session. Blocks: call it at the start."""
        memory = Memory.open(url)
        session = cls(session_id, memory, **options)
        session._opened = memory
        return session

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the history, oldest first; with ``limit`` (else the settings') the latest items only."""
        items = await asyncio.to_thread(self._transcript.read)
        most = self._limit() if limit is None else limit
        return items if most is None else items[len(items) - min(max(most, 0), len(items)) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Add items, all or none. InputError if one is not JSON data."""
        await asyncio.to_thread(self._transcript.append, [_line(item) for item in items])

    async def pop_item(self) -> Any:
        """Remove the latest item and return it; None if there is none."""
        return await asyncio.to_thread(self._transcript.pop)

    async def clear_session(self) -> None:
        """Remove all items."""
        await asyncio.to_thread(self._transcript.clear)

    def close(self) -> None:
        """Close the Memory that ``from_url`` opened; one that was passed in stays open."""
        if self._opened is not None:
            self._opened.close()

    def _limit(self) -> int | None:
        settings = self.session_settings
        given: int | None = settings.get("limit") if isinstance(settings, Mapping) else getattr(settings, "limit", None)
        return given


def _line(item: Any) -> Line:
    """Return an item of the Responses API as a message: text, tool call, tool result or reasoning."""
    form = item if isinstance(item, Mapping) else item.model_dump(exclude_unset=True)
    kind, role = form.get("type"), form.get("role")
    if role in _ROLES:
        return Line(role, words_of(form.get("content")), form)
    if str(kind).endswith("_output"):
        output = form.get("output")
        return Line("tool", words_of(output) or json.dumps(output, ensure_ascii=False), form)
    if kind == "function_call":
        return Line("assistant", f"{form.get('name')}({form.get('arguments')})", form)
    return Line("assistant", words_of(form.get("summary")), form)
