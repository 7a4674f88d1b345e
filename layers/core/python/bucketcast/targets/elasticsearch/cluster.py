"""The way to the server: kept connections, the login, and a bound for all that one send asks."""

import time
from base64 import b64encode
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from bucketcast import __version__, addresses
from bucketcast.errors import Retryable
from bucketcast.options import LoginUrl, Secret
from bucketcast.targets.elasticsearch import outcome
from bucketcast.tls import context

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

CONNECT_SECONDS = 5.0
SECONDS = 20.0
"""After so many no request of a send is begun."""
_CONNECTIONS = 16


class Given(Protocol):
    """The target's options that are about the connection."""

    @property
    def url(self) -> LoginUrl: ...
    @property
    def username(self) -> str: ...
    @property
    def password(self) -> Secret: ...
    @property
    def api_key(self) -> Secret: ...
    @property
    def cert_authority(self) -> str: ...
    @property
    def client_cert(self) -> str: ...
    @property
    def client_key(self) -> Secret: ...
    @property
    def tls_skip_verify(self) -> bool: ...


class Answer(NamedTuple):
    status: int
    body: bytes


class Cluster:
    """Connections that threads share; they are opened when they are needed."""

    def __init__(self, given: Given, patience: float) -> None:
        import urllib3  # noqa: PLC0415 - only its own function carries it

        parts = urlsplit(given.url.reveal())
        self.where = place(given.url)
        self.prefix = parts.path.rstrip("/")
        self.patience = patience
        tls = {"ssl_context": context(given)} if parts.scheme == "https" else {}
        if given.tls_skip_verify:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.pool: HTTPConnectionPool = urllib3.connection_from_url(
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}",
            maxsize=_CONNECTIONS,
            retries=False,
            headers=_headers(given, parts),
            **tls,
        )

    def talk(self) -> "Talk":
        return Talk(self)

    def close(self) -> None:
        self.pool.close()


class Talk:
    """The requests of one send, of which none is begun once its time is over."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ends = time.monotonic() + SECONDS

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        accepted: Collection[int] = (),
        patience: float = 0.0,
    ) -> Answer:
        """An answer of success, or of one of the accepted statuses; `patience` for a slow one.

        Raises:
            DeliveryError: there was none, or another one.
        """
        from urllib3 import Timeout  # noqa: PLC0415 - see above
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        cluster = self._cluster
        if time.monotonic() > self._ends:
            raise Retryable(f"{cluster.where} took more than {SECONDS:.0f} s for what came before")
        try:
            answer = cluster.pool.request(
                method,
                cluster.prefix + path,
                body=body,
                timeout=Timeout(connect=CONNECT_SECONDS, read=max(cluster.patience, patience)),
            )
        except (HTTPError, OSError) as error:
            raise outcome.of_connection(error, cluster.where) from None
        if 200 <= answer.status < 300 or answer.status in accepted:  # noqa: PLR2004 - success
            return Answer(answer.status, answer.data)
        raise outcome.of_answer(answer.status, answer.headers, answer.data, cluster.where)


def place(url: LoginUrl) -> str:
    """The URL for people: without its login."""
    return addresses.shown(url.reveal()).rstrip("/")


def _headers(given: Given, parts: SplitResult) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",  # which also does for NDJSON, in every version
        "User-Agent": f"bucketcast/{__version__}",
    }
    if key := given.api_key.reveal():
        # It is shown as `id:key`, or encoded already.
        headers["Authorization"] = f"ApiKey {_encoded(key) if ':' in key else key}"
    elif parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {_encoded(login)}"
    elif given.username:
        headers["Authorization"] = (
            f"Basic {_encoded(f'{given.username}:{given.password.reveal()}')}"
        )
    return headers


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
