"""MCP middleware: determine each request's caller, and hide the tools that the caller may not call."""

from contextvars import ContextVar
from typing import Any, Final

import anyio.to_thread
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from pydantic import ValidationError

from phronesis.interfaces.mcp.request_context import Caller, Callers, Options

REMEDY: Final = "params is an object, of tools/call with name, a text, and arguments, an object"
"""Remedy for request parameters that violate the protocol."""


class Reception:
    """The server's middleware. It keeps the current request for code in the same task or thread."""

    def __init__(self, callers: Callers, options: Options) -> None:
        self.options = options
        self.writing: set[str] = set()
        """Names of the tools that store or change something; add the name of any such tool here."""
        self._callers = callers
        self._request: ContextVar[ServerRequestContext[Any, Any]] = ContextVar("request")

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Answer one request."""
        self._request.set(ctx)
        try:
            result = await call_next(ctx)
        except ValidationError as error:  # the SDK's own message names no cause
            fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
            field = ".".join(map(str, fault["loc"])) or "params"
            raise MCPError(INVALID_PARAMS, f"{ctx.method}: {field}: {fault['msg']}; {REMEDY}") from error
        if ctx.method != "tools/list" or not isinstance(result, dict):  # the SDK gives it serialised
            return result
        caller = await anyio.to_thread.run_sync(self.caller)
        if caller.may("write"):
            return result
        return {**result, "tools": [tool for tool in result["tools"] if tool["name"] not in self.writing]}

    def caller(self) -> Caller:
        """Return the caller; exceptions of `Callers` propagate. It may read a database: not for the event loop."""
        return self._callers(self._request.get())
