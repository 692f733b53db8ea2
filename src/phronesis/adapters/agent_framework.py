"""A context provider of Microsoft Agent Framework over a Memory: recall before a run, the run recorded after it.

``Agent(client, context_providers=[PhronesisContextProvider(memory, user_id="lin")])``.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agent_framework import ContextProvider, Message

from phronesis.adapters.agent_hooks import recall, record_run, start_session
from phronesis.adapters.hook_call import HookCall
from phronesis.core.data_delimiters import storable_messages
from phronesis.memory import Memory

_HOST: Final = "agent-framework"
_SPEAKERS: Final = frozenset({"user", "assistant"})


class PhronesisContextProvider(ContextProvider):
    """Long-term memory for an agent.

    The user's profile is added to the instructions, which stay the same from run to run; what bears on the input is a
    message before it. Tools that failed become experience in ``namespace``. ``session_id``: the session of all runs;
    default: the framework's own.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        session_id: str | None = None,
        source_id: str = "phronesis",
    ) -> None:
        super().__init__(source_id)
        self._memory = memory
        self._user_id = user_id
        self._namespace = namespace
        self._session_id = session_id

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Add the user's profile, and what bears on the input."""
        _ = agent, state
        profile = await asyncio.to_thread(start_session, self._memory, self._call(session, "session-start"))
        if profile:
            context.extend_instructions(self.source_id, profile)
        asked = "\n".join(said["content"] for said in _spoken(context.input_messages) if said["role"] == "user")
        found = await asyncio.to_thread(recall, self._memory, self._call(session, "prompt", prompt=asked))
        if found:
            context.extend_messages(self, [Message("user", [found])])

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        """Record the input, the answer and the tools of a run."""
        _ = agent, state
        if context.response is not None:
            await asyncio.to_thread(self._record, session, context.input_messages, context.response.messages)

    def _record(self, session: Any, asked: list[Message], answered: list[Message]) -> None:
        call = self._call(session, "stop")
        record_run(self._memory, call, _spoken([*asked, *answered]), _tool_results(answered))

    def _call(self, session: Any, event: str, **payload: Any) -> HookCall:
        given = {"session_id": self._session_id or session.session_id, **payload}
        return HookCall(event, host=_HOST, user_id=self._user_id, namespace=self._namespace, payload=given)


def _spoken(messages: Iterable[Message]) -> list[dict[str, str]]:
    """Return what the user and the assistant said, as it may be kept."""
    return storable_messages((one.role, one.text) for one in messages if one.role in _SPEAKERS)


def _tool_results(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the tool calls of a run with their results, in the form of hooks."""
    contents = [content for message in messages for content in message.contents]
    calls = {content.call_id: content for content in contents if content.type == "function_call"}
    out = []
    for content in contents:
        if content.type == "function_result" and content.call_id in calls:
            call = calls[content.call_id]
            given = call.parse_arguments()
            arguments = dict(given) if isinstance(given, Mapping) else {}
            row = {"tool_name": call.name, "tool_input": arguments, "tool_use_id": content.call_id}
            result = {"error": content.exception} if content.exception else {"tool_response": str(content.result)}
            out.append(row | result)
    return out
