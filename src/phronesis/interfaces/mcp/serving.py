"""The two transports: stdio for a client that starts us, streamable HTTP for those that find us."""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any, Final

import anyio
from mcp.server import MCPServer
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from phronesis.errors import InputError
from phronesis.interfaces.mcp.unreadable import Answering

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""What a browser calls this machine; any other name that leads here is another's."""

GRACE: Final = 5
"""Seconds that open streams are given at the end."""


def run_stdio(server: MCPServer[Any]) -> None:
    """Serve one client over stdin and stdout, until it closes stdin; every request is answered, readable or not."""
    anyio.run(_over_stdio, server)


async def _over_stdio(server: MCPServer[Any]) -> None:
    inner = getattr(server, "_lowlevel_server", None)  # the SDK takes streams nowhere else
    if inner is None:
        await server.run_stdio_async()
        return
    async with stdio_server() as (received, answers):
        await inner.run(Answering(received, answers), answers, inner.create_initialization_options())


def run_http(server: MCPServer[Any], *, host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve over HTTP until SIGINT or SIGTERM; ``say`` is told the address once it is listened at.

    Raises:
        InputError: the host is not of this machine alone, where nobody needs a key, or the port is taken.
    """
    from phronesis.config.serving import Serving  # noqa: PLC0415 - the whole policy: not for stdio
    from phronesis.interfaces.listening import listen, run  # noqa: PLC0415 - uvicorn: the same

    check_loopback(host)
    serving = Serving(host=host, port=port, shutdown_seconds=GRACE)
    run(http_app(server, hosts=(), path="/mcp"), serving, listen(serving), say)


def check_loopback(host: str) -> None:
    """Raise InputError for an address that others than this machine reach."""
    try:
        local = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        local = False
    if not local:
        raise InputError(
            f"host: {host:.80} can be reached by others, and nothing here asks them for a key; use 127.0.0.1, and put a"
            " server that knows its callers before it", field="host",
        )  # fmt: skip


def http_app(server: MCPServer[Any], *, hosts: Sequence[str] | None, path: str) -> Starlette:
    """Give the application (`mcp_app`)."""
    names = [each for name in LOOPBACK for each in (name, f"{name}:*")] + list(hosts or ())
    guard = TransportSecuritySettings(
        enable_dns_rebinding_protection=hosts is not None, allowed_hosts=names,
        allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")],
    )  # fmt: skip
    return server.streamable_http_app(streamable_http_path=path, transport_security=guard)
