"""What doctor finds of the servers of a target: names, ports, certificates, several of them."""

import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from bucketcast.diagnose.target import diagnose
from bucketcast.errors import NotAuthorized
from bucketcast.event import Event
from bucketcast.settings.options import read
from bucketcast.targets import base
from bucketcast.targets.base import options
from bucketcast.targets.base.endpoint import Endpoint


class Reached(base.Target):
    """A target that takes everything, behind these servers."""

    def __init__(self, *endpoints: Endpoint) -> None:
        super().__init__(read(options.Common, {}))
        self._endpoints = endpoints

    @property
    def where(self) -> str:
        return "here"

    def endpoints(self) -> Sequence[Endpoint]:
        return self._endpoints

    def send(self, events: Sequence[Event]) -> base.Failures:
        raise AssertionError(f"doctor sends nothing: {events}")

    def probe(self) -> None:
        pass

    def close(self) -> None:
        pass


@contextmanager
def listening(certificate: trustme.LeafCert) -> Iterator[int]:
    """The port of a server with this certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)

    def serve() -> None:
        with suppress(OSError):  # until the listener is closed
            while True:
                peer = listener.accept()[0]
                with suppress(OSError):  # who only wanted to see whether somebody listens
                    context.wrap_socket(peer, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    authority.configure_trust(context)
    return context


@pytest.mark.parametrize(
    ("days", "name", "status", "found", "hint"),
    [
        (20, "127.0.0.1", "ok", "is valid until", ""),
        (5, "127.0.0.1", "warn", "in 5 days", "renew the server's certificate before then"),
        (-1, "127.0.0.1", "error", "certificate has expired", "renew the server's certificate"),
        (20, "example.org", "error", "IP address mismatch", "use a host name that is in the"),
    ],
)
def test_the_certificate(days: int, name: str, status: str, found: str, hint: str) -> None:
    authority, now = trustme.CA(), datetime.now(UTC)
    begin, end = now - timedelta(days=9), now + timedelta(days=days, hours=1)
    with listening(authority.issue_cert(name, not_before=begin, not_after=end)) as port:
        seen = diagnose(lambda _: Reached(Endpoint("127.0.0.1", port, trusting(authority))))
    (tls,) = [finding for finding in seen if finding.check == "tls"]
    assert tls.status == status
    assert found in tls.found
    assert hint in tls.hint
    assert (seen[-1].check == "access") == (status != "error")


@pytest.mark.parametrize(
    ("host", "check", "problem", "hint"),
    [
        ("127.0.0.1", "tcp", ":1 refuses connections", "start the server, or correct host and"),
        ("nowhere.invalid", "dns", "the host nowhere.invalid is unknown", "correct the host in"),
    ],
)
def test_a_server_that_cannot_be_reached(host: str, check: str, problem: str, hint: str) -> None:
    *_, last = diagnose(lambda _: Reached(Endpoint(host, 1, None)))
    assert (last.check, last.status) == (check, "error")
    assert problem in last.found
    assert hint in last.hint


def test_an_unknown_authority() -> None:
    with listening(trustme.CA().issue_cert("127.0.0.1")) as port:
        *_, last = diagnose(lambda _: Reached(Endpoint("127.0.0.1", port, trusting(trustme.CA()))))
    assert (last.check, last.status) == ("tls", "error")
    assert "set cert_authority to the CA that signed it" in last.hint


def test_one_of_two_servers_is_enough() -> None:
    authority = trustme.CA()
    with listening(authority.issue_cert("127.0.0.1")) as port:
        reachable = Endpoint("127.0.0.1", port, trusting(authority))
        seen = diagnose(lambda _: Reached(Endpoint("127.0.0.1", 1), reachable))
    assert [(finding.check, finding.status) for finding in seen if finding.status != "ok"] == [
        ("tcp", "warn")
    ]
    assert seen[-1].check == "access"


def test_an_address_that_cannot_be_read_shows_nothing_of_itself() -> None:
    class Unread(Reached):
        def endpoints(self) -> Sequence[Endpoint]:
            raise ValueError("Port could not be cast to integer value as 's3cret'")

    (last,) = diagnose(lambda _: Unread())
    assert (last.check, last.status) == ("settings", "error")
    assert "s3cret" not in repr(last)


def test_settings_that_cannot_be_used_end_it() -> None:
    def connect(_: bool) -> base.Target:  # noqa: FBT001 - as dispatch has it
        raise NotAuthorized("auth_token: the secret 'token' cannot be read")

    (last,) = diagnose(connect)
    assert (last.check, last.status) == ("settings", "error")
    assert "correct the setting, or the secret it refers to" in last.hint
