"""Fetch a URL over HTTP under the rules; every redirect is checked like the first request. Extra ``documents``.

Only public addresses are open unless the rules allow others. A name is resolved once, and every address it has is
checked. The HTTP library keeps the host name for the request and for TLS (``Host``, SNI and the certificate); only the
address to connect to is decided here.
"""

import ipaddress
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, cast

import httpcore2
import httpx2

from phronesis.errors import FetchFailed, FetchRefused, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.network import BoundedBackend, resolved
from phronesis.resources.readers.port import RawDocument

DEFAULT_TYPES: Final = (
    *("text/*", "application/pdf", "application/json", "application/*+json", "application/xml", "application/*+xml"),
    *("application/yaml", "application/x-yaml", "application/toml", "application/javascript"),
    *("application/octet-stream", "application/vnd.openxmlformats-officedocument.*"),
)
"""Media types that may be readable. Servers send octet-stream for unknown types, including Markdown."""
DEFAULT_PORTS: Final = (80, 443, 8080, 8443)
"""The ports of HTTP and their usual substitutes: no mail server or database listens there."""
MAX_REDIRECTS: Final = 5
"""The limit of the first HTTP specification (RFC 1945, 9.3); pages need one or two."""
MAX_URL: Final = 8_000
"""Characters of a URL: the length that servers should support at least (RFC 9110, 4.1)."""

Resolver = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host, or none if there are none."""
_ALWAYS_CLOSED: Final = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"))
)
"""Metadata addresses where clouds serve credentials to virtual machines, beside the link-local ones: Azure, Alibaba,
Oracle, and Amazon over IPv6 (the documentation of each)."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_IPV4_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_LOW_32: Final = 0xFFFFFFFF
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate"})
_GZIP_OR_ZLIB: Final = 47
"""zlib's window bits for either format; ``deflate`` is the latter (RFC 9110, 8.4.1.2), raw from faulty servers."""
_RAW_DEFLATE: Final = -15
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRules:
    """Limits of fetching; a refusal names the rule.

    ``max_bytes`` limits the body, compressed and decompressed; ``seconds`` the whole fetch, redirects included. A host
    in ``allow_hosts`` or ``deny_hosts`` includes its subdomains (``example.org`` covers ``docs.example.org``); if any
    host is allowed, others are not. ``allow_private`` permits this machine and
    private networks, but never link-local addresses, where clouds serve credentials.
    """

    max_bytes: int = 10 << 20
    seconds: float = 30.0
    ports: Sequence[int] = DEFAULT_PORTS
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()
    allow_private: bool = False


def fetch(url: str, rules: FetchRules, resolve: Resolver = resolved) -> RawDocument:
    """Return the document at ``url``, following redirects; its name is the final address.

    Connections and cookies are not kept between calls; proxies and credentials of the environment are not used.
    FetchRefused: a rule forbids it; ``details["rule"]`` names it. FetchFailed: no connection, a time-out, or no success
    status, which is in ``details["status"]``.
    """
    limits = Limits(time.monotonic, time.monotonic() + rules.seconds, max_bytes=rules.max_bytes)
    target = _allowed_url(url, rules)
    for _ in range(MAX_REDIRECTS + 1):
        status, headers, body = _ask_server(target, rules, limits, resolve)
        location = headers.get("location")
        if status in _REDIRECTS and location:
            target = _allowed_url(location, rules, base=target)
            continue
        if status != httpx2.codes.OK:
            raise FetchFailed(
                f"url: {target.host} answered with HTTP {status}; open the address in a browser to see why",
                field="url",
                details={"status": status, "host": target.host},
            )
        kind, _, parameters = headers.get("content-type", "").partition(";")
        named = [parameter.partition("=") for parameter in parameters.split(";")]
        charset = [value.strip(" \t\"'") for name, _, value in named if name.strip().lower() == "charset"][-1:]
        media_type = kind.strip().lower() or None
        if media_type and any(charset):
            media_type += f"; charset={charset[0]}"
        return RawDocument(name=str(target.copy_with(fragment=None)), media_type=media_type, data=body)
    raise _refusal("max_redirects", f"it points on more than {MAX_REDIRECTS} times; name the last address")


def _refusal(rule: str, problem: str, **details: object) -> FetchRefused:
    return FetchRefused(f"url: {problem}", field="url", details={"rule": rule, **details})


# Which addresses are allowed.


def _allowed_url(written: str, rules: FetchRules, *, base: httpx2.URL | None = None) -> httpx2.URL:
    """Parse a URL and return it if the rules allow it, else raise FetchRefused. The host is checked by name only."""
    try:
        url = httpx2.URL(written.strip()) if base is None else base.join(written.strip())
    except (httpx2.InvalidURL, ValueError):  # its message shows the address, which may hold a password
        raise _refusal("url", "it is no address; give one like https://example.org/guide.html") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise _refusal("scheme", "only addresses of http and https are fetched")
    if url.userinfo:
        raise _refusal("credentials", "it holds a user's name or password; such addresses are not fetched")
    if len(str(url)) > MAX_URL:
        raise _refusal("length", f"it is longer than {MAX_URL:,} characters")
    port = url.port or (443 if url.scheme == "https" else 80)
    if port not in rules.ports:
        raise _refusal("ports", f"port {port} is not among those that are fetched from")
    host = url.host.rstrip(".").lower()
    if any(_is_below(host, denied) for denied in rules.deny_hosts):
        raise _refusal("deny_hosts", f"{host} is denied by the policy")
    if rules.allow_hosts and not any(_is_below(host, allowed) for allowed in rules.allow_hosts):
        raise _refusal("allow_hosts", f"{host} is not among the hosts that the policy allows")
    return url


