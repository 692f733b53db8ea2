"""MCP server: tools, resources and prompts of the Model Context Protocol, over ``Memory``.

``make_mcp`` returns a server of the official SDK, ``mcp_app`` its ASGI application for streamable HTTP. The SDK is
imported only when one of them is called, so importing this package is cheap.
"""

from typing import TYPE_CHECKING, Any

from phronesis.errors import MissingExtra
from phronesis.interfaces.mcp.request_context import Caller, Callers, DeferredMemory, Options, Role, bearer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server import MCPServer
    from starlette.applications import Starlette

    from phronesis.memory import Memory


__all__ = ["Caller", "Callers", "DeferredMemory", "Options", "Role", "bearer", "make_mcp", "mcp_app"]


def make_mcp(memory: "Memory | DeferredMemory | Callers", options: Options | None = None) -> "MCPServer[Any]":
    """Return an MCP server over a memory, or over those that ``memory(context)`` returns for each request.

    Args:
        memory: the memory of every caller; or a `DeferredMemory`, opened by the first call that needs it; or a callable
            that takes the SDK's context of a request (its ``request`` is the HTTP request, None on stdio) and returns a
            `Caller`. It is called in a worker thread, and may raise any of our errors, which the caller receives.
        options: default scope, excluded tools, and more.

    Raises:
        InputError: an option is wrong. MissingExtra: the SDK is not installed.
    """
    _needs_sdk()
    from phronesis.interfaces.mcp.server import built  # noqa: PLC0415 - the SDK: an extra

    return built(memory, options or Options())


def mcp_app(server: "MCPServer[Any]", *, hosts: "Sequence[str] | None" = (), path: str = "/mcp") -> "Starlette":
    """Return the ASGI application that serves ``server`` over streamable HTTP at ``path``.

    Its lifespan must run. Served alone, it does; in a larger application, add its ``routes`` to that one's and enter
    ``app.router.lifespan_context(app)`` in that one's lifespan. Call it once for each server.

    Args:
        server: the result of `make_mcp`.
        hosts: names, with port if any, accepted in ``Host`` and ``Origin`` besides loopback's. Others are refused, so
            that no web page reaches a local server by DNS rebinding. None: any name, for a server whose callers need a
            key.
        path: path of the endpoint.
    """
    _needs_sdk()
    from phronesis.interfaces.mcp.server import http_app  # noqa: PLC0415 - the SDK: an extra

    return http_app(server, hosts=hosts, path=path)


def _needs_sdk() -> None:
    try:
        import mcp.server  # noqa: PLC0415, F401 - an extra, and 300 ms
    except ImportError as error:
        raise MissingExtra('MCP is spoken with its official SDK; pip install "phronesis[mcp]"') from error
