"""LangChain adapters: a retriever of evidence, and a chat message history.

``PhronesisRetriever(memory=memory, user_id="lin", k=5)`` and ``PhronesisChatMessageHistory("chat-1", memory)``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.adapters.framework_storage import Line, Transcript, words_of
from phronesis.core.results import Evidence
from phronesis.core.serialization import as_json
from phronesis.errors import MissingExtra
from phronesis.memory import Memory

try:
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import messages_from_dict, messages_to_dict
    from langchain_core.retrievers import BaseRetriever
except ImportError as missing:
    raise MissingExtra("phronesis.adapters.langchain needs LangChain: pip install langchain-core") from missing

_ROLES: Final = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
"""Roles of LangChain's message types; any other type is the user's."""


class PhronesisRetriever(BaseRetriever):
    """Evidence as documents, best first: ``page_content`` is the item's text, ``metadata`` its source.

    Metadata are the item's own, plus ``id``, ``kind``, ``score``, ``recorded_at`` and ``sources``. Async calls run on a
    thread.
    """

    memory: Any
    """The Memory that is searched."""
    k: int = 10
    """Maximum number of documents."""
    user_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    namespace: str | None = None
    kinds: Sequence[str] | None = None
    filters: Mapping[str, Any] | None = None

    @classmethod
    def from_url(cls, url: str | None = None, **options: Any) -> "PhronesisRetriever":
        """Open a Memory by its URL; ``retriever.memory.close()`` closes it."""
        return cls(memory=Memory.open(url), **options)

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **asked: Any) -> list[Any]:  # noqa: ARG002 - LangChain's name
        found = self.memory.search(
            query,
            limit=asked.get("k", self.k),
            user_id=self.user_id,
            agent_id=self.agent_id,
            session_id=self.session_id,
            namespace=self.namespace,
            kinds=self.kinds,
            filters=self.filters,
        )
        return [_document(one) for one in found]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **asked: Any) -> list[Any]:
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager, **asked)


class PhronesisChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, exactly as added, for ``RunnableWithMessageHistory`` and agents.

    Facts about the user are extracted from them. ``clear`` empties the history and archives the messages.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
    ) -> None:
        self._transcript = Transcript(
            memory, session_id, form="langchain", user_id=user_id, agent_id=agent_id, namespace=namespace
        )

    @classmethod
    def from_url(cls, session_id: str, *, url: str | None = None, **options: Any) -> "PhronesisChatMessageHistory":
        """Open a Memory by its URL; ``history.memory.close()`` closes it."""
        return cls(session_id, Memory.open(url), **options)

    @property
    def memory(self) -> Memory:
        """The Memory that holds the messages."""
        return self._transcript.memory

    @property
    def messages(self) -> list[Any]:
        """All messages, oldest first."""
        return list(messages_from_dict(self._transcript.read()))

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages, all or none."""
        self._transcript.append([_line(message) for message in messages])

    def clear(self) -> None:
        """Remove all messages."""
        self._transcript.clear()


def _document(found: Evidence) -> Any:
    item = found.item
    known = {
        "id": item.id,
        "kind": item.kind,
        "score": found.score,
        "recorded_at": item.recorded_at.isoformat(),
        "sources": as_json(found.sources),
    }
    return Document(id=item.id, page_content=item.content, metadata={**item.metadata, **known})


def _line(message: Any) -> Line:
    (form,) = messages_to_dict([message])
    said = str(message.role) if message.type == "chat" else _ROLES.get(message.type, "user")
    role = said if said in _ROLES.values() else "user"
    return Line(role, words_of(message.content), form, name=message.name or None)
