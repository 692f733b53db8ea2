"""A capability of Pydantic AI over a Memory: recall before a run, the run recorded after it.

``Agent("openai:gpt-5", capabilities=[PhronesisMemory(memory, user_id="lin")])``.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai.agent import AgentRunResult
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from phronesis.adapters.agent_hooks import recall, record_run, start_session
from phronesis.adapters.hook_call import HookCall
from phronesis.core.data_delimiters import storable_messages
from phronesis.memory import Memory

_HOST: Final = "pydantic-ai"


@dataclass
class PhronesisMemory(AbstractCapability[Any]):
    """Long-term memory for an agent.

    The user's profile is part of the instructions, which stay the same from run to run; what bears on a prompt is
    added behind it, so that the prompt cache keeps what stands before. Tools that failed become experience in
    ``namespace``. ``session_id``: the session of all runs; default: the conversation of each.
    """

    memory: Memory
    user_id: str | None = None
    namespace: str | None = None
    session_id: str | None = None

    def get_instructions(self) -> Any:
        """Return the user's profile, read at the beginning of a run."""

        async def instructions(ctx: RunContext[Any]) -> str:
            return await asyncio.to_thread(start_session, self.memory, self._call(ctx, "session-start"))

        return instructions

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add what bears on the prompt to the first request of a run."""
        asked = _text(ctx.prompt)
        if ctx.run_step <= 1 and asked.strip():
            found = await asyncio.to_thread(recall, self.memory, self._call(ctx, "prompt", prompt=asked))
            if found:
                last = request_context.messages[-1]
                parts = [*last.parts, UserPromptPart(found)] if isinstance(last, ModelRequest) else []
                request_context.messages = [*request_context.messages[:-1], ModelRequest(parts=parts)]
        return request_context

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Record the prompt, the answer and the tools of a run."""
        await asyncio.to_thread(self._record, ctx, result)
        return result

    def _record(self, ctx: RunContext[Any], result: AgentRunResult[Any]) -> None:
        messages = storable_messages([("user", _text(ctx.prompt)), ("assistant", str(result.output))])
        record_run(self.memory, self._call(ctx, "stop"), messages, _tool_results(result.new_messages()))

    def _call(self, ctx: RunContext[Any], event: str, **payload: Any) -> HookCall:
        session = self.session_id or ctx.conversation_id or ctx.run_id
        given = {"session_id": session, **payload}
        return HookCall(event, host=_HOST, user_id=self.user_id, namespace=self.namespace, payload=given)


def _text(prompt: Any) -> str:
    """Return the text of a prompt, which may be a list with images."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part for part in prompt or () if isinstance(part, str))


def _tool_results(messages: list[ModelRequest | ModelResponse]) -> list[dict[str, Any]]:
    """Return the tool calls of a run with their results, in the form of hooks."""
    calls = {part.tool_call_id: part for one in messages for part in one.parts if isinstance(part, ToolCallPart)}
    out = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart | RetryPromptPart) and part.tool_call_id in calls:
                call = calls[part.tool_call_id]
                ended = getattr(part, "outcome", "success")
                failed = isinstance(part, RetryPromptPart) or ended in {"failed", "retried"}
                text = part.model_response() if isinstance(part, RetryPromptPart) else part.model_response_str()
                row = {"tool_name": call.tool_name, "tool_input": call.args_as_dict(), "tool_use_id": call.tool_call_id}
                out.append(row | ({"error": text} if failed else {"tool_response": text}))
    return out
