"""An application served on a port of this machine, for tests that speak HTTP."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import httpx2
import uvicorn
from starlette.applications import Starlette


def free_port() -> int:
    """Give a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str) -> None:
    """Return as soon as something answers."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(httpx2.HTTPError):
            httpx2.get(url, timeout=5)
            return
        time.sleep(0.1)
    raise AssertionError(f"nothing answers at {url}")


@contextlib.contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Serve an application whose MCP is at ``/mcp``; gives the URL of its root."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(f"http://127.0.0.1:{port}/mcp")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)
