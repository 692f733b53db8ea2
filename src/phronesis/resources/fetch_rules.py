"""Rules for which network addresses may be fetched, and the records of a fetch.

Only public addresses are open unless the rules allow others. A name is resolved once, every address it has is checked,
and the connection is made to a checked address: DNS rebinding has no effect.
"""

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from phronesis.errors import FetchRefused

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
