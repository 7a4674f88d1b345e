"""TLS as a client speaks it, from certificates that are text and not files."""

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from bucketcast.errors import NotConnected
from bucketcast.targets.base.options import Tls


def context(settings: Tls, *, skip_verify: bool | None = None) -> ssl.SSLContext:
    """Return a context that verifies the server and its name, and shows the client certificate.

    Without `cert_authority` the machine's authorities count; without `skip_verify` the setting.

    Raises:
        NotConnected: a certificate or key is not what it should be.
    """
    if skip_verify is None:
        skip_verify = getattr(settings, "tls_skip_verify", False)
    try:
        made = ssl.create_default_context(cadata=settings.cert_authority or None)
        if settings.cert_authority:
            # Python 3.13 refuses authorities made by hand for want of optional fields.
            made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if skip_verify:
            made.check_hostname = False
            made.verify_mode = ssl.CERT_NONE
        if settings.client_cert:
            with TemporaryDirectory() as folder:  # which only this user may open
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_text(f"{settings.client_key.reveal()}\n{settings.client_cert}")
                # Without a password OpenSSL would ask the terminal for that of an encrypted key.
                made.load_cert_chain(pair, password="")
    except ssl.SSLError as error:
        raise NotConnected(
            f"cert_authority, client_cert or client_key cannot be used: {error}"
        ) from None
    return made
