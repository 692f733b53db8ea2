"""An application that is made when somebody first asks for it, because importing it takes long."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send


@dataclass(slots=True)
class _Held:
    """An application within its own lifespan, which one task enters and leaves, as a task group in it demands."""

    app: "asyncio.Future[Starlette]"
    keeper: "asyncio.Task[None]"


@dataclass(slots=True)
class Later:
    """Answers with the application that ``make`` gives; the first requests wait until it is made.

    ``make`` is called in a thread beside the server's loop, so that others are answered meanwhile. When it raises,
    those requests fail, and the next one tries again.
    """

    make: Callable[[], "Starlette"]
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _held: _Held | None = None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request, within ``lasting``."""
        held = self._held
        if held is None or (held.keeper.done() and not self._stopping.is_set()):
            app: asyncio.Future[Starlette] = asyncio.get_running_loop().create_future()
            held = self._held = _Held(app, asyncio.create_task(self._keep(app)))
        await asyncio.wait((held.app, held.keeper), return_when=asyncio.FIRST_COMPLETED)
        if not held.app.done():
            held.keeper.result()  # raises what it failed with
        await held.app.result()(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lasting(self) -> AsyncIterator[None]:
        """Hold the application, once it is made, until the server stops. A server may be started again."""
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
