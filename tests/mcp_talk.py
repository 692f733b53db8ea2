"""A client of an MCP server that tests call as plain functions; the connection lives in a thread of its own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Final, Self, TypeVar

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent, TextResourceContents, Tool

Answer = TypeVar("Answer")

ACCEPTS: Final = {"Accept": "application/json, text/event-stream"}
HELLO: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "测试", "version": "1"}},
}
"""The first request of a client, and the headers of each."""


@asynccontextmanager
async def keyed(url: str, token: str) -> AsyncIterator[Any]:
    """Give the transport of a client that sends a key."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


class Talk:
    """What a client asks of ``server``: one of ours, a transport, or a URL. Use it as a context manager."""

    def __init__(self, server: Any, *, mode: str = "auto") -> None:
        self._client = Client(server, mode=mode)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            self._portal = opening.enter_context(start_blocking_portal())
            opening.enter_context(self._portal.wrap_async_context_manager(self._client))
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def ask(self, act: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """Give what ``act`` gives, which gets the connected client."""
        return self._portal.call(act, self._client)

    def tools(self) -> dict[str, Tool]:
        """Give the tools by name, in their order."""
        return {tool.name: tool for tool in self.ask(lambda client: client.list_tools()).tools}

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool; the client checks structured content against the output schema."""
        return self.ask(lambda client: client.call_tool(tool, arguments))

    def call(self, tool: str, **arguments: Any) -> Any:
        """Give the structured content of a call that went well."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def text(self, tool: str, **arguments: Any) -> str:
        """Give the text of a call that went well."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        return said(result)

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Give the error of a call that was refused: ``code``, ``message``, ``field``, ``details``."""
        result = self.result(tool, **arguments)
        assert result.is_error
        assert result.structured_content is None
        assert result.meta is not None
        error: dict[str, Any] = result.meta["phronesis/error"]
        assert said(result).startswith(f"{error['code']}: {error['message']}")
        return error

    def read(self, uri: str) -> str:
        """Give the text of a resource."""
        contents = self.ask(lambda client: client.read_resource(uri)).contents
        assert isinstance(contents[0], TextResourceContents)
        assert contents[0].mime_type == "application/json"
        return contents[0].text

    def prompt(self, prompt: str, **arguments: str) -> str:
        """Give the text of a prompt."""
        messages = self.ask(lambda client: client.get_prompt(prompt, arguments)).messages
        assert isinstance(messages[0].content, TextContent)
        return messages[0].content.text


def said(result: CallToolResult) -> str:
    """Give the text of a result."""
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text
