"""Refuse connections to addresses that the stack does not allow, before they are opened."""

import os
import socket
from typing import Any
from urllib.parse import urlsplit

import pycurl

from bucketcast.settings.egress import Egress
from bucketcast.targets.webhook.settings import WebhookSettings


class _Socket(socket.socket):
    """A socket that is closed once curl has duplicated it."""

    def __del__(self) -> None:
        self.close()


class Guard:
    """Open a handle's sockets, except to addresses that the stack does not allow.

    `refusal` is the reason for the last refused socket, "" if it was opened. With a proxy, the
    proxy's address is checked.
    """

    def __init__(self, settings: WebhookSettings, egress: Egress) -> None:
        self._host = urlsplit(settings.endpoint).hostname or ""
        self._egress = egress
        self.refusal = ""

    def __call__(self, _purpose: int, address: Any) -> Any:
        self.refusal = self._egress.refusal(self._host, address.addr[0])
        if self.refusal:
            return pycurl.SOCKET_BAD
        return _Socket(address.family, address.socktype, address.protocol)


def guard_sockets(handle: Any, settings: WebhookSettings) -> Guard | None:
    """Set and return a guard for the handle's sockets; None if the stack allows all addresses."""
    egress = Egress.from_environ(os.environ)
    if egress is None:
        return None
    guard = Guard(settings, egress)
    handle.setopt(pycurl.OPENSOCKETFUNCTION, guard)
    return guard
