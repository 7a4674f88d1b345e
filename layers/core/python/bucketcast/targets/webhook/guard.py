"""Refuse connections before they are made, by the address that the host has resolved to."""

import os
import socket
from typing import Any
from urllib.parse import urlsplit

import pycurl

from bucketcast.settings.egress import Egress
from bucketcast.targets.webhook.settings import WebhookSettings


class _Socket(socket.socket):
    """Closed once curl has duplicated it."""

    def __del__(self) -> None:
        self.close()


class Guard:
    """Opens a handle's sockets, except to addresses that the stack does not allow.

    `refused` is why none was opened. A proxy is connected to instead of the endpoint, and is
    checked as it would be.
    """

    def __init__(self, settings: WebhookSettings, egress: Egress) -> None:
        self._host = urlsplit(settings.endpoint).hostname or ""
        self._egress = egress
        self.refused = ""

    def __call__(self, _purpose: int, to: Any) -> Any:
        self.refused = self._egress.refusal(self._host, to.addr[0])
        if self.refused:
            return pycurl.SOCKET_BAD
        return _Socket(to.family, to.socktype, to.protocol)


def watch(handle: Any, settings: WebhookSettings) -> Guard | None:
    """Put a guard before the sockets of a handle if the stack asks for one, and return it."""
    egress = Egress.from_environ(os.environ)
    if egress is None:
        return None
    guard = Guard(settings, egress)
    handle.setopt(pycurl.OPENSOCKETFUNCTION, guard)
    return guard
