"""Connections to judged addresses, bounded in time, and bodies that unfold within bounds.

The HTTP library keeps the host's name for the request and for TLS (``Host``, SNI and the certificate); only where it
connects to is decided here.
"""

import socket
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

import httpcore2
import httpx2

from phronesis.errors import FetchFailed, FetchRefused, MissingExtra, ModelCancelled, ModelUnavailable
from phronesis.models.call_policy import Limits, never
from phronesis.models.network import CONNECT_SECONDS, BoundedStream
from phronesis.resources.fetch_rules import Fetched, FetchRules, Resolver, checked, is_open

_CODINGS: Final[Mapping[str, int]] = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""zlib's window bits for each coding; ``deflate`` is zlib's form (RFC 9110, 8.4.1.2), raw from servers that err."""

_RAW_DEFLATE: Final = -15
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came: header names in small letters; the body is read within ``exchange``."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class JudgedBackend(httpcore2.NetworkBackend):
    """Connects to what the rules allow. Each connection is made to an address, and its other end looked at again."""

    def __init__(self, rules: FetchRules, limits: Limits, resolve: Resolver) -> None:
        self._plain = httpcore2.SyncBackend()
        self._rules = rules
        self._limits = limits
        self._resolve = resolve

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the limits say how long
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Return a connection to the first of the host's addresses that takes one; FetchRefused for a closed one."""
        addresses = checked(host, self._resolve(host, port), self._rules)
        failed: Exception = httpcore2.ConnectError("no address")
        for address in addresses:
            self._limits.check()
            wait = min(CONNECT_SECONDS, max(self._limits.left, 0.001))
            try:
                plain = self._plain.connect_tcp(address, port, wait, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
                continue
            peer = plain.get_extra_info("server_addr")
            if not peer or not is_open(str(peer[0]), self._rules):
                plain.close()
                raise FetchRefused(
                    f"url: {host} led to an address that is not allowed", field="url",
                    details={"rule": "allow_private", "host": host},
                )  # fmt: skip
            return BoundedStream(plain, lambda: self._limits)
        raise failed


def resolved(host: str, port: int) -> list[str]:
    """Return a host's addresses by the system's resolver; it cannot be cut short."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def exchange(url: httpx2.URL, rules: FetchRules, limits: Limits, resolve: Resolver) -> Answer:
    """Ask for a URL, and give the answer; its body only when it is of success. No redirect is followed here."""
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
            for part in _unfolded(cast("Iterable[bytes]", response.stream), headers, rules):
                body += part
                if len(body) > rules.max_bytes:
                    raise too_large(rules)
        return Answer(response.status, headers, bytes(body))


def too_large(rules: FetchRules) -> FetchRefused:
    """Return the error of a body that is larger than the rules allow."""
    return FetchRefused(
        f"url: it gives more than {rules.max_bytes:,} bytes; raise max_bytes, or name a smaller document",
        field="url",
        details={"rule": "max_bytes", "max_bytes": rules.max_bytes},
    )


def media_type(headers: Mapping[str, str]) -> str:
    """Return the type that an answer says it has, without parameters; "" when it says none."""
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


def _unfolded(parts: Iterable[bytes], headers: Mapping[str, str], rules: FetchRules) -> Iterator[bytes]:
    """Return a body as it was before it was compressed, in pieces: a small body may unfold into gigabytes."""
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


# Fetching an address over HTTP, as the rules allow: every hop of it is judged like the first.

REMEDY: Final = 'pip install "phronesis[documents]"'

MAX_URL: Final = 8_000
"""Characters of an address: what servers are asked to take (RFC 9110, 4.1)."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OK: Final = 200


class WebFetcher:
    """Fetches over HTTP and HTTPS. Thread-safe: nothing is kept between two calls, neither connections nor cookies.

    ``clock`` gives the time that stands with what was fetched, ``monotonic`` the seconds that bound it; ``resolve`` the
    addresses of a name, by the system when None. Neither proxies nor credentials of the environment are used.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        resolve: Resolver | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._resolve = resolve
        self._cancelled = cancelled

    def fetch(self, url: str, rules: FetchRules) -> Fetched:
        """Return what is at ``url``, behind redirects.

        FetchRefused: a rule forbids it, ``details["rule"]`` says which. FetchFailed: nobody was
        reached, or in time, or the answer is no success; ``details["status"]`` has its number. MissingExtra: without
        the extra ``documents``.
        """
        limits = Limits(self._monotonic, self._monotonic() + rules.seconds, self._cancelled, rules.max_bytes)
        target = allowed_url(url, rules)
        for _ in range(rules.max_redirects + 1):
            answer = self._asked(target, rules, limits)
            location = answer.headers.get("location")
            if answer.status in _REDIRECTS and location:
                target = allowed_url(location, rules, base=target)
                continue
            if answer.status != _OK:
                raise FetchFailed(
                    f"url: {target.host} answered with HTTP {answer.status}; open the address in a browser to see why",
                    field="url",
                    details={"status": answer.status, "host": target.host},
                )
            return self._fetched(target, answer)
        raise _refused("max_redirects", f"it points on more than {rules.max_redirects} times; name the last address")

    def _asked(self, target: "httpx2.URL", rules: FetchRules, limits: Limits) -> "Answer":
        import httpcore2  # noqa: PLC0415 - comes with the extra

        try:
            return exchange(target, rules, limits, self._resolve or resolved)
        except ModelCancelled:  # its words are about models, as are those below
            raise FetchFailed("url: the call was cancelled", field="url", details={"host": target.host}) from None
        except (ModelUnavailable, httpcore2.TimeoutException):
            cause = "Timeout"
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            cause = type(error).__name__
        late = limits.left <= 0.0
        problem = f"took longer than {rules.seconds:g} seconds" if late else f"was not reached ({cause})"
        raise FetchFailed(f"url: {target.host} {problem}; try again later", field="url", details={"host": target.host})

    def _fetched(self, target: "httpx2.URL", answer: "Answer") -> Fetched:
        kind, _, parameters = answer.headers.get("content-type", "").partition(";")
        charset = None
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                charset = value.strip(" \t\"'") or None
        return Fetched(
            url=str(target.copy_with(fragment=None)),
            status=answer.status,
            media_type=kind.strip().lower(),
            charset=charset,
            data=answer.body,
            fetched_at=self._clock(),
        )


def allowed_url(written: str, rules: FetchRules, *, base: "httpx2.URL | None" = None) -> "httpx2.URL":
    """Read an address, and give it when the rules allow it; FetchRefused otherwise. Its host is judged by name here."""
    try:
        import httpx2  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra(f"url: documents are fetched with httpx2; {REMEDY}", field="url") from error
    try:
        url = httpx2.URL(written.strip()) if base is None else base.join(written.strip())
    except (httpx2.InvalidURL, ValueError):  # its message shows the address, which may hold a password
        raise _refused("url", "it is no address; give one like https://example.org/guide.html") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise _refused("scheme", "only addresses of http and https are fetched")
    if url.userinfo:
        raise _refused("credentials", "it holds a user's name or password; such addresses are not fetched")
    if len(str(url)) > MAX_URL:
        raise _refused("length", f"it is longer than {MAX_URL:,} characters")
    port = url.port or (443 if url.scheme == "https" else 80)
    if port not in rules.ports:
        raise _refused("ports", f"port {port} is not among those that are fetched from")
    host = url.host.rstrip(".").lower()
    if any(_below(host, denied) for denied in rules.deny_hosts):
        raise _refused("deny_hosts", f"{host} is denied by the policy")
    if rules.allow_hosts and not any(_below(host, allowed) for allowed in rules.allow_hosts):
        raise _refused("allow_hosts", f"{host} is not among the hosts that the policy allows")
    return url


def _below(host: str, named: str) -> bool:
    name = named.strip().rstrip(".").lower().removeprefix("*.")
    return host == name or host.endswith(f".{name}")


def _refused(rule: str, problem: str) -> FetchRefused:
    return FetchRefused(f"url: {problem}", field="url", details={"rule": rule})
