"""Fetch a URL over HTTP under the rules; every redirect is checked like the first request.

Only public addresses are open unless the rules allow others. A name is resolved once, and every address it has is
checked.
"""

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from phronesis.errors import FetchFailed, FetchRefused, MissingExtra, ModelCancelled, ModelUnavailable
from phronesis.models.call_policy import Limits, never

if TYPE_CHECKING:
    import httpx2

    from phronesis.resources.http_exchange import Answer

# Rules and results of a fetch.

DEFAULT_TYPES: Final = (
    "text/*",
    "application/pdf",
    "application/json",
    "application/*+json",
    "application/xml",
    "application/*+xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/javascript",
    "application/octet-stream",
    "application/vnd.openxmlformats-officedocument.*",
)
"""Media types that may be readable. Servers send octet-stream for unknown types, including Markdown."""
DEFAULT_PORTS: Final = (80, 443, 8080, 8443)
"""The ports of HTTP and their usual substitutes: no mail server or database listens there."""
MAX_REDIRECTS: Final = 5
"""The limit of the first HTTP specification (RFC 1945, 9.3); pages need one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRules:
    """Limits of fetching; a refusal names the rule.

    ``max_bytes`` limits the body, compressed and decompressed; ``seconds`` the whole fetch, redirects included. A host
    in ``allow_hosts`` or ``deny_hosts`` includes its subdomains (``example.org`` covers ``docs.example.org``); if any
    host is allowed, others are not. ``content_types`` may end in ``*``. ``allow_private`` permits this machine and
    private networks, but never link-local addresses, where clouds serve credentials.
    """

    max_bytes: int = 10 << 20
    seconds: float = 30.0
    max_redirects: int = MAX_REDIRECTS
    ports: Sequence[int] = DEFAULT_PORTS
    content_types: Sequence[str] = DEFAULT_TYPES
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()
    allow_private: bool = False
    user_agent: str = "phronesis"


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResult:
    """The result of a fetch: ``url`` is the final address after redirects, ``data`` the decompressed body.

    ``media_type`` is without parameters, in lower case, and empty if the server sent none; ``charset`` is then None.
    """

    url: str
    status: int
    media_type: str
    charset: str | None
    data: bytes
    fetched_at: datetime


Resolver = Callable[[str, int], Sequence[str]]
"""Returns the addresses of a host, or none if there are none."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_ALWAYS_CLOSED: Final = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"))
)
"""Metadata addresses where clouds serve credentials to virtual machines, beside the link-local ones: Azure, Alibaba,
Oracle, and Amazon over IPv6 (the documentation of each)."""
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_IPV4_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_LOW_32: Final = 0xFFFFFFFF


def allowed_addresses(host: str, found: Sequence[str], rules: FetchRules) -> list[str]:
    """Return the addresses of a host if all are allowed; FetchRefused names the host if one is not.

    One forbidden address refuses the host, since which address is used is arbitrary.
    """
    for written in found:
        if not is_open(written, rules):
            raise FetchRefused(
                f"url: {host} is at an address of this machine or a private network; such addresses are fetched only"
                " where the policy allows it",
                field="url",
                details={"rule": "allow_private", "host": host},
            )
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


def _inner(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds or translates to, else the address itself."""
    if not isinstance(address, ipaddress.IPv6Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or (address in _IPV4_COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & _LOW_32)
    return address


REMEDY: Final = 'pip install "phronesis[documents]"'
MAX_URL: Final = 8_000
"""Characters of a URL: the length that servers should support at least (RFC 9110, 4.1)."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OK: Final = 200


class WebFetcher:
    """Fetches over HTTP and HTTPS. Thread-safe: connections and cookies are not kept between calls.

    ``clock`` gives the time of the fetch, ``monotonic`` the seconds for the time limit; ``resolve`` the addresses of a
    name, by the system if None. Proxies and credentials of the environment are not used.
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

    def fetch(self, url: str, rules: FetchRules) -> FetchResult:
        """Return the document at ``url``, following redirects.

        FetchRefused: a rule forbids it; ``details["rule"]`` names it. FetchFailed: no connection, a time-out, or no
        success status, which is in ``details["status"]``. MissingExtra: the extra ``documents`` is not installed.
        """
        limits = Limits(self._monotonic, self._monotonic() + rules.seconds, self._cancelled, rules.max_bytes)
        target = allowed_url(url, rules)
        for _ in range(rules.max_redirects + 1):
            answer = self._ask_server(target, rules, limits)
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
            return self._fetch_result(target, answer)
        raise _refusal_error(
            "max_redirects", f"it points on more than {rules.max_redirects} times; name the last address"
        )

    def _ask_server(self, target: "httpx2.URL", rules: FetchRules, limits: Limits) -> "Answer":
        import httpcore2  # noqa: PLC0415 - comes with the extra

        from phronesis.models.network import resolved  # noqa: PLC0415 - needs it
        from phronesis.resources.http_exchange import exchange  # noqa: PLC0415 - needs it

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

    def _fetch_result(self, target: "httpx2.URL", answer: "Answer") -> FetchResult:
        kind, _, parameters = answer.headers.get("content-type", "").partition(";")
        charset = None
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                charset = value.strip(" \t\"'") or None
        return FetchResult(
            url=str(target.copy_with(fragment=None)),
            status=answer.status,
            media_type=kind.strip().lower(),
            charset=charset,
            data=answer.body,
            fetched_at=self._clock(),
        )


def allowed_url(written: str, rules: FetchRules, *, base: "httpx2.URL | None" = None) -> "httpx2.URL":
    """Parse a URL and return it if the rules allow it, else raise FetchRefused. The host is checked by name only."""
    try:
        import httpx2  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra(f"url: documents are fetched with httpx2; {REMEDY}", field="url") from error
    try:
        url = httpx2.URL(written.strip()) if base is None else base.join(written.strip())
    except (httpx2.InvalidURL, ValueError):  # its message shows the address, which may hold a password
        raise _refusal_error("url", "it is no address; give one like https://example.org/guide.html") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise _refusal_error("scheme", "only addresses of http and https are fetched")
    if url.userinfo:
        raise _refusal_error("credentials", "it holds a user's name or password; such addresses are not fetched")
    if len(str(url)) > MAX_URL:
        raise _refusal_error("length", f"it is longer than {MAX_URL:,} characters")
    port = url.port or (443 if url.scheme == "https" else 80)
    if port not in rules.ports:
        raise _refusal_error("ports", f"port {port} is not among those that are fetched from")
    host = url.host.rstrip(".").lower()
    if any(_is_below(host, denied) for denied in rules.deny_hosts):
        raise _refusal_error("deny_hosts", f"{host} is denied by the policy")
    if rules.allow_hosts and not any(_is_below(host, allowed) for allowed in rules.allow_hosts):
        raise _refusal_error("allow_hosts", f"{host} is not among the hosts that the policy allows")
    return url


def _is_below(host: str, named: str) -> bool:
    name = named.strip().rstrip(".").lower().removeprefix("*.")
    return host == name or host.endswith(f".{name}")


def _refusal_error(rule: str, problem: str) -> FetchRefused:
    return FetchRefused(f"url: {problem}", field="url", details={"rule": rule})