def _is_below(host: str, named: str) -> bool:
    name = named.strip().rstrip(".").lower().removeprefix("*.")
    return host == name or host.endswith(f".{name}")


def allowed_addresses(host: str, found: Sequence[str], rules: FetchRules) -> list[str]:
    """Return the addresses of a host if all are allowed; FetchRefused names the host if one is not.

    One forbidden address refuses the host, since which address is used is arbitrary.
    """
    if not all(is_open(written, rules) for written in found):
        problem = (
            f"{host} is at an address of this machine or a private network; such addresses are fetched only"
            " where the policy allows it"
        )
        raise _refusal("allow_private", problem, host=host)
    return list(dict.fromkeys(found))


def is_open(written: str, rules: FetchRules) -> bool:
    """Return whether an address may be connected to."""
    try:
        address = _inner(ipaddress.ip_address(written.partition("%")[0]))
    except ValueError:
        return False
    if address.is_loopback:
        return rules.allow_private
    if address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved:
        return False
    if any(address in network for network in _ALWAYS_CLOSED):
        return False
    return address.is_global or rules.allow_private


def _inner(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address that an IPv6 address embeds or translates to, else the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    embedded = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
    if embedded is not None:
        return embedded
    if address in _NAT64 or (address in _IPV4_COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & _LOW_32)
    return address


class _JudgedBackend(BoundedBackend):
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
            raise _refusal("allow_private", f"{host} led to an address that is not allowed", host=host)


# One exchange: a response with header names in lower case, and its body on success.


def _ask_server(
    url: httpx2.URL, rules: FetchRules, limits: Limits, resolve: Resolver
) -> tuple[int, Mapping[str, str], bytes]:
    try:
        return _exchange(url, rules, limits, resolve)
    except (ModelUnavailable, httpcore2.TimeoutException):  # its words are about models
        cause = "Timeout"
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        cause = type(error).__name__
    late = limits.left <= 0.0
    problem = f"took longer than {rules.seconds:g} seconds" if late else f"was not reached ({cause})"
    raise FetchFailed(f"url: {url.host} {problem}; try again later", field="url", details={"host": url.host})


def _exchange(
    url: httpx2.URL, rules: FetchRules, limits: Limits, resolve: Resolver
) -> tuple[int, Mapping[str, str], bytes]:
    context = httpcore2.default_ssl_context() if url.scheme == "https" else None
    backend = _JudgedBackend(rules, limits, resolve)
    with httpcore2.ConnectionPool(ssl_context=context, max_connections=1, network_backend=backend) as pool:
        sent = httpcore2.Request(
            b"GET",
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=[
                (b"host", url.netloc),
                (b"user-agent", b"phronesis"),
                (b"accept", b"text/html, text/markdown, text/plain, application/pdf, */*;q=0.5"),
                (b"accept-encoding", b"gzip, deflate"),
            ],
        )
        response = pool.handle_request(sent)
        with closing(cast("Any", response.stream)):
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status != httpx2.codes.OK:
                return response.status, headers, b""
            length = headers.get("content-length", "")
            if length.isdecimal() and int(length) > rules.max_bytes:
                raise _too_large(rules)
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind and not any(fnmatchcase(kind, allowed) for allowed in DEFAULT_TYPES):
                problem = "what it gives is of a type that is not fetched; name another document"
                raise _refusal("content_types", problem, content_type=kind[:100])
            parts = cast("Iterable[bytes]", response.stream)
            coding = headers.get("content-encoding", "").strip().lower()
            body = bytearray()
            for part in parts if coding in {"", "identity"} else _decompress(parts, coding, rules):
                body += part
                if len(body) > rules.max_bytes:
                    raise _too_large(rules)
        return response.status, headers, bytes(body)


def _too_large(rules: FetchRules) -> FetchRefused:
    problem = f"it gives more than {rules.max_bytes:,} bytes; raise max_bytes, or name a smaller document"
    return _refusal("max_bytes", problem, max_bytes=rules.max_bytes)


def _decompress(parts: Iterable[bytes], coding: str, rules: FetchRules) -> Iterator[bytes]:
    """Yield a body decompressed, in chunks: a small body may expand to gigabytes."""
    if coding not in _CODINGS:
        raise FetchFailed("url: it is compressed in a way that was not asked for", field="url")
    inflating: Any = None
    came = 0
    try:
        for part in filter(None, parts):
            came += len(part)
            if came > rules.max_bytes:
                raise _too_large(rules)
            if inflating is None:
                # The first byte of zlib's form says so in its low half (RFC 1950); raw deflate seldom does.
                is_raw = coding == "deflate" and part[0] & 0x0F != zlib.DEFLATED
                inflating = zlib.decompressobj(_RAW_DEFLATE if is_raw else _GZIP_OR_ZLIB)
            left = part
            while left and not inflating.eof:
                yield inflating.decompress(left, _PIECE)
                left = inflating.unconsumed_tail
        while inflating is not None and not inflating.eof and (rest := inflating.decompress(b"", _PIECE)):
            yield rest
    except zlib.error as error:
        raise FetchFailed("url: what it gives cannot be unfolded", field="url") from error
    if inflating is not None and not inflating.eof:
        raise FetchFailed("url: what it gives was cut off", field="url")
