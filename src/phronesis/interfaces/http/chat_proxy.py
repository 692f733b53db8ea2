"""Chat completions with memory: requests in OpenAI's format, answered by another server, with memory added.

A client that sets its base URL to ``…/v1`` of this server has memory and changes nothing else. The profile of the user
follows the client's own system messages, and what bears on the last message stands before it, so that a prompt cache
keeps what comes first. The message and the answer are recorded as a turn.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final

import pydantic
from fastapi import APIRouter, Body, Header, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.background import BackgroundTask

from phronesis.config import read_key
from phronesis.config.server import UpstreamServer
from phronesis.core.context import ContextPackage
from phronesis.errors import InputError, MissingExtra, ServerUnavailable
from phronesis.interfaces.authentication import Caller
from phronesis.interfaces.http.dependencies import Writing

DEFAULT_SESSION: Final = "chat"
"""The session of requests that name none."""

CONTEXT_HEADER: Final = "X-Phronesis-Context"
"""Names the context that was added, for ``commit_turn`` and the page of contexts."""

_PASSED_ON: Final = ("content-type", "openai-", "retry-after", "x-ratelimit-", "x-should-retry")
"""Beginnings of the names of headers that the client is given."""

_DATA: Final = b"data:"


@dataclass(slots=True)
class ChatProxy:
    """Sends chat completions to one server."""

    upstream: UpstreamServer
    _client: Any = field(init=False)

    def __post_init__(self) -> None:
        """Open a client; MissingExtra without the HTTP library, InputError without the key."""
        try:
            import httpx2  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtra("server.upstream needs: pip install 'phronesis[models]'") from error
        key = read_key(self.upstream.api_key_env, what="server.upstream", field="policy.server.upstream.api_key_env")
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._client = httpx2.AsyncClient(
            base_url=self.upstream.base_url, headers=headers, timeout=self.upstream.timeout
        )

    def lifespan(self, lifespan: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return an application's lifespan at whose end the connections are closed."""

        @contextlib.asynccontextmanager
        async def both(app: Any) -> AsyncIterator[Any]:
            async with lifespan(app) as state:
                yield state
            await self._client.aclose()

        return both

    async def answer(self, exchange: "Exchange") -> Response:
        """Send a request with its context, and pass the answer on as it comes."""
        import httpx2  # noqa: PLC0415 - an extra

        package = await run_in_threadpool(exchange.compose)
        sent = self._client.build_request("POST", "chat/completions", json=exchange.body_with(package))
        try:
            received = await self._client.send(sent, stream=True)
        except httpx2.HTTPError as error:
            raise ServerUnavailable(f"server.upstream gave no answer: {type(error).__name__}") from error
        headers = {name: value for name, value in received.headers.items() if name.lower().startswith(_PASSED_ON)}
        headers |= {} if package is None else {CONTEXT_HEADER: package.context_id}
        gathered: list[bytes] = []
        return StreamingResponse(
            _pass_on(received, gathered),
            status_code=received.status_code,
            headers=headers,
            background=BackgroundTask(partial(exchange.record, received.is_success, gathered, package)),
        )


async def _pass_on(received: Any, gathered: list[bytes]) -> AsyncIterator[bytes]:
    try:
        async for chunk in received.aiter_bytes():
            gathered.append(chunk)
            yield chunk
    finally:
        await received.aclose()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request: its caller, its body, and whose memory is meant."""

    caller: Caller
    body: Mapping[str, Any]
    session_id: str
    user_id: str | None
    namespace: str | None
    token_budget: int

    @property
    def _scope(self) -> dict[str, Any]:
        return {"user_id": self.user_id, "namespace": self.namespace}

    @property
    def _asked(self) -> str:
        """The text of the last message, if the user said it; empty after a tool's result, which continues a turn."""
        last = self.body["messages"][-1]
        return _text(last.get("content")) if last.get("role") == "user" else ""

    def compose(self) -> ContextPackage | None:
        """Return the context of the last message; None if there is none to compose for."""
        if not self._asked.strip():
            return None
        memory = self.caller.memory
        tokens = memory.admin.components.count_tokens(self._asked)
        return memory.compose_context(
            self.session_id, self._asked, token_budget=self.token_budget + tokens, **self._scope
        )

    def body_with(self, package: ContextPackage | None) -> dict[str, Any]:
        """Return the request with the context in it."""
        given = list(self.body["messages"])
        if package is None:
            return dict(self.body)
        own = next((n for n, one in enumerate(given) if one.get("role") not in {"system", "developer"}), len(given))
        stable = package.messages[: package.stable_messages] if package.system_blocks or package.evidence else ()
        evidence = package.messages[-2:-1] if package.evidence else ()
        messages = [*given[:own], *map(dict, stable), *given[own:-1], *map(dict, evidence), given[-1]]
        return {**self.body, "messages": messages}

    def record(self, succeeded: bool, gathered: list[bytes], package: ContextPackage | None) -> None:
        """Record the message and its answer as a turn; a call of tools is recorded when its answer has come."""
        reply = _reply(b"".join(gathered)) if succeeded else ""
        said = [("user", self._asked), ("assistant", reply)]
        messages = [{"role": role, "content": text} for role, text in said if text.strip()]
        if succeeded and messages:
            self.caller.memory.commit_turn(
                self.session_id,
                {"messages": messages},
                context_id=None if package is None else package.context_id,
                actor=self.caller.actor,
                wait=False,
                **self._scope,
            )


def _text(content: Any) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(one["text"]) for one in parts if isinstance(one, dict) and isinstance(one.get("text"), str))


def _reply(raw: bytes) -> str:
    """Return the text of an answer, of one object or of a stream of events; empty if it cannot be read."""
    events = [line[len(_DATA) :] for line in raw.splitlines() if line.startswith(_DATA)] or [raw]
    texts = []
    for event in events:
        with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError):  # an event without a choice
            choice = json.loads(event)["choices"][0]
            if not choice.get("index"):
                texts.append(_text((choice.get("delta") or choice.get("message")).get("content")))
    return "".join(texts)


class _Place(pydantic.BaseModel):
    """Headers that say whose memory is meant."""

    x_phronesis_session: str | None = pydantic.Field(None, description="The session; default: chat.")
    x_phronesis_user: str | None = pydantic.Field(None, description="The user; default: the body's `user`.")
    x_phronesis_namespace: str | None = pydantic.Field(None, description="Which shared memory.")


def chat_router(proxy: ChatProxy) -> APIRouter:
    """Return the route of chat completions."""
    router = APIRouter(tags=["chat"])
    budget = proxy.upstream.token_budget

    @router.post("/v1/chat/completions", response_class=Response)
    async def complete_chat(
        caller: Writing, body: Annotated[dict[str, Any], Body()], place: Annotated[_Place, Header()]
    ) -> Response:
        """Complete a chat with what is remembered, in OpenAI's format."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
            raise InputError("messages must be a list of at least one message", field="messages")
        user = place.x_phronesis_user or body.get("user") or None
        if not isinstance(user, str | None):
            raise InputError("user must be a string: whose memory is meant", field="user")
        exchange = Exchange(
            caller,
            body,
            session_id=place.x_phronesis_session or DEFAULT_SESSION,
            user_id=caller.acting_user(user),
            namespace=place.x_phronesis_namespace,
            token_budget=budget,
        )
        return await proxy.answer(exchange)

    return router
