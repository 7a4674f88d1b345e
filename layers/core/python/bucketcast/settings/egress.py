"""The addresses that a target's function on AWS may connect to; elsewhere nothing is checked.

A server's name comes from a configuration, or from a tenant who creates a topic. Loopback is the
function's own machine, with Lambda's runtime API; private addresses are the network of whoever
deployed it. Both are allowed by name only. Link-local addresses, where clouds serve credentials,
never are.

The address at the time of connecting decides: a name may resolve to another one at any time.
"""

import re
import socket
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

VARIABLE: Final = "BUCKETCAST_ALLOW_PRIVATE"
"""The variable of the functions of targets; its value is a list as in the option."""
OPTION: Final = "allow_private"
_ALLOWED: Final = (
    "a host as in the endpoint, an address, or a network such as 10.0.0.0/8; link-local addresses "
    "cannot be allowed"
)
PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
_NONE: Final = "none"
_EC2: Final = ip_network("fd00:ec2::/32")
"""Instance metadata and other services of EC2 by IPv6, in the range of private addresses."""
_SITE_LOCAL: Final = ip_network("fec0::/10")
"""The private addresses of IPv6 before fc00::/7, which Python takes for public ones."""
_NAT64: Final = ip_network("64:ff9b::/96")
_NAME: Final = r"(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?"
_NUMBERS: Final = r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}\.?"

_Address = IPv4Address | IPv6Address


class Egress(msgspec.Struct, frozen=True):
    """The hosts, addresses and networks that are allowed besides public addresses."""

    allowed: tuple[str, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self | None:
        """Return the hosts, addresses and networks that the stack allows; None: all are allowed."""
        hosts = environ.get(VARIABLE)
        return cls(tuple(hosts.split(",")) if hosts != _NONE else ()) if hosts else None

    def to_text(self) -> str:
        return ",".join(self.allowed) or _NONE

    def refusal(self, host: str, address: str) -> str:
        """Return the reason to refuse this address of a host, "" if it is allowed."""
        ip = _embedded(ip_address(address.partition("%")[0]))
        if ip.is_link_local or ip in _EC2:
            return f"{ip} is a link-local address, which is never connected to"
        if ip.is_multicast or ip.is_unspecified or (ip.is_reserved and not ip.is_private):
            return f"{ip} cannot be the address of a server"
        is_public = ip.is_global and ip not in _SITE_LOCAL
        if is_public or _without_dot(host) in map(_without_dot, self.allowed):
            return ""
        if any(ip in ip_network(entry) for entry in self.allowed if _is_network(entry)):
            return ""
        kind = "loopback" if ip.is_loopback else "private"
        return f"{ip} is a {kind} address, which {OPTION} does not allow"

    def refusal_of_url(self, url: str) -> str:
        """Return the reason to refuse this URL, as far as it shows without DNS, else ""."""
        host = urlsplit(url).hostname or ""
        address = _literal(host)
        return self.refusal(host, address) if address else ""


ANY: Final = Egress(("0.0.0.0/0", "::/0"))
"""All that can be allowed."""


def is_own(host: str) -> bool:
    """Return True for loopback, unspecified and link-local hosts, as far as they show without DNS.

    On Lambda they are the function itself, with the API of its runtime.
    """
    address = _literal(host)
    if not address:
        return False
    ip = _embedded(ip_address(address))
    return ip.is_loopback or ip.is_unspecified or ip.is_link_local or ip in _EC2


def parse_entry(entry: str) -> str:
    """Return an entry of the option, checked.

    Raises:
        ValueError: it is neither host nor network, or could not have an effect.
    """
    name = entry.lower()
    is_host = re.fullmatch(_NAME, name) and not re.fullmatch(_NUMBERS, name)
    if ip_network(entry).is_link_local if _is_network(entry) else not is_host:
        raise ValueError(_ALLOWED)
    return entry


def _literal(host: str) -> str:
    """Return the address that a host is without DNS, "" for a name.

    Resolvers also take decimal, octal and hexadecimal numbers for one to four parts of it.
    """
    name = _without_dot(host)
    if name == "localhost" or name.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ip_address(name.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(name)) if re.fullmatch(_NUMBERS, name) else ""
    except OSError:
        return ""


def _embedded(ip: _Address) -> _Address:
    """Return the IPv4 address inside an IPv6 address, else the address."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _is_network(entry: str) -> bool:
    try:
        ip_network(entry)
    except ValueError:
        return False
    return True


def _without_dot(host: str) -> str:
    return host.lower().removesuffix(".")
