"""The memory block of LlamaIndex, called by its own memory."""

import asyncio

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as ChatMemory

from phronesis import Memory
from phronesis.adapters.llama_index import PhronesisMemoryBlock


def chat(memory: Memory, session_id: str) -> ChatMemory:
    block = PhronesisMemoryBlock(memory=memory, user_id="lin")
    return ChatMemory.from_defaults(
        session_id=session_id, token_limit=60, token_flush_size=10, chat_history_token_ratio=0.5, memory_blocks=[block]
    )


def test_what_leaves_the_history_is_recalled_in_another_session(memory: Memory) -> None:
    async def talk() -> str:
        first = chat(memory, "one")
        await first.aput(ChatMessage(role="user", content="The staging server is called preprod."))
        await first.aput(ChatMessage(role="assistant", content="Noted."))
        for n in range(6):
            await first.aput(ChatMessage(role="user", content=f"And what about number {n} of the many other things?"))
            await first.aput(ChatMessage(role="assistant", content=f"There is nothing to say of number {n}."))
        second = chat(memory, "two")
        await second.aput(ChatMessage(role="user", content="Which is the staging server?"))
        return str(await second.aget())

    assert "called preprod" in asyncio.run(talk())
    said = [one["content"] for turn in memory.sessions.turns("one", user_id="lin") for one in turn.messages]
    assert said[0] == "The staging server is called preprod."


def test_nothing_is_added_where_nothing_bears(memory: Memory) -> None:
    async def ask(*messages: ChatMessage) -> str:
        return str(await PhronesisMemoryBlock(memory=memory, user_id="lin").aget(list(messages)))

    memory.add("The staging server is called preprod.", user_id="lin")
    assert asyncio.run(ask(ChatMessage(role="user", content="Write a haiku."))) == ""
    assert asyncio.run(ask(ChatMessage(role="system", content="staging server"))) == ""
    assert asyncio.run(PhronesisMemoryBlock(memory=memory).atruncate("text", 5)) is None
