"""A memory block of LlamaIndex over a Memory: long-term memory beside the chat history.

``Memory.from_defaults(session_id="chat-1", memory_blocks=[PhronesisMemoryBlock(memory=phronesis, user_id="lin")])``.
"""

import asyncio
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field

from phronesis.adapters.agent_hooks import recall
from phronesis.adapters.hook_call import HookCall
from phronesis.memory import Memory

_ROLES: Final = {MessageRole.USER: "user", MessageRole.ASSISTANT: "assistant"}
_UNNAMED: Final = "llama-index"
"""The session of messages that name none."""


class PhronesisMemoryBlock(BaseMemoryBlock[str]):
    """LlamaIndex's ``BaseMemoryBlock``: what bears on the last message of the user; empty where nothing does.

    It records the messages that leave the chat history, and those that are put into it directly.
    """

    name: str = Field(default="phronesis", description="The name of the block.")
    memory: Any = Field(description="The Memory to read and to write.")
    user_id: str | None = Field(default=None, description="Whose memory is meant; None: the shared one.")
    namespace: str | None = Field(default=None, description="Which shared memory.")

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = next((one.content for one in reversed(messages or []) if one.role == MessageRole.USER), None)
        if not asked:
            return ""
        payload = {"prompt": asked, "session_id": block_kwargs.get("session_id") or _UNNAMED}
        call = HookCall("prompt", _UNNAMED, self.user_id, self.namespace, payload)
        return await asyncio.to_thread(recall, self._store, call)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for session, said in _by_session(messages).items():
            await asyncio.to_thread(
                self._store.commit_turn, session, {"messages": said}, user_id=self.user_id, namespace=self.namespace
            )

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return None: a part of what was recalled may mislead."""
        _ = content, tokens_to_truncate
        return None

    @property
    def _store(self) -> Memory:
        store: Memory = self.memory
        return store


def _by_session(messages: list[ChatMessage]) -> dict[str, list[dict[str, str]]]:
    """Return what the user and the assistant said, by the session in which the framework marked it."""
    out: dict[str, list[dict[str, str]]] = {}
    for message in messages:
        role, text = _ROLES.get(message.role), message.content
        if role is not None and text and text.strip():
            session = str(message.additional_kwargs.get("session_id") or _UNNAMED)
            out.setdefault(session, []).append({"role": role, "content": text})
    return out
