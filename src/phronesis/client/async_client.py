"""AsyncClient: the verbs of Memory as coroutines, executed by a server."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from phronesis.async_memory import AsyncMemoryVerbs, AsyncServedAdmin
from phronesis.client.outbox import Delivery
from phronesis.client.requests import prepare_call, prepare_erasure
from phronesis.client.transport import AsyncTransport
from phronesis.core.results import ErasureCertificate


class AsyncClient(AsyncMemoryVerbs):
    """A `Client` for asyncio: ``async with AsyncClient("http://127.0.0.1:8765") as m: await m.add(…)``."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        outbox: str | Path | None = None,
    ) -> None:
        """Create a client with the arguments of `Client`; nothing is sent before the first verb."""
        transport = AsyncTransport(url, api_key=api_key, timeout=timeout, retries=retries, outbox=outbox)

        async def carry_out(method: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
            return await transport.run(transport.steps_of(prepare_call(method, args, kwargs)))

        super().__init__(lambda _: carry_out)
        self.admin = AsyncServedAdmin(carry_out)
        self.outbox = transport.exchanges.outbox
        self._transport = transport

    async def erase(
        self,
        *,
        id: str | None = None,  # noqa: A002 - the contract's name
        user_id: str | None = None,
        expected_version: int | None = None,
        reason: str | None = None,
    ) -> ErasureCertificate:
        """Erase an item, or a user, permanently, as `Client.erase` does."""
        call = prepare_erasure(item_id=id, user_id=user_id, expected_version=expected_version, reason=reason)
        certificate: ErasureCertificate = await self._transport.run(self._transport.steps_of(call))
        return certificate

    async def flush(self) -> Delivery:
        """Send what waits in the outbox, in order, until the server is away; return what became of it."""
        delivery: Delivery = await self._transport.run(self._transport.exchanges.deliver())
        return delivery

    async def close(self) -> None:
        """Send what waits in the outbox, unless the server is known to be away, and close the connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
