"""HTTP connections to checked addresses with time limits, and decompression with a size limit.

The HTTP library keeps the host name for the request and for TLS (``Host``, SNI and the certificate); only the address
to connect to is decided here.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, cast

import httpcore2
import httpx2

from phronesis.errors import FetchFailed, FetchRefused
from phronesis.models.call_policy import Limits
from phronesis.models.network import BoundedBackend
from phronesis.resources.fetcher import FetchRules, Resolver, allowed_addresses, is_open

_CODINGS: Final[Mapping[str, int]] = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""zlib's window bits for each coding; ``deflate`` is the zlib format (RFC 9110, 8.4.1.2), raw from faulty servers."""

_RAW_DEFLATE: Final = -15
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: header names in lower case; the body is read within ``exchange``."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class JudgedBackend(BoundedBackend):
    """A network backend that connects only to allowed addresses and checks the peer of each connection again."""

    def __init__(self, rules: FetchRules, limits: Limits, resolve: Resolver) -> None:
        super().__init__(lambda: limits)
        self._rules = rules
        self._resolve = resolve

    def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host; FetchRefused for a forbidden one."""
        return allowed_addresses(host, self._resolve(host, port), self._rules)

    def check_peer(self, connection: httpcore2.NetworkStream, host: str) -> None:
        """Raise FetchRefused if the connection leads to a forbidden address."""
        peer = connection.get_extra_info("server_addr")
        if not peer or not is_open(str(peer[0]), self._rules):
            connection.close()
            raise FetchRefused(
                f"url: {host} led to an address that is not allowed",
                field="url",
                details={"rule": "allow_private", "host": host},
            )


def exchange(url: httpx2.URL, rules: FetchRules, limits: Limits, resolve: Resolver) -> Answer:
    """Request a URL and return the response; its body only on success. Redirects are not followed."""
    context = httpcore2.default_ssl_context() if url.scheme == "https" else None
    backend = JudgedBackend(rules, limits, resolve)
    with httpcore2.ConnectionPool(ssl_context=context, max_connections=1, network_backend=backend) as pool:
        sent = httpcore2.Request(
            b"GET",
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=[
                (b"host", url.netloc),
                (b"user-agent", rules.user_agent.encode("ascii", "replace")),
                (b"accept", b"text/html, text/markdown, text/plain, application/pdf, */*;q=0.5"),
                (b"accept-encoding", b"gzip, deflate"),
            ],
        )
        response = pool.handle_request(sent)
        with closing(cast("Any", response.stream)):
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status != httpx2.codes.OK:
                return Answer(response.status, headers, b"")
            told = headers.get("content-length", "")
            if told.isdecimal() and int(told) > rules.max_bytes:
                raise too_large(rules)
            _check_type(headers, rules)
            body = bytearray()
            for part in _decompress(cast("Iterable[bytes]", response.stream), headers, rules):
                body += part
                if len(body) > rules.max_bytes:
                    raise too_large(rules)
        return Answer(response.status, headers, bytes(body))


def too_large(rules: FetchRules) -> FetchRefused:
    """Return the error for a body above the limit."""
    return FetchRefused(
        f"url: it gives more than {rules.max_bytes:,} bytes; raise max_bytes, or name a smaller document",
        field="url",
        details={"rule": "max_bytes", "max_bytes": rules.max_bytes},
    )


def media_type(headers: Mapping[str, str]) -> str:
    """Return the media type of a response without parameters; "" if it has none."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_type(headers: Mapping[str, str], rules: FetchRules) -> None:
    told = media_type(headers)
    if told and not any(_fits(told, allowed) for allowed in rules.content_types):
        raise FetchRefused(
            "url: what it gives is of a type that is not fetched; add it to content_types, or name another document",
            field="url",
            details={"rule": "content_types", "content_type": told[:100]},
        )


def _fits(told: str, allowed: str) -> bool:
    before, star, behind = allowed.lower().partition("*")
    if not star:
        return told == before
    return len(told) > len(before) + len(behind) and told.startswith(before) and told.endswith(behind)


def _decompress(parts: Iterable[bytes], headers: Mapping[str, str], rules: FetchRules) -> Iterator[bytes]:
    """Yield a body decompressed, in chunks: a small body may expand to gigabytes."""
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding in {"", "identity"}:
        yield from parts
        return
    if coding not in _CODINGS:
        raise FetchFailed("url: it is compressed in a way that was not asked for", field="url")
    unfolding: Any = None
    came = 0
    try:
        for part in parts:
            came += len(part)
            if came > rules.max_bytes:
                raise too_large(rules)
            if unfolding is None and part:
                # The first byte of zlib's form says so in its low half (RFC 1950); raw deflate seldom does.
                raw = coding == "deflate" and part[0] & 0x0F != zlib.DEFLATED
                unfolding = zlib.decompressobj(_RAW_DEFLATE if raw else _CODINGS[coding])
            left = part
            while left and not unfolding.eof:
                yield unfolding.decompress(left, _PIECE)
                left = unfolding.unconsumed_tail
        while unfolding is not None and not unfolding.eof and (rest := unfolding.decompress(b"", _PIECE)):
            yield rest
    except zlib.error as error:
        raise FetchFailed("url: what it gives cannot be unfolded", field="url") from error
    if unfolding is not None and not unfolding.eof:
        raise FetchFailed("url: what it gives was cut off", field="url")
