"""The ASGI application: routes, and errors in S3's format."""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.errors import BucketcastError
from bucketcast.gateway.proxy import is_bucket_lookup
from bucketcast.web import xml
from bucketcast.web.authentication import Authenticator, Judge
from bucketcast.web.errors import S3Error, as_s3_error
from bucketcast.web.request import RawRequest, byte_count
from bucketcast.web.request_body import ClientDisconnected, RequestStream
from bucketcast.web.responses import Handler

HEALTH: Final = "/minio/health/"
READY: Final = ("ready", "cluster", "cluster/read")
"""MinIO's paths, beside `live`, which `mc ready` and probes of Kubernetes call."""
_MAX_UNREAD: Final = 65_536


class S3:
    """The S3 calls: some are answered here, all others are proxied to S3.

    `answers` return the handler
    of a call, None if it is for S3. With a `refusal`, its text, only the calls that clients make
    first go there. `preflight` answers a browser's OPTIONS, which cannot be signed; without it they
    are refused as all unsigned calls.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        judge: Judge,
        answers: Callable[[RawRequest], Handler | None],
        forward: Handler,
        *,
        refusal: str = "",
        preflight: Callable[[RawRequest, Send], Awaitable[None]] | None = None,
    ) -> None:
        self._authenticator = authenticator
        self._judge = judge
        self._preflight = preflight
        self._answers = answers
        self._forward = forward
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = RequestStream(scope, receive)
        try:
            await self._handle(scope, stream, send)
        except S3Error:
            await stream.drain()
            raise

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._preflight and scope["method"] == "OPTIONS":
            await self._preflight(self._authenticator.read(scope), send)
            return
        request = await self._authenticator.authenticate(scope, receive, judge=self._judge)
        await request.confirm()
        handler = self._answers(request.call)
        if handler is None:
            if self._refusal and not is_bucket_lookup(request.call):
                raise S3Error("NotImplemented", self._refusal)
            handler = self._forward
        await handler(request, send)


def build(
    s3: ASGIApp, routes: Sequence[BaseRoute] = (), *, is_ready: Callable[[], Awaitable[object]]
) -> Starlette:
    """Join the S3 calls with other routes, which take precedence.

    `is_ready` raises if AWS does not answer.
    """

    async def respond_ready(_: Request) -> Response:
        try:
            await is_ready()
        except BucketcastError:
            return Response(status_code=HTTPStatus.SERVICE_UNAVAILABLE)
        return Response()

    app = Starlette(
        routes=[
            *routes,
            Route(f"{HEALTH}live", _respond_alive, methods=["GET", "HEAD"]),
            *(Route(HEALTH + path, respond_ready, methods=["GET", "HEAD"]) for path in READY),
            Mount("/", app=s3),
        ],
        exception_handlers={
            ClientDisconnected: _close_disconnected,
            BucketcastError: _respond_with_error,
            Exception: _respond_with_error,
        },
    )
    app.router.redirect_slashes = False
    return app


async def _respond_alive(_: Request) -> Response:
    return Response()


async def _respond_with_error(request: Request, error: Exception) -> Response:
    request_id = f"{time.time_ns():X}"
    s3_error = as_s3_error(error, request_id)
    path = request.scope["raw_path"].decode("latin-1")
    headers = {"x-amz-request-id": request_id, "server": "Bucketcast"}
    if s3_error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["retry-after"] = "1"
    length = byte_count(request.headers.get("content-length", "0"))
    if "expect" in request.headers or length is None or length > _MAX_UNREAD:
        # The rest of the body would be read as the next request.
        headers["connection"] = "close"
    if request.method == "HEAD":
        # Without a body, MinIO's clients read the error here, in MinIO's quotation marks: `mc alias
        # set` takes any other 403 for a valid login without rights.
        headers["x-minio-error-code"] = s3_error.code
        headers["x-minio-error-desc"] = json.dumps(s3_error.message)
        return Response("", s3_error.status, headers, "application/xml")
    document = xml.DECLARATION + xml.write("Error", s3_error.elements(path, request_id))
    return Response(document, s3_error.status, headers, "application/xml")


async def _close_disconnected(_: Request, __: Exception) -> Response:
    return Response(status_code=400)
