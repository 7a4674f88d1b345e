"""Gates before the real servers, which check a login by IAM as AWS does, by botocore.

Without AWS, no server knows its tokens. A gate takes a connection over TLS, asks for the login as
the service of AWS asks, checks the signature with the secret key, and joins the connection to the
real server behind it. A kind's module has its `gate`.
"""

import hmac
import importlib
import select
import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.servers import Server, Settings

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI-s3cret-EXAMPLEKEY"
SESSION = "FwoGZXIvYXdzE-s3cret-session"
REGION = "eu-west-1"
_SKEW = timedelta(minutes=5)


class RefusedError(Exception):
    """The login is not one that AWS would take; the text says why."""


class Gate(ABC):
    """One service's login on a port of its own, while it is `open`."""

    service: str
    """The name that its logins are signed for."""

    def __init__(self, server: Server, port: int = 0) -> None:
        self.server = server
        self.ahead = timedelta()
        """How far its clock is ahead of the machine's."""
        self.credentials: list[str] = []
        """What was shown as a login, in the order of the connections."""
        self.refused: list[str] = []
        """Why logins were refused."""
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(server.tls.server_cert, server.tls.server_key)
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @abstractmethod
    def settings(self) -> Settings:
        """A target's settings for this login, but for the layout."""

    @abstractmethod
    def admit(self, client: socket.socket, until: ExitStack) -> tuple[socket.socket, socket.socket]:
        """Take a client's login; return both ends, to be joined; `until` closes what is opened.

        Raises:
            RefusedError: after the client got the error.
        """

    @contextmanager
    def open(self) -> Iterator[None]:
        """Listen for as long."""
        listening = threading.Thread(target=self._listen, daemon=True)
        listening.start()
        try:
            yield
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)
            listening.join()
            self._listener.close()
            self.cut()

    def cut(self) -> None:
        """End all connections, as a server does that is restarted."""
        while self._ends:
            with suppress(OSError):
                self._ends.pop().shutdown(socket.SHUT_RDWR)

    def encrypted(self, client: socket.socket, until: ExitStack) -> ssl.SSLSocket:
        """Return a connection with TLS, as the server's side of it."""
        line = until.enter_context(self._context.wrap_socket(client, server_side=True))
        self._ends.append(line)
        return line

    def behind(self, address: str, until: ExitStack) -> socket.socket:
        """Return a new connection to the real server."""
        host, _, port = address.rpartition(":")
        made = socket.create_connection((host, int(port)), 10)
        made.settimeout(None)
        return until.enter_context(made)

    def refusal(self, why: str) -> RefusedError:
        """Return the error to raise, noted before the client gets it."""
        self.refused.append(why)
        return RefusedError(why)

    def check_token(self, token: str, query: Mapping[str, str], host: str, path: str = "/") -> None:
        """See that this is what the service expects: the signed URL without its scheme.

        The session's token is among what is signed, unless `query` has it empty.

        Raises:
            RefusedError: it is not.
        """
        self.credentials.append(token)
        parts = urlsplit(f"https://{token}")
        found = dict(parse_qsl(parts.query, keep_blank_values=True))
        sent = found.pop("X-Amz-Signature", "")
        wanted = {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{ACCESS_KEY}/{found.get('X-Amz-Date', '')[:8]}"
            f"/{REGION}/{self.service}/aws4_request",
            "X-Amz-Date": found.get("X-Amz-Date", ""),
            "X-Amz-Expires": "900",
            "X-Amz-Security-Token": SESSION,
            "X-Amz-SignedHeaders": "host",
        }
        wanted = {key: text for key, text in {**wanted, **query}.items() if text}
        if found != wanted or (parts.netloc, parts.path) != (host, path):
            raise self.refusal(f"another form: {parts.netloc}{parts.path} {sorted(found)}")
        self.check_time(found["X-Amz-Date"], timedelta(seconds=900))
        request = AWSRequest("GET", f"https://{host}{path}", params=found)
        request.context["timestamp"] = found["X-Amz-Date"]
        signer = SigV4QueryAuth(Credentials(ACCESS_KEY, SECRET_KEY), self.service, REGION)
        text = signer.string_to_sign(request, signer.canonical_request(request))
        if not hmac.compare_digest(signer.signature(text, request), sent):
            raise self.refusal("the signature is another key's")

    def check_time(self, date: str, lifetime: timedelta) -> None:
        """See that what was signed at this time still counts.

        Raises:
            RefusedError: it does not.
        """
        now = datetime.now(UTC) + self.ahead
        signed = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if not signed - _SKEW <= now <= signed + lifetime:
            raise self.refusal("its time is over")

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # the gate is closed
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with ExitStack() as until, suppress(OSError, EOFError, RefusedError):
            until.enter_context(client)
            _join(*self.admit(client, until))


def gate(kind: str, server: Server) -> Gate:
    """Return a gate before a server of this kind."""
    module: Any = importlib.import_module(f"{__name__}.{kind}")
    return cast("Gate", module.gate(server))


def read_exactly(line: socket.socket, count: int) -> bytes:
    """Return so many bytes.

    Raises:
        EOFError: the other end hung up before.
    """
    read = b""
    while len(read) < count:
        part = line.recv(count - len(read))
        if not part:
            raise EOFError
        read += part
    return read


def _join(one: socket.socket, other: socket.socket) -> None:
    """Hand on what either says, until one hangs up. One thread: OpenSSL takes no two."""
    across = {one: other, other: one}
    while True:
        read = [each for each in across if isinstance(each, ssl.SSLSocket) and each.pending()]
        for each in read or select.select([*across], [], [])[0]:
            data = each.recv(65_536)
            if not data:
                return
            across[each].sendall(data)
