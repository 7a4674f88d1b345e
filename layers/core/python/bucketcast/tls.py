"""TLS as a client speaks it, from certificates that are text and not files."""

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from bucketcast.errors import NotConnected
from bucketcast.options import Secret


class Given(Protocol):
    """The options of a target that are about TLS."""

    @property
    def cert_authority(self) -> str: ...
    @property
    def client_cert(self) -> str: ...
    @property
    def client_key(self) -> Secret: ...
    @property
    def tls_skip_verify(self) -> bool: ...


def context(given: Given) -> ssl.SSLContext:
    """What verifies the server, its name too, and shows the client's own certificate.

    Without `cert_authority` the machine's authorities count.

    Raises:
        NotConnected: a certificate or key is not what it should be.
    """
    try:
        made = ssl.create_default_context(cadata=given.cert_authority or None)
        if given.cert_authority:
            # Python 3.13 refuses authorities made by hand for want of optional fields.
            made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if given.tls_skip_verify:
            made.check_hostname = False
            made.verify_mode = ssl.CERT_NONE
        if given.client_cert:
            with TemporaryDirectory() as folder:  # which only this user may open
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_text(f"{given.client_key.reveal()}\n{given.client_cert}")
                # Without a password OpenSSL would ask the terminal for that of an encrypted key.
                made.load_cert_chain(pair, password="")
    except ssl.SSLError as error:
        raise NotConnected(
            f"cert_authority, client_cert or client_key cannot be used: {error}"
        ) from None
    return made
