"""Connect to a host by all of its addresses, side by side: one that is dead delays nothing.

Source: RFC 8305, "Happy Eyeballs Version 2": the families alternate, and an attempt begins 250 ms
after the one before it, or at once if that has failed.
"""

import errno
import os
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import zip_longest
from threading import Thread
from typing import Any, NamedTuple

from bucketcast.settings.egress import Egress

STAGGER = 0.25
"""Seconds between two attempts."""


class ForbiddenError(OSError):
    """The stack allows no address of a host; the message says why."""


class Address(NamedTuple):
    """An address as the socket module has it: `name[0]` is the IP address."""

    family: int
    name: Any


def look_up(host: str, port: int, deadline: float) -> list[Address]:
    """Return the addresses of a host, the preferred one first.

    Raises:
        OSError: there is none, the name is no host's, or nobody told by the deadline.
    """
    found: Future[Any] = Future()

    def ask() -> None:
        try:
            found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:  # noqa: BLE001 - raised again below
            found.set_exception(error)

    Thread(target=ask, daemon=True).start()  # it has no time limit of its own
    try:
        answers = found.result(max(0.0, deadline - time.monotonic()))
    except UnicodeError as error:
        raise OSError(f"invalid host name: {error}") from None
    except TimeoutError:
        raise TimeoutError("timed out: the name server does not answer") from None
    return [Address(family, name) for family, _, _, _, name in answers]


def require_allowed(host: str, port: int, deadline: float) -> None:
    """Check an address for a library that connects by itself, and reports unknown names.

    Raises:
        ForbiddenError: the stack allows none of the host's addresses.
        TimeoutError: they are not known by the deadline.
    """
    if Egress.from_environ(os.environ):
        with suppress(socket.gaierror):
            _allowed(host, look_up(host, port, deadline))


def connect(host: str, port: int, deadline: float) -> socket.socket:
    """Return a socket that is connected to the host; `deadline` is a value of `time.monotonic`.

    Raises:
        OSError: the name is unknown, or no address took the connection.
        ForbiddenError: the stack allows none of the addresses.
    """
    return _connect_to(_allowed(host, look_up(host, port, deadline)), deadline)


def _connect_to(addresses: Sequence[Address], deadline: float) -> socket.socket:
    """Return a socket that is connected to the first address that takes the connection.

    Its time-out is what is left until the deadline.

    Raises:
        OSError: none took it; the reason is that of the last.
    """
    waiting = _alternate(addresses)
    attempts: dict[int, socket.socket] = {}
    poll = select.poll()
    failure, next_start = OSError("the host has no address"), 0.0
    try:
        while waiting or attempts:
            now = time.monotonic()
            if now >= deadline:
                raise TimeoutError("timed out")
            if waiting and (now >= next_start or not attempts):
                try:
                    line = _begin(waiting.popleft())
                except OSError as error:
                    failure = error
                    continue
                next_start = now + STAGGER
                attempts[line.fileno()] = line
                poll.register(line, select.POLLOUT)
            until = min(next_start, deadline) if waiting else deadline
            for number, _ in poll.poll(1000 * max(0.001, until - now)):
                poll.unregister(number)
                line = attempts.pop(number)
                code = line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if not code:
                    # The end of a message must not wait until its beginning is acknowledged.
                    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    line.settimeout(max(0.001, deadline - time.monotonic()))
                    return line
                line.close()
                failure, next_start = OSError(code, os.strerror(code)), 0.0
    finally:
        for line in attempts.values():
            line.close()
    raise failure


def encrypt(line: socket.socket, context: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """Start TLS. A certificate has the host's name without the dot that a full name may end with.

    Raises:
        OSError: the handshake failed.
    """
    return context.wrap_socket(line, server_hostname=without_dot(host))


def without_dot(host: str) -> str:
    return host.removesuffix(".")


def _allowed(host: str, addresses: Sequence[Address]) -> Sequence[Address]:
    """Return the addresses that the function may connect to.

    Raises:
        ForbiddenError: there is none.
    """
    egress = Egress.from_environ(os.environ)
    if egress is None:
        return addresses
    refusals = {each: egress.refusal(host, each.name[0]) for each in addresses}
    if all(refusals.values()):
        raise ForbiddenError("; ".join(refusals.values()))
    return [address for address, refusal in refusals.items() if not refusal]


def _alternate(addresses: Sequence[Address]) -> deque[Address]:
    """Return the addresses with the families in turns, the preferred one first."""
    preferred = [each for each in addresses if each.family == addresses[0].family]
    others = [each for each in addresses if each.family != addresses[0].family]
    return deque(each for pair in zip_longest(preferred, others) for each in pair if each)


def _begin(address: Address) -> socket.socket:
    """Return a socket that is connecting.

    Raises:
        OSError: this machine has no way to such an address.
    """
    line = socket.socket(address.family, socket.SOCK_STREAM)
    line.settimeout(0)
    code = line.connect_ex(address.name)
    if code not in (0, errno.EINPROGRESS):
        line.close()
        raise OSError(code, os.strerror(code))
    return line
