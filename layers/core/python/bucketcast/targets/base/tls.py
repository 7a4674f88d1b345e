"""A client's TLS context, from certificates that are text and not files.

Each certificate of `cert_authority` is trusted by itself, also without the root that signed it.
"""

import re
import ssl
from pathlib import Path
from tempfile import TemporaryDirectory

from bucketcast.errors import NotConnected
from bucketcast.targets.base.options import Tls

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_TRUST_SERVERS = bytes.fromhex("300c300a06082b06010505070301")
"""OpenSSL's addition to a certificate (X509_CERT_AUX): it is trusted for servers (serverAuth)."""


def context(settings: Tls, *, skip_verify: bool | None = None) -> ssl.SSLContext:
    """Return a context that verifies the server and its name, and has the client certificate.

    Without `cert_authority` the machine's authorities are used. The default of `skip_verify` is
    the setting `tls_skip_verify`.

    Raises:
        NotConnected: a certificate or key cannot be used.
    """
    if skip_verify is None:
        skip_verify = getattr(settings, "tls_skip_verify", False)
    try:
        ssl_context = ssl.create_default_context(cadata=settings.cert_authority or None)
        if settings.cert_authority:
            # Python 3.13 refuses home-made authorities that lack optional fields.
            ssl_context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            ssl_context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if skip_verify:
            ssl_context.check_hostname = False
            ssl_context.verify_mode = ssl.CERT_NONE
        if settings.client_cert:
            with TemporaryDirectory() as folder:  # only this user may open it
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_text(f"{settings.client_key.reveal()}\n{settings.client_cert}")
                # Without a password, OpenSSL would prompt for that of an encrypted key.
                ssl_context.load_cert_chain(pair, password="")
    except ssl.SSLError as error:
        raise NotConnected(
            f"cert_authority, client_cert or client_key cannot be used: {error}"
        ) from None
    return ssl_context


def trusted(pem: str) -> str:
    """Return certificates for a library without a context, marked as trusted by themselves.

    OpenSSL reads such a mark from files only.

    Raises:
        NotConnected: a certificate cannot be used.
    """
    try:
        found = [ssl.PEM_cert_to_DER_cert(each) for each in _CERTIFICATE.findall(pem)]
    except ValueError as error:
        raise NotConnected(f"cert_authority cannot be used: {error}") from None
    text = "".join(ssl.DER_cert_to_PEM_cert(each + _TRUST_SERVERS) for each in found)
    return text.replace(" CERTIFICATE-", " TRUSTED CERTIFICATE-")
