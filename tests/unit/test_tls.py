"""TLS contexts from PEM texts; that servers are verified by them is for the contract tests."""

from dataclasses import dataclass, field, replace

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from bucketcast import tls
from bucketcast.errors import NotConnected
from bucketcast.options import Secret


@dataclass(frozen=True)
class Given:
    cert_authority: str = ""
    client_cert: str = ""
    client_key: Secret = field(default_factory=lambda: Secret(""))
    tls_skip_verify: bool = False


@pytest.fixture(scope="module")
def given() -> Given:
    authority = trustme.CA()
    made = authority.issue_cert("client@test.example")
    return Given(
        authority.cert_pem.bytes().decode(),
        "".join(pem.bytes().decode() for pem in made.cert_chain_pems),
        Secret(made.private_key_pem.bytes().decode()),
    )


def test_only_the_authority_given_is_trusted(given: Given) -> None:
    context = tls.context(given)
    (trusted,) = context.get_ca_certs()
    assert context.check_hostname
    assert str(trusted["subject"]) == str(trusted["issuer"])
    assert "trustme" in str(trusted)


def test_a_key_that_wants_a_password_is_refused_and_nobody_is_asked(given: Given) -> None:
    plain = load_pem_private_key(given.client_key.reveal().encode(), None)
    locked = plain.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2")
    )
    with pytest.raises(NotConnected, match="client_cert or client_key cannot be used"):
        tls.context(replace(given, client_key=Secret(locked.decode())))


def test_what_is_no_certificate_is_said(given: Given) -> None:
    none = "-----BEGIN CERTIFICATE-----\nnone\n"
    for broken in (replace(given, cert_authority=none), replace(given, client_cert=none)):
        with pytest.raises(NotConnected, match="cannot be used"):
            tls.context(broken)
