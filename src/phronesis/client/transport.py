"""HTTP transports of the clients: each sends the requests of an exchange, and waits between them."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from phronesis.client.exchange import Exchanges, Outbox, Result, Steps, advance
from phronesis.client.requests import Call, Request, header_text
from phronesis.errors import Closed, InputError, MissingExtra, PhronesisError

PREFIX: Final = "/api/v1"
_MAX_TIMEOUT: Final = 86_400.0


class _Connection:
    """Connections to one server, and the exchanges over them; kept until it is closed."""

    kind: ClassVar[str]
    """The class of the HTTP library that sends requests."""

    def __init__(
        self, url: str, *, api_key: str | None, timeout: float, retries: int, outbox: str | Path | None
    ) -> None:
        httpx = _library()
        if not _is_address(url):
            raise InputError("url must be a server's address, such as http://127.0.0.1:8765", field="url")
        if not _is_number(retries, int) or retries < 0:
            raise InputError(f"retries must be an integer from 0, not {retries!r:.40}", field="retries")
        if not _is_number(timeout, int, float) or not 0 < timeout <= _MAX_TIMEOUT:
            raise InputError(
                f"timeout must be seconds above 0, at most {_MAX_TIMEOUT:,.0f}, not {timeout!r:.40}", field="timeout"
            )
        address = url.rstrip("/") + PREFIX
        queue = None if outbox is None else Outbox(outbox, address, timeout=timeout)
        self.exchanges = Exchanges(httpx, address, retries, queue)
        headers = {"Authorization": f"Bearer {header_text(api_key, field='api_key')}"} if api_key else {}
        self._client: Any = getattr(httpx, self.kind)(base_url=address, headers=headers, timeout=timeout)

    def steps_of(self, call: Call) -> Steps:
        """Return the steps of a call; Closed after the connections were closed."""
        self._check_open()
        return self.exchanges.call(call)

    def _check_open(self) -> None:
        if self._client.is_closed:
            raise Closed("this client was closed; make another")


class Transport(_Connection):
    """Carries out exchanges with one server. Thread-safe."""

    kind = "Client"

    def run(self, steps: Steps) -> Any:
        """Carry out an exchange and return its result."""
        step = advance(steps)
        while not isinstance(step, Result):
            if isinstance(step, Request):
                step = advance(steps, self._send(step))
            else:
                time.sleep(step)
                step = advance(steps)
        return step.value

    def _send(self, request: Request) -> Any:
        self._check_open()
        try:
            return self._client.request(request.method, request.path, **request.arguments)
        except self.exchanges.httpx.HTTPError as error:
            return error

    def close(self) -> None:
        """Send what waits in the outbox, unless the server is known to be away, and close the connections."""
        if not self._client.is_closed and self.exchanges.has_due():
            with suppress(PhronesisError):
                self.run(self.exchanges.deliver())
        self._client.close()


class AsyncTransport(_Connection):
    """Carries out exchanges with one server in an event loop; the files of an outbox are used in threads."""

    kind = "AsyncClient"

    async def run(self, steps: Steps) -> Any:
        """Carry out an exchange and return its result."""
        step = await self._advance(steps, None)
        while not isinstance(step, Result):
            outcome = await (self._send(step) if isinstance(step, Request) else asyncio.sleep(step))
            step = await self._advance(steps, outcome)
        return step.value

    async def _advance(self, steps: Steps, outcome: Any) -> Request | float | Result:
        if self.exchanges.outbox is None:
            return advance(steps, outcome)
        return await asyncio.to_thread(advance, steps, outcome)

    async def _send(self, request: Request) -> Any:
        self._check_open()
        try:
            return await self._client.request(request.method, request.path, **request.arguments)
        except self.exchanges.httpx.HTTPError as error:
            return error

    async def close(self) -> None:
        """Send what waits in the outbox, unless the server is known to be away, and close the connections."""
        if not self._client.is_closed and self.exchanges.has_due():
            with suppress(PhronesisError):
                await self.run(self.exchanges.deliver())
        await self._client.aclose()


def _is_address(url: str) -> bool:
    """Return whether a URL has scheme and host, and neither query nor fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that are no IPv6 address
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and not (parts.query or parts.fragment)


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _library() -> ModuleType:
    try:
        import httpx2  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra("the client needs an HTTP library: pip install 'phronesis[client]'", field="url") from error
    return httpx2
