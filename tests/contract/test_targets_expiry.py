"""A certificate that expires while targets are connected, until there is another one.

The server's is renewed at the server, ours in the secret, of which a function makes its target
again.
"""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bucketcast.delivery.connection import Connection
from bucketcast.errors import NotConnected
from bucketcast.shapes import minio
from tests.contract.case import Case, events
from tests.servers.tls import Tls, renew

LIVES = (3, 9, 27, 81)
"""Seconds; a busy server takes its time until it shows a certificate."""


@pytest.fixture(params=["server", "client"])
def whose(request: pytest.FixtureRequest, server_case: Case, tls: Tls) -> Iterator[str]:
    """Yield whose certificate expires; renew it at the end."""
    yield request.param
    replace(server_case, tls, request.param)


def replace(case: Case, tls: Tls, whose: str, not_after: datetime | None = None) -> None:
    renew(tls, whose, not_after)
    if whose == "server":
        case.server.show_certificate()


def test_a_certificate_that_expires_under_way(server_case: Case, tls: Tls, whose: str) -> None:
    server = server_case.server
    for seconds in LIVES:
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        replace(server_case, tls, whose, end)
        sender = server_case.sender(server.mtls_settings())
        if not sender.send(events(2, "first")):
            break
    time.sleep(max(0.0, (end - datetime.now(UTC)).total_seconds()) + 1)
    late = sender.send(events(2, "connected"))
    assert len(late) < 2, "what is connected stays so"
    sender.close()
    told = sender.refusal(events(2, "expired"))
    assert isinstance(told, NotConnected)
    assert "certificate" in str(told)
    replace(server_case, tls, whose)
    names = ["first", "connected", "expired"]
    if whose == "client":
        old, sender = sender, server_case.sender(server.mtls_settings())
        function = Connection(lambda fresh: (sender if fresh else old).target)
        sent = function.send(events(2, "anew"), lambda: 60.0)
        assert sent.errors == {}, "the secret is read again at once"
        names.append("anew")
    rest = [events(2, "connected")[index] for index in late]
    sender.send_until_delivered([*rest, *events(2, "expired")])
    delivered = [put for name in names for put in events(2, name)]
    assert sorted(server_case.paths()) == sorted(map(minio.path, delivered))
