"""Certificates for the test servers: one authority, what it signed, and what must be refused."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

CLIENT_NAME = "carol"
"""Common name of the client certificate; PostgreSQL takes it for the role."""
_NAMES = {
    "server": ("localhost", "127.0.0.1", "::1"),
    "client": (f"{CLIENT_NAME}@test.example",),
}


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files. A `*_cert` holds the whole chain, a `*_key` is readable by the owner only."""

    ca: Path
    ca_key: Path
    server_cert: Path
    server_key: Path
    client_cert: Path
    client_key: Path
    intermediate: Path
    """The authority as another, which nobody has, certified it: name and key are the same."""
    other_ca: Path
    """An authority that signed nothing the servers show."""
    other_client_cert: Path
    """For the same client name, but of the other authority: the servers must refuse it."""
    other_client_key: Path


def issue(folder: Path) -> Tls:
    """The certificates in `folder`: those already there, or newly made ones."""
    names = Tls.__dataclass_fields__
    files = Tls(**{name: folder / f"{name.replace('_', '-')}.pem" for name in names})
    if all(getattr(files, name).is_file() for name in names):
        return files
    folder.mkdir(parents=True, exist_ok=True)
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(files.ca))
    authority.private_key_pem.write_to_path(str(files.ca_key))
    other.cert_pem.write_to_path(str(files.other_ca))
    files.intermediate.write_text(_certified_by_another(authority))
    for whose in _NAMES:
        renew(files, whose)
    other_client = other.issue_cert(*_NAMES["client"], common_name=CLIENT_NAME)
    _write(other_client, files.other_client_cert, files.other_client_key)
    return files


def renew(files: Tls, whose: str, not_after: datetime | None = None) -> None:
    """Replace the certificate of the `server` or the `client`, and its key."""
    authority = trustme.CA.from_pem(files.ca.read_bytes(), files.ca_key.read_bytes())
    made = authority.issue_cert(
        *_NAMES[whose],
        common_name=CLIENT_NAME if whose == "client" else "localhost",
        organization_unit_name=whose,  # Kafka takes a new one for the same name only
        not_after=not_after,
    )
    _write(made, getattr(files, f"{whose}_cert"), getattr(files, f"{whose}_key"))


def _certified_by_another(authority: trustme.CA) -> str:
    own = x509.load_pem_x509_certificate(authority.cert_pem.bytes())
    root = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a root that nobody has")])
    builder = x509.CertificateBuilder(root, own.subject, own.public_key(), own.serial_number + 1)
    builder = builder.not_valid_before(own.not_valid_before_utc)
    builder = builder.not_valid_after(own.not_valid_after_utc)
    for extension in own.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return signed.public_bytes(Encoding.PEM).decode()


def _write(made: trustme.LeafCert, cert: Path, key: Path) -> None:
    cert.write_bytes(b"".join(pem.bytes() for pem in made.cert_chain_pems))
    key.touch(mode=0o600)
    key.write_bytes(made.private_key_pem.bytes())
