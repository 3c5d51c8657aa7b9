"""Which addresses are out in the open, and that a name with any other is not connected to."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from thetis_kernel.errors import Refused, ThetisError
from thetis_kernel.net.addresses import open_ones, public, resolve

INSIDE = [
    "127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "0.0.0.0", "0.1.2.3", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1",
    "fd00:ec2::254", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1",
    "2002:7f00:1::", "2002:a00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "::127.0.0.1",
    "::a00:1", "2001:0:808:808:0:0:80ff:fffe", "100::1",
]
OPEN = [
    "1.1.1.1", "8.8.8.8", "151.101.0.1", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::1",
    "::ffff:8.8.8.8", "64:ff9b::808:808",
]


@pytest.mark.parametrize("text", INSIDE)
def test_inside(text: str) -> None:
    assert not public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", OPEN)
def test_out_in_the_open(text: str) -> None:
    assert public(ipaddress.ip_address(text))


@given(st.ip_addresses(v=4))
def test_a_disguise_changes_nothing(address: ipaddress.IPv4Address) -> None:
    inside = not public(address)
    for prefix, shift in (("::ffff:0:0", 0), ("64:ff9b::", 0), ("2002::", 80)):
        disguised = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) | int(address) << shift)
        assert not (inside and public(disguised)), disguised


def test_one_address_inside_spoils_the_name() -> None:
    mixed = [ipaddress.ip_address("8.8.8.8"), ipaddress.ip_address("10.0.0.7")]
    with pytest.raises(Refused, match=r"10\.0\.0\.7"):
        open_ones("example.org", mixed)
    with pytest.raises(Refused):
        open_ones("example.org", [])
    assert open_ones("example.org", mixed[:1]) == mixed[:1]


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "2130706433", "017700000001", "localhost"])
def test_odd_spellings_of_loopback_are_seen_through(host: str) -> None:
    try:
        found = resolve(host, 80)
    except ThetisError:
        return
    with pytest.raises(Refused):
        open_ones(host, found)
