"""Which addresses may be connected to: public ones, and others only where the rules open them.

A name is resolved once, every address that it has is judged, and the connection is made to a judged address, never by
the name again: a name that answers differently the second time (DNS rebinding) gains nothing.
"""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Final

from phronesis.derive.resources.fetching.rules import FetchRules
from phronesis.errors import FetchRefused

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
    """Give the addresses of a host, all of which may be connected to; FetchRefused names the host when one may not.

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
    """Tell whether an address may be connected to."""
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
    """Give the address that one stands for: IPv6 has several ways to write, or to reach, one of IPv4."""
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
