"""Lines over stdio that are no message: the SDK passes over them in silence, and whoever asked would wait for ever."""

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

REMEDY: Final = "send one line of JSON in UTF-8, without half of a surrogate pair, nested some hundred deep at most"
"""What to do about a line that cannot be read."""


class Answering:
    """The stream of what a client sends, of which what cannot be read is answered with an error and goes no further."""

    def __init__(self, received: Any, answers: Any) -> None:
        self._received = received
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, as the SDK's own streams tell it."""
        return getattr(self._received, "last_context", None)

    async def receive(self) -> SessionMessage:
        """Give the next message."""
        while isinstance(item := await self._received.receive(), Exception):
            answer = refusal(item)
            if answer is not None:
                await self._answers.send(SessionMessage(answer))
        message: SessionMessage = item
        return message

    async def aclose(self) -> None:
        """Close the stream."""
        await self._received.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()


def refusal(error: Exception) -> JSONRPCError | None:
    """Give the answer to what could not be read, under the id of the request where one can be made out.

    None for an empty line, and for an error that is of no line.
    """
    if not isinstance(error, ValidationError):
        return None
    faults = error.errors(include_url=False, include_context=False)
    first = faults[0]
    if isinstance(first["input"], str) and not first["input"].strip():
        return None
    broken = first["type"] == "json_invalid"
    told = f"{first['msg']}; {REMEDY}" if broken else "this is no request, notification or response of JSON-RPC 2.0"
    named = next((one for fault in faults for one in _id_of(fault["input"])), None)
    return JSONRPCError(
        jsonrpc="2.0", id=named, error=ErrorData(code=PARSE_ERROR if broken else INVALID_REQUEST, message=told)
    )


def _id_of(given: Any) -> Iterator[str | int]:
    """Give the id of a request. Python reads JSON that is not quite text, such as half of a pair of surrogates."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return
    if isinstance(given, dict) and "method" in given and "jsonrpc" in given:
        named = given.get("id")
        if isinstance(named, str | int) and not isinstance(named, bool):
            yield named
