"""What every target promises of TLS: it verifies the server, shows its own certificate, says why.

The plain connection, the login and where events go are the same as in the other tests.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bucketcast.errors import NotConnected
from bucketcast.shapes import minio
from tests import servers
from tests.contract.diagnoses import fault
from tests.contract.trial import Trial, events
from tests.servers import Server
from tests.servers.tls import Tls

CERTIFICATE = re.compile(r"certificate|cert_authority|client_cert|issuer|expired", re.IGNORECASE)
CLIENT_CERTIFICATE = re.compile(r"client.?(s )?.?cert", re.IGNORECASE)


@pytest.fixture
def expired(one: Trial, servers_folder: Path, tls: Tls) -> Iterator[Server]:
    """Another server of the kind, whose certificate is over since yesterday."""
    name = one.layout.server
    server = servers.run(name, servers_folder / f"{name}-expired", tls.expired())
    server.clear()
    yield server
    server.stop()


@pytest.mark.parametrize("login", ["tls_settings", "mtls_settings"])
def test_events_arrive_over_tls(trial: Trial, login: str) -> None:
    sender = trial.sender(getattr(trial.server, login)())
    assert sender.probe() is None
    assert sender.send(events(20)) == {}
    sender.close()
    assert sender.send(events(20, "later")) == {}
    wanted = [*events(20), *events(20, "later")]
    assert sorted(trial.paths()) == sorted(map(minio.path, wanted))


def test_a_server_of_another_authority_is_refused(one: Trial, tls: Tls) -> None:
    texts = one.server.tls_settings(cert_authority=tls.other_ca.read_text())
    assert_refused(one, texts, CERTIFICATE)


def test_a_server_of_an_unknown_authority_is_refused(one: Trial) -> None:
    """Without `cert_authority` the machine's authorities count, and none of them signed it."""
    assert_refused(one, one.server.tls_settings(cert_authority=""), CERTIFICATE)


def test_an_expired_certificate_is_refused(one: Trial, expired: Server) -> None:
    assert one.sender(expired.settings()).probe() is None
    assert_refused(one, expired.tls_settings(), CERTIFICATE)
    last = fault(one.sender(expired.tls_settings()).target, "tls")
    assert "certificate has expired" in last.found
    assert "renew the server's certificate" in last.hint
    assert expired.received() == []


def test_a_missing_client_certificate_is_reported(one: Trial) -> None:
    texts = one.server.mtls_settings(**one.server.as_client("", ""))
    assert_refused(one, texts, CLIENT_CERTIFICATE)


def test_a_client_certificate_of_another_authority_is_refused(one: Trial, tls: Tls) -> None:
    cert, key = tls.other_client_cert.read_text(), tls.other_client_key.read_text()
    texts = one.server.mtls_settings(**one.server.as_client(cert, key))
    assert_refused(one, texts, CERTIFICATE)


def test_a_client_key_of_another_certificate_is_refused(one: Trial, tls: Tls) -> None:
    cert, key = tls.client_cert.read_text(), tls.other_client_key.read_text()
    texts = one.server.mtls_settings(**one.server.as_client(cert, key))
    assert_refused(one, texts, re.compile(r"key", re.IGNORECASE))


def assert_refused(one: Trial, texts: dict[str, str], expected: re.Pattern[str]) -> None:
    sender = one.sender(texts)
    for error in (sender.refusal(events(3)), sender.probe(), sender.refusal(events(1))):
        assert isinstance(error, NotConnected)
        assert expected.search(str(error)), str(error)
    assert one.arrivals() == []
    sender.close()
    assert one.sender().send(events(1)) == {}, "the plain connection does not work either"
