"""The memory service of Google ADK, called by its own runner with a scripted model."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import preload_memory
from google.genai.types import Content, Part
from pydantic import Field

from phronesis import Memory
from phronesis.adapters.google_adk import PhronesisMemoryService

APP, USER = "lab", "lin"


class Scripted(BaseLlm):
    """Answers "Noted."; keeps what it was asked."""

    asked: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - the kit's signature
    ) -> AsyncGenerator[LlmResponse, None]:
        self.asked.append(str(llm_request.config.system_instruction) + str(llm_request.contents))
        yield LlmResponse(content=Content(role="model", parts=[Part(text="Noted.")]))


def say(memory: Memory, session_id: str, text: str) -> str:
    """Run one turn in a new session, add the session to memory twice, and return what the model was sent."""
    model, sessions, service = Scripted(model="scripted"), InMemorySessionService(), PhronesisMemoryService(memory)
    agent = LlmAgent(name="helper", model=model, tools=[preload_memory])
    runner = Runner(app_name=APP, agent=agent, session_service=sessions, memory_service=service)

    async def turn() -> None:
        await sessions.create_session(app_name=APP, user_id=USER, session_id=session_id)
        message = Content(role="user", parts=[Part(text=text)])
        async for _ in runner.run_async(user_id=USER, session_id=session_id, new_message=message):
            pass
        session = await sessions.get_session(app_name=APP, user_id=USER, session_id=session_id)
        assert session is not None
        await service.add_session_to_memory(session)
        await service.add_session_to_memory(session)

    asyncio.run(turn())
    return "\n".join(model.asked)


def test_what_one_session_says_is_preloaded_in_the_next(memory: Memory) -> None:
    assert "preprod" not in say(memory, "one", "The staging server is called pre prod one.")
    assert "pre prod one" in say(memory, "two", "Which is the staging server?")
    (turn,) = memory.sessions.turns("one", user_id=USER)
    assert [(one["role"], one["content"]) for one in turn.messages] == [
        ("user", "The staging server is called pre prod one."),
        ("assistant", "Noted."),
    ]


def test_memories_are_added_found_and_deleted_by_their_owner_alone(memory: Memory) -> None:
    service = PhronesisMemoryService(memory)

    def call(coroutine: Any) -> Any:
        return asyncio.run(coroutine)

    entry = MemoryEntry(content=Content(parts=[Part(text="The backup runs at noon.")]), custom_metadata={"from": "ops"})
    call(service.add_memory(app_name=APP, user_id=USER, memories=[entry]))
    (found,) = call(service.search_memory(app_name=APP, user_id=USER, query="backup noon")).memories
    assert found.content.parts[0].text == "The backup runs at noon."
    assert memory.get(found.id).metadata["from"] == "ops"
    assert call(service.search_memory(app_name=APP, user_id="ann", query="backup noon")).memories == []
    for user, memory_id in (("ann", found.id), (USER, None), (USER, "01a22815-9734-8bd6-8c52-e19a2c5e7df5")):
        call(service.delete_memory(app_name=APP, user_id=user, memory_id=memory_id))
    assert memory.get(found.id).live
    call(service.delete_memory(app_name=APP, user_id=USER, memory_id=found.id))
    assert not memory.get(found.id).live
