"""The server process: the lazily built application, its mounted interfaces, the socket and the event loop."""

import asyncio
import contextlib
import importlib.util
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from phronesis.config.server import Serving
from phronesis.errors import InputError, MissingExtra
from phronesis.memory import Memory

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from phronesis.interfaces.mcp import Options


@dataclass(slots=True)
class _RunningApp:
    """An application within its own lifespan, entered and left by one task, as a task group in it requires."""

    app: "asyncio.Future[Starlette]"
    keeper: "asyncio.Task[None]"


@dataclass(slots=True)
class LazyApp:
    """An ASGI application built by ``make`` on the first request; early requests wait for it.

    ``make`` is called in a thread, so that the server's loop can answer other requests. When it raises, the waiting
    requests fail, and the next one tries again.
    """

    make: Callable[[], "Starlette"]
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _held: _RunningApp | None = None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, within ``lifespan``."""
        held = self._held
        if held is None or (held.keeper.done() and not self._stopping.is_set()):
            app: asyncio.Future[Starlette] = asyncio.get_running_loop().create_future()
            held = self._held = _RunningApp(app, asyncio.create_task(self._keep(app)))
        await asyncio.wait((held.app, held.keeper), return_when=asyncio.FIRST_COMPLETED)
        if not held.app.done():
            held.keeper.result()  # re-raises its failure
        await held.app.result()(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Keep the application's lifespan, once it is built, until the server stops. A server may be started again."""
        self._stopping = asyncio.Event()
        try:
            yield
        finally:
            self._stopping.set()
            held, self._held = self._held, None
            if held is not None and not held.app.done():
                held.keeper.cancel()
                await asyncio.wait((held.keeper,))
            elif held is not None:
                await held.keeper

    async def _keep(self, promised: "asyncio.Future[Starlette]") -> None:
        app = await asyncio.to_thread(self.make)
        async with app.router.lifespan_context(app):
            promised.set_result(app)
            await self._stopping.wait()


def listen(serving: Serving) -> socket.socket:
    """Return a listening socket for the configured address."""
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
    """Run the application on a socket until a signal stops it."""
    import uvicorn  # noqa: PLC0415 - an optional package

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            name = f"[{serving.host}]" if ":" in serving.host else serving.host
            say(f"http://{name}:{listening.getsockname()[1]}")

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # Uvicorn's handler raises the signal again at the end, which would skip the code that follows.
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=serving.shutdown_seconds,
    )
    Server(config).run(sockets=[listening])


MCP: Final = "/mcp"
"""Path of the MCP endpoint."""


def _mount_tools(app: "FastAPI", serving: Serving) -> None:
    """Mount MCP, if the SDK is installed; the caller's key gives its role.

    Requests that fail authentication never reach the SDK, so it keeps no session for them.
    """
    if importlib.util.find_spec("mcp") is None:
        return
    from starlette.routing import Route  # noqa: PLC0415 - an optional package

    from phronesis.interfaces.http.dependencies import AuthenticatedApp  # noqa: PLC0415 - the same
    from phronesis.interfaces.mcp import Options  # noqa: PLC0415 - the same

    tools = LazyApp(partial(_mcp, app, Options(tools=serving.mcp_tools)))
    entered = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def both(given: Any) -> AsyncIterator[Any]:
        async with entered(given) as state, tools.lifespan():
            yield state

    app.router.routes.append(Route(MCP, AuthenticatedApp(MCP, tools)))
    app.router.lifespan_context = both


def _mcp(app: "FastAPI", options: "Options") -> "Starlette":
    from phronesis.interfaces import mcp  # noqa: PLC0415 - an optional package, and a second's import

    def caller(context: Any) -> mcp.Caller:
        admitted = app.state.admission.authenticate(mcp.bearer(context), oauth=True)
        return mcp.Caller(
            admitted.memory,
            role=admitted.role.name.lower(),
            actor=admitted.actor,
            key_id=None if admitted.key is None else admitted.key.id,
            user_id=admitted.user_id,
        )

    return mcp.mcp_app(mcp.make_mcp(caller, options), hosts=None, path=MCP)  # the middleware checks the host name


def _mount_oauth(app: "FastAPI", memory: Memory, serving: Serving) -> None:
    """Mount OAuth for /mcp, if the policy has it; MissingExtra without MCP's SDK."""
    if serving.oauth is None:
        return
    try:
        from phronesis.interfaces.http.oauth import mount_oauth  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise MissingExtra("server.oauth needs: pip install 'phronesis[server,mcp]'") from error
    mount_oauth(app, memory, serving.oauth)
    if serving.oauth.issuer is None:
        from phronesis.interfaces.web.pages.login import consent_router  # noqa: PLC0415 - with the pages

        app.include_router(consent_router, include_in_schema=False)


def make_server_app(memory: Memory, serving: Serving) -> "FastAPI":
    """Return the application with every interface; MissingExtra when a server's packages are not installed."""
    try:
        from phronesis.interfaces.http.app import make_app  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise MissingExtra("the server needs: pip install 'phronesis[server]'") from error
    from phronesis.interfaces.web.mounting import mount  # noqa: PLC0415 - likewise

    app = make_app(memory, serving)
    mount(app, app.state.admission)
    _mount_tools(app, serving)
    _mount_oauth(app, memory, serving)
    return app


def check_reach(memory: Memory, serving: Serving) -> None:
    """Refuse to listen on a non-local address without keys; InputError says how to make one."""
    trusts = serving.oauth is not None and serving.oauth.issuer is not None
    if not serving.reached_by_others or trusts or memory.admin.keys.any_active():
        return
    make = "there is no API key; make one (phronesis serve keys create --role write --label …)"
    if not serving.on_loopback:
        raise InputError(
            f"host {serving.host} can be reached by others, and {make}, or listen at 127.0.0.1", field="host"
        )
    raise InputError(
        f"allowed_hosts names {', '.join(serving.names)}, by which others reach this server, and {make}, or"
        " name none but this machine's",
        field="allowed_hosts",
    )


def serve(memory: Memory, serving: Serving, *, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; then finish running requests, interpret pending entries, and return.

    ``say`` is called once with the address. InputError when the address cannot be bound.
    """
    check_reach(memory, serving)
    app = make_server_app(memory, serving)
    with contextlib.closing(listen(serving)) as listening:
        run(app, serving, listening, say)
    memory.flush()
