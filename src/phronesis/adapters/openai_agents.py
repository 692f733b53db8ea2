"""A session of the OpenAI Agents SDK over a Memory: conversation history with long-term memory.

``await Runner.run(agent, "Hello", session=PhronesisSession("chat-1", memory))``. The class matches the SDK's protocol
structurally; only the SDK's settings are imported, where it is installed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.adapters.framework_storage import Line, Transcript, run_whole, words_of
from phronesis.errors import Closed, MissingExtra
from phronesis.memory import Memory

_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool"})


class PhronesisSession:
    """The SDK's ``Session``: items are returned unchanged, and facts about the user are extracted from them.

    ``pop_item`` and ``clear_session`` remove items from the history and archive the messages; extracted facts stay. A
    session that opened its Memory closes it with ``close``; from then on it raises Closed. A call that is cancelled is
    in the history as a whole or not at all: one that has begun ends before the cancellation is raised.
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
        """Create a session.

        ``session_settings`` are the SDK's ``SessionSettings`` or a dictionary of its fields, of which only ``limit`` is
        used. TypeError names an unknown field.
        """
        self.session_id = session_id
        self.session_settings = _sdk_settings(session_settings)
        self._transcript = Transcript(
            memory, session_id, form="openai_agents", user_id=user_id, agent_id=agent_id, namespace=namespace
        )
        self._opened: Memory | None = None
        self._is_closed = False

    @classmethod
    def from_url(cls, session_id: str, *, url: str | None = None, **options: Any) -> "PhronesisSession":
        """Open a Memory for this session alone; ``options`` are those of the session. Blocks: call it at the start."""
        memory = Memory.open(url)
        session = cls(session_id, memory, **options)
        session._opened = memory
        return session

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the history, oldest first; with ``limit`` (else the settings') the latest items only."""
        items = await run_whole(self._open_transcript().read)
        most = getattr(self.session_settings, "limit", None) if limit is None else limit
        return items if most is None else items[len(items) - min(max(most, 0), len(items)) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Add items, all or none. InputError if one is not JSON data."""
        await run_whole(self._open_transcript().append, [_line(item) for item in items])

    async def pop_item(self) -> Any:
        """Remove the latest item and return it; None if there is none."""
        return await run_whole(self._open_transcript().pop)

    async def clear_session(self) -> None:
        """Remove all items."""
        await run_whole(self._open_transcript().clear)

    def close(self) -> None:
        """Close the Memory that ``from_url`` opened; a session over one that was passed in stays open with it."""
        if self._opened is not None:
            self._is_closed = True
            self._opened.close()

    def _open_transcript(self) -> Transcript:
        if self._is_closed:
            raise Closed(f"{type(self).__name__} is closed; make it again")
        return self._transcript


def _sdk_settings(given: Any) -> Any:
    """Return the SDK's settings: what is given, a dictionary's, or the default; without the SDK, what is given."""
    if given is not None and not isinstance(given, Mapping):
        return given
    try:
        from agents import SessionSettings  # noqa: PLC0415 - no dependency of ours
    except ImportError as missing:
        if given is None:
            return None
        raise MissingExtra("session_settings as a dictionary need the SDK: pip install openai-agents") from missing
    return SessionSettings().resolve(given)


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
