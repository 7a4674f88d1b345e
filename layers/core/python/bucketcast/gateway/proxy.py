"""The proxy to S3: the same call, signed anew, with streamed bodies.

S3's response is returned unchanged: status, headers, errors. Memory does not grow with a body, and
a body that proves invalid at its end is aborted before S3 has all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import ClientDisconnected, RequestBody
from bucketcast.web.responses import Send
from bucketcast.web.signature.chunked import Chunked
from bucketcast.web.signature.sign import Credentials, sign

SMALL: Final = 65_536
"""Bodies of up to so many bytes are checked before S3 is called."""
_PIECE: Final = 262_144
_CONNECT_SECONDS: Final = 5.0
_SILENT_SECONDS: Final = 300.0
_KEPT_SECONDS: Final = 3.0  # less than any server keeps an idle connection
_OURS: Final = frozenset(
    {
        "authorization",
        "connection",
        "content-length",
        "date",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-amz-content-sha256",
        "x-amz-date",
        "x-amz-decoded-content-length",
        "x-amz-security-token",
    }
)
_HOP: Final = frozenset({b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"})
_IN_QUERY: Final = frozenset(
    f"X-Amz-{name}"
    for name in (
        "Algorithm",
        "Content-Sha256",
        "Credential",
        "Date",
        "Expires",
        "Security-Token",
        "Signature",
        "SignedHeaders",
    )
)
_BODILESS: Final = (204, 304)


class Proxy:
    """Proxies calls to one endpoint, by persistent connections."""

    def __init__(
        self,
        endpoint: str,
        region: str,
        login: Callable[[], Awaitable[Credentials]],
    ) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._host = urlsplit(endpoint).netloc
        self._region = region
        self._login = login
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, admitted: AuthenticatedRequest, send: Send) -> None:
        """Answer a call with S3's response.

        Raises:
            S3Error: S3 cannot be reached, or the body is not what was signed.
        """
        call, body = admitted.call, admitted.body
        content, length = await _content(call, body)
        framed = isinstance(content, _Once) and content.framed
        headers = _headers(call, body, length, framed=framed)
        path = f"/{call.bucket}{call.rest}" if _is_virtual(call) else call.path
        query = "&".join(
            part for part in call.query.split("&") if part.partition("=")[0] not in _IN_QUERY
        )
        headers["host"] = self._host
        sign(call.method, path, query, headers, await self._login(), self._region)
        url = URL(f"{self._endpoint}{path}{'?' * bool(query)}{query}", encoded=True)
        expects = isinstance(content, _Once) and "expect" in call.headers
        try:
            async with self._open().request(
                call.method,
                url,
                headers=headers,
                data=content,
                expect100=expects,
                allow_redirects=False,
            ) as answer:
                await _pass_on(answer, send, body, head=call.method == "HEAD")
        except aiohttp.ClientError as error:
            if isinstance(content, _Once) and content.failed:
                raise content.failed from None
            raise S3Error("ServiceUnavailable", f"S3 does not answer: {error}") from None
        except TimeoutError:
            raise S3Error("ServiceUnavailable", "S3 does not answer in time") from None

    async def close(self) -> None:
        if self._session:
            await self._session.close()

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
                read_bufsize=_PIECE,
            )
        return self._session


class _Once:
    """A streamed body, which cannot be sent a second time."""

    def __init__(self, body: RequestBody, *, framed: bool) -> None:
        self._body = body
        self._began = False
        self.framed = framed
        self.failed: S3Error | ClientDisconnected | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._began:
            raise aiohttp.ClientConnectionError("the connection broke while the body was sent")
        self._began = True
        try:
            async for piece in self._body.stream():
                yield b"%x\r\n%b\r\n" % (len(piece), piece) if self.framed else piece
        except (S3Error, ClientDisconnected) as error:
            # The HTTP client would only report an aborted request.
            self.failed = error
            raise
        if self.framed:
            yield b"0\r\n%b\r\n" % self._body.payload.trailers


async def _content(call: RawRequest, body: RequestBody) -> tuple[bytes | _Once | None, int | None]:
    """Return the body to send and its length, None for a chunked one."""
    length = body.payload.length
    if length is None:
        if "transfer-encoding" in call.headers:
            raise S3Error("MissingContentLength")
        length = 0
    trailed = isinstance(body.payload, Chunked) and "x-amz-trailer" in call.headers
    if trailed:
        return _Once(body, framed=True), None
    if length <= SMALL:
        whole = await body.read(SMALL) if length or isinstance(body.payload, Chunked) else b""
        if not length:
            body.payload.finish()
        return whole or None, length
    return _Once(body, framed=False), length


def _headers(
    call: RawRequest, body: RequestBody, length: int | None, *, framed: bool
) -> dict[str, str]:
    kept = {name: value for name, value in call.headers.items() if name not in _OURS}
    if isinstance(body.payload, Chunked):
        encodings = [part.strip() for part in kept.pop("content-encoding", "").split(",")]
        encodings = [part for part in encodings if part and part != "aws-chunked"]
        if framed:
            encodings.insert(0, "aws-chunked")
        if encodings:
            kept["content-encoding"] = ",".join(encodings)
    if framed:
        kept["x-amz-content-sha256"] = Chunked.digest
        kept["x-amz-decoded-content-length"] = str(body.payload.length)
        return kept
    kept.pop("x-amz-trailer", None)
    kept["x-amz-content-sha256"] = (
        "UNSIGNED-PAYLOAD" if isinstance(body.payload, Chunked) else body.payload.digest
    )
    if length or call.method in ("PUT", "POST"):
        kept["content-length"] = str(length)
    return kept


async def _pass_on(
    answer: aiohttp.ClientResponse, send: Send, body: RequestBody, *, head: bool
) -> None:
    headers = [
        (name.lower(), value)
        for name, value in answer.raw_headers
        if name.lower() not in _HOP
        and not (answer.status in _BODILESS and name.lower() == b"content-length" and value != b"0")
    ]
    start = {"type": "http.response.start", "status": answer.status, "headers": headers}
    length = answer.content_length
    if head or (length is not None and length < _PIECE):
        whole = b"" if head else await answer.read()
        await send(start)
        await send({"type": "http.response.body", "body": whole, "more_body": False})
        return
    await send(start)
    await _stream(answer.content, send, body)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _stream(content: aiohttp.StreamReader, send: Send, body: RequestBody) -> None:
    # The server does not report a disconnect: S3 would be read to the end in vain.
    watching = asyncio.ensure_future(body.gone())
    try:
        async for piece in content.iter_any():
            if watching.done():
                return
            async with asyncio.timeout(_SILENT_SECONDS):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        watching.cancel()


def _is_virtual(call: RawRequest) -> bool:
    """Return whether the host names the bucket, so that the path is only the key."""
    return bool(call.bucket) and call.rest == call.path


def is_about_buckets(call: RawRequest) -> bool:
    """Return whether it is one of the few calls that every client makes first."""
    if call.method == "HEAD" and not call.key:
        return True
    listing = call.method == "GET" and not call.bucket and not call.params.keys() - _LISTING
    return listing or (call.method == "GET" and not call.key and "location" in call.params)


_LISTING: Final[Mapping[str, None]] = dict.fromkeys(
    ("x-id", "max-buckets", "continuation-token", "prefix", "bucket-region")
)
