"""The ASGI application: routes, and errors in S3's format."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.errors import BucketcastError
from bucketcast.gateway.proxy import is_about_buckets
from bucketcast.web import xml
from bucketcast.web.authentication import Authenticator
from bucketcast.web.errors import S3Error, as_s3_error
from bucketcast.web.request import RawRequest
from bucketcast.web.request_body import ClientDisconnected, RequestStream
from bucketcast.web.responses import Handler

HEALTH: Final = "/minio/health/live"
_LEFT_UNREAD: Final = 65_536


class S3:
    """The S3 calls: some are answered here, all others are proxied to S3.

    `answers` return the handler of a call, None if it is for S3.
    """

    def __init__(
        self,
        gate: Authenticator,
        answers: Callable[[RawRequest], Handler | None],
        forward: Handler,
        *,
        objects: str = "",
    ) -> None:
        self._gate = gate
        self._answers = answers
        self._forward = forward
        self._objects = objects

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = RequestStream(scope, receive)
        try:
            await self._answer(scope, stream, send)
        except S3Error:
            await stream.drain()
            raise

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        admitted = await self._gate.admit(scope, receive)
        answer = self._answers(admitted.call)
        if answer is None:
            if self._objects and not is_about_buckets(admitted.call):
                raise S3Error(
                    "NotImplemented",
                    "this endpoint answers bucket notifications, users and administration; "
                    f"objects are at {self._objects}",
                )
            answer = self._forward
        await answer(admitted, send)


def build(s3: ASGIApp, routes: Sequence[BaseRoute] = ()) -> Starlette:
    """Join the S3 calls with other routes, which take precedence."""
    app = Starlette(
        routes=[
            *routes,
            Route(HEALTH, _alive, methods=["GET", "HEAD"]),
            Mount("/", app=s3),
        ],
        exception_handlers={
            ClientDisconnected: _gone,
            BucketcastError: _refused,
            Exception: _refused,
        },
    )
    app.router.redirect_slashes = False
    return app


async def _alive(_: Request) -> Response:
    return Response()


async def _refused(request: Request, error: Exception) -> Response:
    request_id = f"{time.time_ns():X}"
    shown = as_s3_error(error, request_id)
    path = request.scope["raw_path"].decode("latin-1")
    headers = {"x-amz-request-id": request_id, "server": "Bucketcast"}
    unread = request.headers.get("content-length", "0")
    if "expect" in request.headers or not unread.isdecimal() or int(unread) > _LEFT_UNREAD:
        # The rest of the body would be read as the next request.
        headers["connection"] = "close"
    text = xml.DECLARATION + xml.written("Error", shown.elements(path, request_id))
    body = "" if request.method == "HEAD" else text
    return Response(body, shown.status, headers, "application/xml")


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=400)
