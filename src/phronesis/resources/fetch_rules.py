"""Rules for which network addresses may be fetched, and the records of a fetch.

Only public addresses are open unless the rules allow others. A name is resolved once, every address it has is checked,
and the connection is made to a checked address: DNS rebinding has no effect.
"""

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from phronesis.errors import FetchRefused

# Rules and results of a fetch.

DEFAULT_TYPES: Final = (
    "text/*", "application/pdf", "application/json", "application/*+json", "application/xml", "application/*+xml",
    "application/yaml", "application/x-yaml", "application/toml", "application/javascript", "application/octet-stream",
    "application/vnd.openxmlformats-officedocument.*",
)  # fmt: skip
"""Types that a reader may make something of. Servers say octet-stream of what they do not know, Markdown among it."""

DEFAULT_PORTS: Final = (80, 443, 8080, 8443)
"""HTTP's own ports, and those that stand in for them: no mail server or database listens there."""

MAX_REDIRECTS: Final = 5
"""As many as the first HTTP specification allowed for (RFC 1945, 9.3); pages need one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRules:
    """The rules of fetching; each of them refuses by its name.

    ``max_bytes`` are of the body, as it comes and as it unfolds; ``seconds`` of everything, redirects included. A host
    of ``allow_hosts`` or ``deny_hosts`` stands for those below it too (``example.org`` for ``docs.example.org``); when
    hosts are allowed, others are not. ``content_types`` may end in ``*``. ``allow_private`` opens this machine and
    private networks, but never the link-local ones, where clouds answer with credentials.
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
class Fetched:
    """What an address gave: ``url`` is where it was found in the end, ``data`` the body, unfolded.

    ``media_type`` is without parameters, in small letters, empty where the server said none; then ``charset`` is None.
    """

    url: str
    status: int
    media_type: str
    charset: str | None
    data: bytes
    fetched_at: datetime


class Fetcher(Protocol):
    """Fetches documents."""

    def fetch(self, url: str, rules: FetchRules) -> Fetched:
        """Return what is at an address; FetchRefused when a rule forbids it, FetchFailed when nothing came."""
        ...


Resolver = Callable[[str, int], Sequence[str]]
"""Gives the addresses of a host; none when it has none."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_ALWAYS_CLOSED: Final = tuple(
    map(ipaddress.ip_network, ("168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::254/128"))
)
"""Where clouds answer virtual machines with their credentials, beside the link-local addresses: Azure, Alibaba, Oracle,
and Amazon over IPv6 (the documentation of each)."""

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_IPV4_COMPATIBLE: Final = ipaddress.ip_network("::/96")
_LOW_32: Final = 0xFFFFFFFF


def checked(host: str, found: Sequence[str], rules: FetchRules) -> list[str]:
    """Return the addresses of a host, all of which may be connected to; FetchRefused names the host when one may not.

    One bad address among good ones refuses the host: which of them is used would be chance.
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
    """Return the address that one stands for: IPv6 has several ways to write, or to reach, one of IPv4."""
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
