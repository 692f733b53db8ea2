"""The memory store of Strands Agents, called by its own manager in agents with a scripted model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.memory import AddMessagesContext, MemoryManager
from strands.models import Model

from phronesis import Memory
from phronesis.adapters.strands import PhronesisMemoryStore


class Scripted(Model):
    """Answers "Noted."; keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def update_config(self, **_: Any) -> None:
        return

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.sent.append(str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": "Noted."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def ask(memory: Memory, model: Scripted, session_id: str, text: str) -> None:
    store = PhronesisMemoryStore(memory, user_id="lin", session_id=session_id)
    Agent(model=model, memory_manager=MemoryManager(stores=[store]), callback_handler=None)(text)


def test_what_one_session_says_is_added_to_the_next(memory: Memory) -> None:
    model = Scripted()
    ask(memory, model, "one", "The staging server is called preprod.")
    ask(memory, model, "two", "Which is the staging server?")
    ask(memory, model, "three", "Write a haiku.")
    assert [sent.count("called preprod") for sent in model.sent] == [1, 1, 0]
    (turn,) = memory.sessions.turns("one", user_id="lin")
    assert [(one["role"], one["content"]) for one in turn.messages] == [
        ("user", "The staging server is called preprod."),
        ("assistant", "Noted."),
    ]


def test_memories_are_added_and_a_batch_that_is_sent_again_is_recorded_once(memory: Memory) -> None:
    store = PhronesisMemoryStore(memory, user_id="lin", session_id="one")
    batch: list[Any] = [{"role": "user", "content": [{"text": "ok"}]}, {"role": "user", "content": [{"text": "ok"}]}]
    batch.append({"role": "assistant", "content": [{"toolUse": {"toolUseId": "t", "name": "x", "input": {}}}]})

    async def use() -> list[Any]:
        for _ in range(2):
            await store.add("The backup runs at noon.", {"from": "ops"})
            await store.add_messages(batch, AddMessagesContext(sequence_numbers=[3, 4, 5]))
        await store.initialize()
        await store.add_messages(batch, AddMessagesContext(sequence_numbers=[3, 4, 5]))
        other = PhronesisMemoryStore(memory, user_id="ann", writable=False)
        assert MemoryManager(stores=[other]) is not None
        assert await other.search("backup noon") == []
        return await store.search("backup noon", {"max_search_results": 1})

    (found,) = asyncio.run(use())
    assert (found.content, found.metadata["from"]) == ("The backup runs at noon.", "ops")
    assert len(memory.get_all(user_id="lin", kinds=["fact"]).items) == 1
    turns = memory.sessions.turns("one", user_id="lin")
    assert sum(len(turn.messages) for turn in turns) == 4
