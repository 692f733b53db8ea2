"""The process that serves an application: a socket that listens, and a loop that ends when a signal asks."""

import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any

from phronesis.config.serving import Serving
from phronesis.errors import InputError


def listen(serving: Serving) -> socket.socket:
    """Give a socket that listens where the server shall."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((serving.host.strip("[]"), serving.port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"cannot listen at {serving.host}:{serving.port}: {error.strerror or error}; give another --port, or --port"
            " 0 for one that is free",
            field="port",
        ) from error
    return listening


def run(app: Any, serving: Serving, listening: socket.socket, say: Callable[[str], None]) -> None:
    """Run the application on a socket until a signal asks it to stop."""
    import uvicorn  # noqa: PLC0415 - an optional package

    class Told(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            name = f"[{serving.host}]" if ":" in serving.host else serving.host
            say(f"http://{name}:{listening.getsockname()[1]}")

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # Uvicorn's own raises the signal again at its end, and then nothing of what comes after is done.
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=serving.shutdown_seconds,
    )  # fmt: skip
    Told(config).run(sockets=[listening])
