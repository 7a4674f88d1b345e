"""The way to a server: what no library does in time."""

import socket
import time
from threading import Event

import pytest

from bucketcast.settings.egress import VARIABLE
from bucketcast.targets.base import connecting, endpoint

SOON = 0.05


def test_a_silent_name_server_holds_nobody_past_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: told.wait(3) and [])
    monkeypatch.setattr(endpoint, "SECONDS", SOON)
    monkeypatch.setenv(VARIABLE, "10.0.0.0/8")
    for look_up in (connecting.connect, connecting.require_allowed):
        with pytest.raises(TimeoutError, match="the name server does not answer"):
            look_up("db.internal", 1, time.monotonic() + SOON)
    with pytest.raises(endpoint.FaultError, match="the name server does not answer"):
        endpoint.Endpoint("db.internal", 1).resolve()
    told.set()
