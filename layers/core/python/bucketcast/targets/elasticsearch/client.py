"""The connection to the server: kept alive, with the login and a time limit for each send."""

import socket
import time
from base64 import b64encode
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from bucketcast import __version__
from bucketcast.aws import iam_login
from bucketcast.errors import Retryable, TimedOut
from bucketcast.targets.base import CONNECT_SECONDS, connecting, tls
from bucketcast.targets.elasticsearch import errors
from bucketcast.targets.elasticsearch.answers import ANSWERS
from bucketcast.targets.elasticsearch.settings import ElasticsearchSettings, where

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

SEND_SECONDS = 20.0
"""No request of a send begins later than this after its start."""
_CONNECTIONS = 16
T = TypeVar("T")


class Response(NamedTuple):
    status: int
    body: bytes


def read(answer: str, decode: Callable[[bytes], T], body: bytes) -> T:
    """Decode the server's answer to what `answer` names.

    Raises:
        Retryable: it is another server's.
    """
    try:
        return decode(body)
    except ValueError as error:
        raise Retryable(
            f"the answer to {answer} is not Elasticsearch's ({error}): see url"
        ) from None


class Client:
    """Connections that threads share, opened on demand."""

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
        self.pool.ConnectionCls = _connection_class(self.pool.ConnectionCls)

    def headers(self, method: str, path: str, body: bytes | None) -> dict[str, str] | None:
        """Return the headers of one request, or None if all requests have the same.

        With `auth = iam`, each request is signed for an OpenSearch domain or collection. Source:
        "Signing HTTP requests to Amazon OpenSearch Service", and "… OpenSearch Serverless".

        Raises:
            NotAuthorized: it cannot be signed.
        """
        if not self.settings.by_iam:
            return None
        url, headers = self.server + path, dict(self.pool.headers)
        service, region = self.settings.iam_parts.group("service", "region")
        return iam_login.signed_headers(service, region, method, url, body, headers)

    def close(self) -> None:
        self.pool.close()


class Requests:
    """The requests of one send; none begins after `seconds`, or waits longer than them."""

    def __init__(self, client: Client, seconds: float) -> None:
        self._client = client
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        accepted: Collection[int] = (),
        timeout: float = 0.0,
    ) -> Response:
        """Send a request; return the response if it is a success or has an accepted status.

        Raises:
            DeliveryError: there was no response, or another status.
        """
        from urllib3 import Timeout  # noqa: PLC0415 - see above
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        client = self._client
        if time.monotonic() > self._deadline:
            raise TimedOut(f"{client.where} took more than {self._seconds:.0f} s for the batch")
        try:
            response = client.pool.request(
                method,
                client.prefix + path,
                body=body,
                headers=client.headers(method, client.prefix + path, body),
                timeout=Timeout(
                    connect=CONNECT_SECONDS,
                    read=min(self._seconds, max(client.timeout, timeout)),
                ),
            )
        except (HTTPError, OSError) as error:
            raise ANSWERS.of(error, client.where, connecting=True) from None
        if 200 <= response.status < 300 or response.status in accepted:  # noqa: PLR2004 - success
            return Response(response.status, response.data)
        raise errors.of_response(response.status, response.headers, response.data, client.where)


def _connection_class(library_class: Any) -> Any:
    """Return a class that connects as all targets do."""
    from urllib3.exceptions import NewConnectionError  # noqa: PLC0415 - see above

    class Connected(library_class):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            deadline = time.monotonic() + CONNECT_SECONDS
            try:
                return connecting.connect(self.host, self.port, deadline)
            except OSError as error:
                raise NewConnectionError(self, str(error)) from None

    return Connected


def _headers(settings: ElasticsearchSettings, parts: SplitResult) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",  # every version accepts it for NDJSON too
        "User-Agent": f"bucketcast/{__version__}",
    }
    if key := settings.api_key.reveal():
        # It is given as `id:key`, or already encoded.
        headers["Authorization"] = f"ApiKey {_encode_base64(key) if ':' in key else key}"
    elif parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {_encode_base64(login)}"
    elif settings.username:
        login = f"{settings.username}:{settings.password.reveal()}"
        headers["Authorization"] = f"Basic {_encode_base64(login)}"
    return headers


def _encode_base64(text: str) -> str:
    return b64encode(text.encode()).decode()
