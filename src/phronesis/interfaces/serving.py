"""The server: one application that the faces are mounted in."""

import contextlib
import importlib.util
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from phronesis.config.serving import Serving
from phronesis.errors import InputError, MissingExtra
from phronesis.interfaces.later import Later
from phronesis.interfaces.listening import listen, run
from phronesis.memory import Memory

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.applications import Starlette

    from phronesis.interfaces.mcp import Options

MCP: Final = "/mcp"
"""Where models find their tools."""

Mount = Callable[["FastAPI", Memory, Serving], None]
"""Adds a face to the application; ``app.state.admission`` says who comes in."""


def _pages(app: "FastAPI", _memory: Memory, _serving: Serving) -> None:
    from phronesis.interfaces.web.mounting import mount  # noqa: PLC0415 - an optional package

    mount(app, app.state.admission)


def _tools(app: "FastAPI", _memory: Memory, serving: Serving) -> None:
    """Answer models, where the SDK is installed; who calls, and what it may do, its key says.

    The SDK sees, and keeps a session for, nobody who was not let in.
    """
    if importlib.util.find_spec("mcp") is None:
        return
    from starlette.routing import Route  # noqa: PLC0415 - an optional package

    from phronesis.interfaces.mcp import Options  # noqa: PLC0415 - the same
    from phronesis.interfaces.rest.callers import Admitted  # noqa: PLC0415 - the same

    tools = Later(partial(_mcp, app, Options(tools=serving.mcp_tools)))
    entered = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def both(given: Any) -> AsyncIterator[Any]:
        async with entered(given) as state, tools.lasting():
            yield state

    app.router.routes.append(Route(MCP, Admitted(MCP, tools)))
    app.router.lifespan_context = both


def _mcp(app: "FastAPI", options: "Options") -> "Starlette":
    from phronesis.interfaces import mcp  # noqa: PLC0415 - an optional package, and a second's import

    def caller(context: Any) -> mcp.Caller:
        admitted = app.state.admission.admit(mcp.bearer(context))
        return mcp.Caller(admitted.memory, role=admitted.role.name.lower(), actor=admitted.actor)

    return mcp.mcp_app(mcp.make_mcp(caller, options), hosts=None, path=MCP)  # the gate before it looks at the name


MOUNTS: Final[Sequence[Mount]] = (_pages, _tools)
"""The faces beside HTTP."""


def make_server_app(memory: Memory, serving: Serving) -> "FastAPI":
    """Give the application with every face; MissingExtra when the packages of a server are not installed."""
    try:
        from phronesis.interfaces.rest.app import make_app  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise MissingExtra("the server needs: pip install 'phronesis[server]'") from error
    app = make_app(memory, serving)
    for mount in MOUNTS:
        mount(app, memory, serving)
    return app


def check_reach(memory: Memory, serving: Serving) -> None:
    """Refuse to be reached by others without keys; InputError says how to make one."""
    if not serving.reached_by_others or memory.keys.any_active():
        return
    make = "there is no API key; make one (phronesis keys create --role write --label …)"
    if not serving.on_loopback:
        raise InputError(
            f"host {serving.host} can be reached by others, and {make}, or listen at 127.0.0.1", field="host"
        )
    raise InputError(
        f"allowed_hosts names {', '.join(serving.allowed_hosts)}, by which others reach this server, and {make}, or"
        " name none but this machine's",
        field="allowed_hosts",
    )


def serve(memory: Memory, serving: Serving, *, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; then finish what runs, interpret what is pending, and return.

    ``say`` is told once where the server listens. InputError when that cannot be listened at.
    """
    check_reach(memory, serving)
    app = make_server_app(memory, serving)
    with contextlib.closing(listen(serving)) as listening:
        run(app, serving, listening, say)
    memory.flush()
