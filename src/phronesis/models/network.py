"""HTTP exchanges with a total time limit: every wait is split into short ones, and the limits are checked between them.

The usual read time-out bounds each read, so a server that sends a byte a second is never cut off. Here each read checks
what is left of the call, for headers and bodies alike, and a cancelled call ends although the model is still
generating.
"""

import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from http import HTTPStatus
from ssl import SSLContext
from typing import Any, Final, cast

import httpcore2
import httpx2

from phronesis.models.call_policy import Limits
from phronesis.models.transport import Reply, error_of_status, unreachable, unreadable

PULSE_SECONDS: Final = 0.1
"""Interval in seconds at which a wait for bytes checks the limits: too short for a person to notice."""
CONNECT_SECONDS: Final = 10.0
"""Maximum seconds to connect to one address; three lost packets take 7 s (RFC 6298)."""
SLICE_BYTES: Final = 1 << 16
"""Bytes handed to the system at once: what its buffers take without waiting."""
KEEP_SECONDS: Final = 4.0
"""Seconds for which an idle connection is kept. Uvicorn, which serves vLLM and most others, closes its end after 5."""
_SHORTEST_WAIT: Final = 0.001
"""Seconds. A wait of 0 would not wait at all, and raise another error."""
CurrentLimits = Callable[[], Limits]
"""A function that returns the limits of this thread's current call."""


class BoundedStream(httpcore2.NetworkStream):
    """A connection whose every read and write respects the limits of its call."""

    def __init__(self, plain: httpcore2.NetworkStream, limits: CurrentLimits) -> None:
        self._plain = plain
        self._limits = limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the limits say how long
        """Return up to ``max_bytes`` as soon as some arrive; ModelUnavailable or ModelCancelled at the limits."""
        limits = self._limits()
        while True:
            limits.check()
            try:
                return self._plain.read(max_bytes, timeout=_wait(limits, PULSE_SECONDS))
            except httpcore2.ReadTimeout:
                continue

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - the limits say how long
        """Send all of ``buffer``. A timed-out write cannot be resumed (TLS), so these waits are not split."""
        limits = self._limits()
        for start in range(0, len(buffer), SLICE_BYTES):
            limits.check()
            self._plain.write(buffer[start : start + SLICE_BYTES], timeout=_wait(limits))

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the limits say how long
    ) -> httpcore2.NetworkStream:
        """Return the same connection, encrypted."""
        wait = _wait(self._limits(), CONNECT_SECONDS)
        return BoundedStream(self._plain.start_tls(ssl_context, server_hostname, wait), self._limits)

    def get_extra_info(self, info: str) -> Any:
        """Return the plain connection's information."""
        return self._plain.get_extra_info(info)

    def close(self) -> None:
        """Close the connection."""
        self._plain.close()


class BoundedBackend(httpcore2.NetworkBackend):
    """Opens connections within the limits of the call that needs one.

    Name resolution by the system cannot be interrupted: it takes as long as the resolver is configured to.
    """

    def __init__(self, limits: CurrentLimits) -> None:
        self._plain = httpcore2.SyncBackend()
        self._limits = limits

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the limits say how long
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Return a connection to the first of the host's addresses that accepts one."""
        limits = self._limits()
        failed: httpcore2.ConnectError | httpcore2.ConnectTimeout = httpcore2.ConnectError("no address")
        for address in self.addresses(host, port):
            limits.check()
            wait = _wait(limits, CONNECT_SECONDS)
            try:
                plain = self._plain.connect_tcp(address, port, wait, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                self.check_peer(plain, host)
                return BoundedStream(plain, self._limits)
        limits.check()
        raise failed

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses to try, in order."""
        return resolved(host, port)

    def check_peer(self, connection: httpcore2.NetworkStream, host: str) -> None:
        """Raise an error, and close the connection, if it must not be used."""


def resolved(host: str, port: int) -> list[str]:
    """Return a host's addresses by the system's resolver, which has no time limit."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _wait(limits: Limits, longest: float = float("inf")) -> float:
    return max(_SHORTEST_WAIT, min(limits.left, longest))


class BoundedPool:
    """The connections to one gateway, which are reused. Thread-safe.

    Redirects are answers like others; neither proxies nor credentials are taken from the environment, only the
    certificates that OpenSSL's own variables name.
    """

    def __init__(self, gateway: str, *, secure: bool, api_key: str | None, limits: CurrentLimits) -> None:
        self._gateway = gateway
        self._limits = limits
        self._headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "phronesis"}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpcore2.default_ssl_context() if secure else None,
            max_connections=None,  # concurrency is limited elsewhere
            keepalive_expiry=KEEP_SECONDS,
            network_backend=BoundedBackend(limits),
        )

    def exchange(self, address: str, content: bytes | None, kind: str, *, any_status: bool) -> Reply:
        """Post ``content`` of the media type ``kind``, or get the address without it; ModelError on failure.

        A status that is none of success is an error too, unless ``any_status``.
        """
        limits, url = self._limits(), httpx2.URL(address)
        headers = {"host": url.netloc.decode("ascii"), **self._headers}
        if content is not None:
            headers |= {"content-type": kind, "content-length": str(len(content))}
        sent = httpcore2.Request(
            "GET" if content is None else "POST",
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=list(headers.items()),
            content=content,
        )
        try:
            return self._exchange(sent, limits, any_status=any_status)
        except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            cause = type(error).__name__
        limits.check()
        # The library's error may contain what the server sent, or the header with the key: it is not passed on.
        raise unreachable(self._gateway, cause)

    def _exchange(self, sent: httpcore2.Request, limits: Limits, *, any_status: bool) -> Reply:
        response = self._pool.handle_request(sent)
        with closing(cast("Any", response.stream)):
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if not any_status and not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
                raise error_of_status(self._gateway, response.status, headers)
            if headers.get("content-encoding", "identity").lower() != "identity":
                # A small compressed body may expand to gigabytes; compression was not requested.
                raise unreadable(self._gateway, "is compressed, though the server was asked not to")
            body = bytearray()
            for part in cast("Iterable[bytes]", response.stream):
                body += part
                if len(body) > limits.max_bytes:
                    raise unreadable(self._gateway, f"is longer than {limits.max_bytes} bytes")
        return Reply(response.status, headers, bytes(body))

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()
