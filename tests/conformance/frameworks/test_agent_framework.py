"""The context provider of Microsoft Agent Framework, in agents with a scripted client."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, Message, tool

from phronesis import Memory
from phronesis.adapters.agent_framework import PhronesisContextProvider


class Scripted(FunctionInvocationLayer[Any], BaseChatClient[Any]):
    """A client that calls the tool ``build`` when it is told to, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    async def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,  # noqa: ARG002 - the framework's signature
        options: Mapping[str, Any],
        **_: Any,
    ) -> ChatResponse[Any]:
        said = "\n".join(f"{one.role}: {one.text}" for one in messages)
        self.sent.append(f"{options.get('instructions')}\n{said}")
        last = messages[-1]
        if last.role == "user" and "build it" in last.text:
            call = Content.from_function_call("c1", "build", arguments={"command": "make all"})
            return ChatResponse(messages=[Message("assistant", [call])])
        return ChatResponse(messages=[Message("assistant", ["Noted."])])


@tool(approval_mode="never_require")  # type: ignore[untyped-decorator]  # the framework is not installed beside mypy
def build(command: str) -> str:
    """Build the engine."""
    raise RuntimeError(f"{command}: no rule")


def ask(memory: Memory, client: Scripted, text: str) -> Any:
    provider = PhronesisContextProvider(memory, user_id="lin", namespace="engine")
    agent = Agent(client, tools=[build], context_providers=[provider])
    return asyncio.run(agent.run(text, session=agent.create_session())).text


def test_what_one_run_says_is_recalled_in_the_next(memory: Memory) -> None:
    client = Scripted()
    assert ask(memory, client, "The staging server is called preprod. I'm allergic to acetone.") == "Noted."
    assert client.sent[0].count("preprod") == 1
    ask(memory, client, "Which is the staging server?")
    assert "user) The staging server is called preprod." in client.sent[-1]
    assert "acetone" in client.sent[-1].partition("user: ")[0]
    ask(memory, client, "Write a haiku.")
    assert "preprod" not in client.sent[-1]
    assert len(memory.sessions.list(user_id="lin")) == 3


def test_a_tool_that_failed_becomes_experience(memory: Memory) -> None:
    client = Scripted()
    ask(memory, client, "Please build it.")
    (event,) = memory.get_all(namespace="engine", kinds=["l1"])
    assert "make all" in event.content
    assert "no rule" in event.content
    ask(memory, client, "run make all for the engine")
    assert "make all" in client.sent[-1].replace("run make all for the engine", "")
