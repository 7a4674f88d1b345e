"""TLS contexts from PEM texts; the contract tests show that they verify servers."""

from dataclasses import replace

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from bucketcast.errors import NotConnected
from bucketcast.settings.options import read
from bucketcast.settings.types import Pem, SecretPem
from bucketcast.targets.base import tls
from bucketcast.targets.base.options import TlsUnverified


@pytest.fixture(scope="module")
def given() -> TlsUnverified:
    authority = trustme.CA()
    certificate = authority.issue_cert("client@test.example")
    pems = {
        "cert_authority": authority.cert_pem.bytes().decode(),
        "client_cert": "".join(pem.bytes().decode() for pem in certificate.cert_chain_pems),
        "client_key": certificate.private_key_pem.bytes().decode(),
    }
    return read(TlsUnverified, pems)


def test_only_the_authority_given_is_trusted(given: TlsUnverified) -> None:
    context = tls.context(given)
    (trusted,) = context.get_ca_certs()
    assert context.check_hostname
    assert str(trusted["subject"]) == str(trusted["issuer"])
    assert "trustme" in str(trusted)


def test_an_encrypted_key_is_refused_without_a_prompt(given: TlsUnverified) -> None:
    plain = load_pem_private_key(given.client_key.reveal().encode(), None)
    locked = plain.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"hunter2")
    )
    with pytest.raises(NotConnected, match="client_cert or client_key cannot be used"):
        tls.context(replace(given, client_key=SecretPem(locked.decode())))


def test_an_invalid_certificate_is_reported(given: TlsUnverified) -> None:
    not_a_certificate = Pem("-----BEGIN CERTIFICATE-----\nnone\n")
    for broken in (
        replace(given, cert_authority=not_a_certificate),
        replace(given, client_cert=not_a_certificate),
    ):
        with pytest.raises(NotConnected, match="cannot be used"):
            tls.context(broken)
