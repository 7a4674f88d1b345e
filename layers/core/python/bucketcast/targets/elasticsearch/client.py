"""The connection to the server: kept alive, with the login, and a time limit for each send."""

import time
from base64 import b64encode
from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from bucketcast import __version__
from bucketcast.errors import TimedOut
from bucketcast.targets.base import CONNECT_SECONDS, tls
from bucketcast.targets.elasticsearch import errors, iam
from bucketcast.targets.elasticsearch.settings import ElasticsearchSettings, where

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

SECONDS = 20.0
"""After so many no request of a send is begun."""
_CONNECTIONS = 16


class Answer(NamedTuple):
    status: int
    body: bytes


class Client:
    """Connections that threads share; they are opened when they are needed."""

    def __init__(self, settings: ElasticsearchSettings, timeout: float) -> None:
        import urllib3  # noqa: PLC0415 - only its own function carries it

        parts = urlsplit(settings.url.reveal())
        self.where = where(settings.url)
        self.prefix = parts.path.rstrip("/")
        self.timeout = timeout
        tls_options = {"ssl_context": tls.context(settings)} if parts.scheme == "https" else {}
        if settings.tls_skip_verify:
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.settings = settings
        self.server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self.pool: HTTPConnectionPool = urllib3.connection_from_url(
            self.server,
            maxsize=_CONNECTIONS,
            retries=False,
            headers=_headers(settings, parts),
            **tls_options,
        )

    def requests(self) -> "Requests":
        return Requests(self)

    def headers(self, method: str, path: str, body: bytes | None) -> dict[str, str] | None:
        """Return the headers of one request, or None where all have the same.

        With `auth = iam` each is signed.

        Raises:
            NotAuthorized: it cannot be signed.
        """
        if not self.settings.by_iam:
            return None
        url, headers = self.server + path, dict(self.pool.headers)
        return iam.signed(self.settings, method, url, body, headers)

    def close(self) -> None:
        self.pool.close()


class Requests:
    """The requests of one send, of which none is begun once its time is over."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ends = time.monotonic() + SECONDS

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        accepted: Collection[int] = (),
        timeout: float = 0.0,
    ) -> Answer:
        """Send a request; return its answer if it is a success or has an accepted status.

        Raises:
            DeliveryError: there was none, or another one.
        """
        from urllib3 import Timeout  # noqa: PLC0415 - see above
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        client = self._client
        if time.monotonic() > self._ends:
            raise TimedOut(f"{client.where} took more than {SECONDS:.0f} s for what came before")
        try:
            answer = client.pool.request(
                method,
                client.prefix + path,
                body=body,
                headers=client.headers(method, client.prefix + path, body),
                timeout=Timeout(connect=CONNECT_SECONDS, read=max(client.timeout, timeout)),
            )
        except (HTTPError, OSError) as error:
            raise errors.of_connection(error, client.where) from None
        if 200 <= answer.status < 300 or answer.status in accepted:  # noqa: PLR2004 - success
            return Answer(answer.status, answer.data)
        raise errors.of_answer(answer.status, answer.headers, answer.data, client.where)


def _headers(settings: ElasticsearchSettings, parts: SplitResult) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",  # which also does for NDJSON, in every version
        "User-Agent": f"bucketcast/{__version__}",
    }
    if key := settings.api_key.reveal():
        # It is shown as `id:key`, or encoded already.
        headers["Authorization"] = f"ApiKey {_encoded(key) if ':' in key else key}"
    elif parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {_encoded(login)}"
    elif settings.username:
        login = f"{settings.username}:{settings.password.reveal()}"
        headers["Authorization"] = f"Basic {_encoded(login)}"
    return headers


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
