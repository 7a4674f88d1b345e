"""TLS of every target: it verifies the server, sends its certificate, explains errors.

The plain connection, the login and where events go are the same as in the other tests.
"""

import re

import pytest

from bucketcast.errors import NotConnected
from bucketcast.shapes import minio
from tests.contract.case import Case, events
from tests.servers.tls import Tls

CERTIFICATE = re.compile(r"certificate|cert_authority|client_cert|issuer|expired", re.IGNORECASE)
CLIENT_CERTIFICATE = re.compile(r"client.?(s )?.?cert", re.IGNORECASE)


@pytest.mark.parametrize("login", ["tls_settings", "mtls_settings"])
def test_events_arrive_over_tls(server_case: Case, login: str) -> None:
    sender = server_case.sender(getattr(server_case.server, login)())
    assert sender.probe() is None
    assert sender.send(events(20)) == {}
    sender.close()
    assert sender.send(events(20, "later")) == {}
    expected = [*events(20), *events(20, "later")]
    assert sorted(server_case.paths()) == sorted(map(minio.path, expected))


def test_an_intermediate_authority_alone_is_trusted(server_case: Case, tls: Tls) -> None:
    settings = server_case.server.tls_settings(cert_authority=tls.intermediate.read_text())
    sender = server_case.sender(settings)
    assert sender.probe() is None
    assert sender.send(events(2)) == {}


def test_a_server_of_another_authority_is_refused(server_case: Case, tls: Tls) -> None:
    settings = server_case.server.tls_settings(cert_authority=tls.other_ca.read_text())
    assert_refused(server_case, settings, CERTIFICATE)


def test_a_server_of_an_unknown_authority_is_refused(server_case: Case) -> None:
    """Without `cert_authority` the machine's authorities count, and none of them signed it."""
    assert_refused(server_case, server_case.server.tls_settings(cert_authority=""), CERTIFICATE)


def test_tls_skip_verify_accepts_any_certificate(server_case: Case, tls: Tls) -> None:
    other = tls.other_ca.read_text()
    settings = server_case.server.tls_settings(cert_authority=other, tls_skip_verify="on")
    sender = server_case.sender(settings)
    assert sender.probe() is None
    assert sender.send(events(2)) == {}
    assert len(server_case.arrivals()) == 2


def test_a_missing_client_certificate_is_reported(server_case: Case) -> None:
    settings = server_case.server.mtls_settings(**server_case.server.as_client("", ""))
    assert_refused(server_case, settings, CLIENT_CERTIFICATE)


def test_a_client_certificate_of_another_authority_is_refused(server_case: Case, tls: Tls) -> None:
    cert, key = tls.other_client_cert.read_text(), tls.other_client_key.read_text()
    settings = server_case.server.mtls_settings(**server_case.server.as_client(cert, key))
    assert_refused(server_case, settings, CERTIFICATE)


def test_a_client_key_of_another_certificate_is_refused(server_case: Case, tls: Tls) -> None:
    cert, key = tls.client_cert.read_text(), tls.other_client_key.read_text()
    settings = server_case.server.mtls_settings(**server_case.server.as_client(cert, key))
    assert_refused(server_case, settings, re.compile(r"key", re.IGNORECASE))


def assert_refused(server_case: Case, settings: dict[str, str], expected: re.Pattern[str]) -> None:
    sender = server_case.sender(settings)
    for error in (sender.refusal(events(3)), sender.probe(), sender.refusal(events(1))):
        assert isinstance(error, NotConnected)
        assert expected.search(str(error)), str(error)
    assert server_case.arrivals() == []
    sender.close()
    assert server_case.sender().send(events(1)) == {}, "the plain connection does not work either"
