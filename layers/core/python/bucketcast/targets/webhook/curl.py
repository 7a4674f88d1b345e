"""HTTP by libcurl: handles with their options, what its errors mean, and a look at the endpoint.

TLS is verified, the host name too, unless `tls_skip_verify` is on: against the CA given, else
against what OpenSSL's `SSL_CERT_FILE` names, else against the machine's own bundle. Proxies are
those of `https_proxy`, `http_proxy` and `no_proxy`. pycurl is imported where it is used, as only
one function carries it.
"""

import os
import select
import ssl
from collections.abc import Sequence
from typing import Any, Protocol

from bucketcast import __version__, addresses
from bucketcast.errors import NotAuthorized, NotConnected
from bucketcast.options import Duration, Pem, Secret, SecretPem, Url

BODY_KEPT = 4096
LATE_ALERT = 0.2
"""Seconds that a server gets to refuse us after the handshake, as TLS 1.3 does."""


class Endpoint(Protocol):
    """The settings that a connection needs."""

    @property
    def endpoint(self) -> Url: ...
    @property
    def auth_token(self) -> Secret: ...
    @property
    def timeout(self) -> Duration: ...
    @property
    def tls_skip_verify(self) -> bool: ...
    @property
    def cert_authority(self) -> Pem: ...
    @property
    def client_cert(self) -> Pem: ...
    @property
    def client_key(self) -> SecretPem: ...


def where(settings: Endpoint) -> str:
    """The endpoint for people: a query may hold secrets, and parts of its path."""
    return addresses.shown(settings.endpoint)


def handle(settings: Endpoint) -> Any:
    """A `pycurl.Curl` for the endpoint, with all that no request changes."""
    import pycurl  # noqa: PLC0415 - see above

    made = pycurl.Curl()
    milliseconds = max(1, round(settings.timeout * 1000))
    options = {
        pycurl.URL: settings.endpoint,
        pycurl.USERAGENT: f"bucketcast/{__version__}",
        pycurl.PROTOCOLS: pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS,
        pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
        pycurl.TIMEOUT_MS: milliseconds,
        pycurl.CONNECTTIMEOUT_MS: milliseconds,
        pycurl.NOSIGNAL: 1,
        pycurl.TCP_NODELAY: 1,
        pycurl.SSL_VERIFYPEER: 0 if settings.tls_skip_verify else 1,
        pycurl.SSL_VERIFYHOST: 0 if settings.tls_skip_verify else 2,
    }
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        options[pycurl.PROXY] = ""  # or curl would search the environment for every request
    if settings.cert_authority:
        options[pycurl.CAINFO_BLOB] = settings.cert_authority
        made.unsetopt(pycurl.CAPATH)
    elif bundle := ssl.get_default_verify_paths().cafile:
        options[pycurl.CAINFO] = bundle  # pycurl itself looks in some places only
    if settings.client_cert:
        options[pycurl.SSLCERT_BLOB] = settings.client_cert
        options[pycurl.SSLKEY_BLOB] = settings.client_key.reveal()
    for name, value in options.items():
        made.setopt(name, value)
    return made


class Request:
    """A handle that posts to the endpoint, the event that it carries, and what came back."""

    def __init__(self, settings: Endpoint) -> None:
        import pycurl  # noqa: PLC0415 - see above

        self.handle = made = handle(settings)
        self.setopt, self.getinfo = made.setopt, made.getinfo
        self.place = 0
        self.body = bytearray()
        self.broke: Sequence[Any] = ()
        self.setopt(pycurl.POST, 1)
        self.setopt(pycurl.WRITEFUNCTION, self._read)

    def _read(self, chunk: bytes) -> None:
        if len(self.body) < BODY_KEPT:
            self.body += chunk[:BODY_KEPT]


def broken(settings: Endpoint, code: int, text: str) -> NotConnected:
    """What curl says went wrong before there was an answer, with what to look at."""
    import pycurl  # noqa: PLC0415 - see above

    cures = {
        pycurl.E_COULDNT_RESOLVE_HOST: "see endpoint, and the function's VPC",
        pycurl.E_COULDNT_CONNECT: "see endpoint, and the function's VPC and security groups",
        pycurl.E_OPERATION_TIMEDOUT: "see timeout",
        pycurl.E_PEER_FAILED_VERIFICATION: "see cert_authority",
        pycurl.E_SSL_CACERT_BADFILE: "see cert_authority",
    }
    dropped = (pycurl.E_RECV_ERROR, pycurl.E_SEND_ERROR, pycurl.E_GOT_NOTHING)
    encrypted = settings.endpoint.startswith("https:")
    reason = f"{where(settings)}: {text}"
    # TLS 1.3 refuses a client's certificate only after the handshake, by an alert or a hang-up.
    if any(word in text for word in ("alert", "private key")) or (encrypted and code in dropped):
        return NotAuthorized(f"{reason} (if it asks for a client's certificate: see client_cert)")
    return NotConnected(f"{reason} ({cures[code]})" if code in cures else reason)


def handshake(settings: Endpoint) -> None:
    """Connect, TLS included, and send nothing.

    Raises:
        NotConnected: it was not possible, or the server dropped us at once.
    """
    import pycurl  # noqa: PLC0415 - see above

    with handle(settings) as trial:
        trial.setopt(pycurl.CONNECT_ONLY, 1)
        try:
            trial.perform()
            if select.select([trial.getinfo(pycurl.ACTIVESOCKET)], (), (), LATE_ALERT)[0]:
                trial.recv(1)
        except BlockingIOError:
            return
        except pycurl.error as error:
            raise broken(settings, *error.args) from None
