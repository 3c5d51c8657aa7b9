"""Which addresses are out in the open. A name on a tool's list must not lead into the person's own network.

What is not globally reachable is refused: loopback, private, link-local (where cloud machines keep their credentials),
shared, multicast, reserved; also inside the IPv6 forms that carry an IPv4 address. Must not know lists or requests.
"""

from __future__ import annotations

import ipaddress
import socket

from thetis_kernel.errors import Refused, ThetisError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")  # RFC 6052
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")  # RFC 8215
_COMPATIBLE = ipaddress.ip_network("::/96")  # RFC 4291, deprecated


def public(address: Address) -> bool:
    """Whether the address is one anybody on the internet reaches."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None or address in _NAT64_LOCAL or address.is_site_local:
            return False
        inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64 or address in _COMPATIBLE:
            inside.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if any(one is not None and not public(one) for one in inside):
            return False
        if address.ipv4_mapped is not None or address in _NAT64:
            return True
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified


def resolve(host: str, port: int) -> list[Address]:
    """Every address the system knows for the name, in its order. Raises ThetisError `net-resolve`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise ThetisError(f"{host} cannot be resolved: {reason}.", code="net-resolve", hint="Check the name.") from error
    return list(dict.fromkeys(ipaddress.ip_address(entry[4][0]) for entry in found))


def open_ones(host: str, found: list[Address]) -> list[Address]:
    """The addresses, when all are public. Raises Refused when one is not: a name that mixes them is not to be trusted."""
    inside = [address for address in found if not public(address)]
    if inside or not found:
        what = str(inside[0]) if inside else "no address"
        raise Refused(f"{host} leads to {what}, which is not out in the open.", capability="http",
                      hint="Tools reach public addresses only; use a command inside the walls for a local service.")
    return found
