"""Certificates for the test servers: one authority, what it signed, and what must be refused."""

from dataclasses import dataclass
from pathlib import Path

import trustme

CLIENT_NAME = "carol"
"""Common name of the client certificate; PostgreSQL takes it for the role."""


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files. A `*_cert` holds the whole chain, a `*_key` is readable by the owner only."""

    ca: Path
    server_cert: Path
    server_key: Path
    client_cert: Path
    client_key: Path
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
    other.cert_pem.write_to_path(str(files.other_ca))
    here = ("localhost", "127.0.0.1", "::1")
    client = f"{CLIENT_NAME}@test.example"
    own_client = authority.issue_cert(client, common_name=CLIENT_NAME)
    other_client = other.issue_cert(client, common_name=CLIENT_NAME)
    _write(authority.issue_cert(*here), files.server_cert, files.server_key)
    _write(own_client, files.client_cert, files.client_key)
    _write(other_client, files.other_client_cert, files.other_client_key)
    return files


def _write(made: trustme.LeafCert, cert: Path, key: Path) -> None:
    cert.write_bytes(b"".join(pem.bytes() for pem in made.cert_chain_pems))
    key.touch(mode=0o600)
    key.write_bytes(made.private_key_pem.bytes())
