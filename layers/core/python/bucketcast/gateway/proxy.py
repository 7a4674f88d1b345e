"""The proxy to S3: the same call, signed again, with streamed bodies.

S3's response is returned unchanged: status, headers, errors. Memory does not grow with a body, and
a body that proves invalid at its end is aborted before S3 has all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from bucketcast.gateway.forwarded import forwarded_headers, forwarded_query
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import ClientDisconnected, RequestBody
from bucketcast.web.responses import Send
from bucketcast.web.signature.chunked import Chunked
from bucketcast.web.signature.sign import Credentials, sign

SMALL: Final = 65_536
"""Bodies of up to so many bytes are checked before S3 is called."""
_PIECE_BYTES: Final = 65_536
_CONNECT_SECONDS: Final = 5.0
_SILENT_SECONDS: Final = 300.0
_KEPT_SECONDS: Final = 3.0  # less than any server keeps an idle connection
_DROPPED: Final = frozenset(
    {b"connection", b"date", b"keep-alive", b"transfer-encoding", b"upgrade"}
)
"""Headers of S3's answer that are the server's own: of one hop, and the time."""
_PREFLIGHT: Final = (
    "access-control-request-headers",
    "access-control-request-method",
    "origin",
)


class Proxy:
    """Proxies calls to one endpoint, by persistent connections."""

    def __init__(
        self,
        endpoint: str,
        region: str,
        credentials: Callable[[], Awaitable[Credentials]],
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._host = urlsplit(endpoint).netloc
        self._region = region
        self._credentials = credentials
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, request: AuthenticatedRequest, send: Send) -> None:
        """Answer a call with S3's response.

        Raises:
            S3Error: S3 cannot be reached, the body is not what was signed, the call would be
                refused before all of the body is here, or too many answers are streamed now.
        """
        call, body = request.call, request.body
        content, length = await request.while_confirmed(_content(call, body))
        framed = isinstance(content, _StreamedBody) and content.framed
        headers = forwarded_headers(call, body, length, framed=framed)
        path = _path(call)
        query = forwarded_query(call)
        headers["host"] = self._host
        sign(call.method, path, query, headers, await self._credentials(), self._region)
        target = f"{path}{'?' * bool(query)}{query}"
        expects = isinstance(content, _StreamedBody) and "expect" in call.headers

        async def exchange() -> None:
            async with self._request(
                call.method, target, headers, data=content, expect100=expects
            ) as response:
                await _send_response(response, send, request)

        try:
            if isinstance(content, _StreamedBody):
                await request.while_confirmed(exchange())
            else:
                await exchange()
        except S3Error:
            if isinstance(content, _StreamedBody) and content.error:
                raise content.error from None
            raise

    async def preflight(self, call: RawRequest, send: Send) -> None:
        """Answer a browser's preflight with S3's response, by the bucket's CORS rules.

        S3 takes it without a signature.

        Raises:
            S3Error: S3 cannot be reached.
        """
        headers = {name: call.headers[name] for name in _PREFLIGHT if name in call.headers}
        async with self._request("OPTIONS", _path(call), headers) as response:
            content = await response.read()
        headers_kept = _response_headers(response)
        start = {"type": "http.response.start", "status": response.status, "headers": headers_kept}
        await send(start)
        await send({"type": "http.response.body", "body": content, "more_body": False})

    async def close(self) -> None:
        if self._session:
            await self._session.close()

    @asynccontextmanager
    async def _request(
        self, method: str, target: str, headers: Mapping[str, str], **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Call S3; `target` is path and query as sent."""
        url = URL(self._endpoint + target, encoded=True)
        try:
            async with self._open().request(
                method, url, headers=headers, allow_redirects=False, **options
            ) as response:
                yield response
        except aiohttp.ClientError as error:
            raise S3Error("ServiceUnavailable", f"S3 does not answer: {error}") from None
        except TimeoutError:
            raise S3Error("ServiceUnavailable", "S3 does not answer in time") from None

    def _open(self) -> aiohttp.ClientSession:
        """Return the session, created inside the event loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_SECONDS),
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS
                ),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent", "Content-Type"),
                read_bufsize=_PIECE_BYTES,
            )
        return self._session


class _StreamedBody:
    """A streamed body, which cannot be sent a second time."""

    def __init__(self, body: RequestBody, *, framed: bool) -> None:
        self._body = body
        self._has_begun = False
        self.framed = framed
        self.error: S3Error | ClientDisconnected | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._has_begun:
            raise aiohttp.ClientConnectionError("the connection broke while the body was sent")
        self._has_begun = True
        try:
            async for piece in self._body.stream():
                yield b"%x\r\n%b\r\n" % (len(piece), piece) if self.framed else piece
        except (S3Error, ClientDisconnected) as error:
            # The HTTP client would only report an aborted request.
            self.error = error
            raise
        if self.framed:
            yield b"0\r\n%b\r\n" % self._body.payload.trailers


async def _content(
    call: RawRequest, body: RequestBody
) -> tuple[bytes | _StreamedBody | None, int | None]:
    """Return the body to send and its length, None for a chunked one."""
    length = body.payload.length
    if length is None:
        if "transfer-encoding" in call.headers:
            raise S3Error("MissingContentLength")
        length = 0
    if isinstance(body.payload, Chunked) and "x-amz-trailer" in call.headers:
        return _StreamedBody(body, framed=True), None
    if length <= SMALL:
        content = await body.read(SMALL) if length or isinstance(body.payload, Chunked) else b""
        if not length:
            body.payload.finish()
        return content or None, length
    return _StreamedBody(body, framed=False), length


async def _send_response(
    response: aiohttp.ClientResponse, send: Send, request: AuthenticatedRequest
) -> None:
    headers = _response_headers(response)
    start = {"type": "http.response.start", "status": response.status, "headers": headers}
    head, length = request.call.method == "HEAD", response.content_length
    if head or (length is not None and length < _PIECE_BYTES):
        content = b"" if head else await response.read()
        await send(start)
        await send({"type": "http.response.body", "body": content, "more_body": False})
        return
    if request.call.method == "GET" or "select" in request.call.params:  # no change is refused late
        request.body.count_answer()
    await send(start)
    with suppress(S3Error):  # the connection is closed
        await request.while_confirmed(_stream(response.content, send, request.body))


def _response_headers(response: aiohttp.ClientResponse) -> list[tuple[bytes, bytes]]:
    return [
        (name.lower(), value)
        for name, value in response.raw_headers
        if name.lower() not in _DROPPED
        and not (
            response.status in (204, 304) and name.lower() == b"content-length" and value != b"0"
        )
    ]


async def _stream(content: aiohttp.StreamReader, send: Send, body: RequestBody) -> None:
    # Without this, S3 would be read to the end for a client that has disconnected.
    disconnect = asyncio.ensure_future(body.wait_for_disconnect())
    try:
        async for piece in content.iter_chunked(_PIECE_BYTES):
            if disconnect.done():
                break
            async with asyncio.timeout(_SILENT_SECONDS):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        disconnect.cancel()


def _path(call: RawRequest) -> str:
    """Return the path at S3; if the host names the bucket, the path of the call is only the key."""
    is_virtual = call.bucket and call.rest == call.path
    return f"/{call.bucket}{call.rest}" if is_virtual else call.path


def is_bucket_lookup(call: RawRequest) -> bool:
    """Return True for the calls that clients make first to find buckets and their regions."""
    if call.method == "HEAD" and not call.key:
        return True
    listing = call.method == "GET" and not call.bucket and not call.params.keys() - _LISTING
    return listing or (call.method == "GET" and not call.key and "location" in call.params)


_LISTING: Final[Mapping[str, None]] = dict.fromkeys(
    ("x-id", "max-buckets", "continuation-token", "prefix", "bucket-region")
)
