"""The ASGI application: routes, and errors in S3's words."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast import telemetry
from bucketcast.control.answer import Answer
from bucketcast.control.body import Gone, Wire
from bucketcast.control.call import Call
from bucketcast.control.errors import S3Error
from bucketcast.control.forward import is_about_buckets
from bucketcast.control.gate import Gate
from bucketcast.errors import BucketcastError

HEALTH: Final = "/minio/health/live"
_LEFT_UNREAD: Final = 65_536


class S3:
    """The S3 calls: some are answered here, all others go on to S3.

    `answers` says who answers a call, None where it is S3 itself.
    """

    def __init__(
        self,
        gate: Gate,
        answers: Callable[[Call], Answer | None],
        forward: Answer,
        *,
        objects: str = "",
    ) -> None:
        self._gate = gate
        self._answers = answers
        self._forward = forward
        self._objects = objects

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire = Wire(receive)
        try:
            await self._answer(scope, wire, send)
        except S3Error:
            headers = {
                name.decode("latin-1"): each.decode("latin-1") for name, each in scope["headers"]
            }
            await wire.drain(headers)
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
    """Join the S3 calls and whatever else has a path of its own, which goes first."""
    app = Starlette(
        routes=[
            *routes,
            Route(HEALTH, _alive, methods=["GET", "HEAD"]),
            Mount("/", app=s3),
        ],
        exception_handlers={
            S3Error: _refused,
            Gone: _gone,
            BucketcastError: _unable,
            Exception: _broken,
        },
    )
    app.router.redirect_slashes = False
    return app


async def _alive(_: Request) -> Response:
    return Response()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, S3Error)  # noqa: S101 - for mypy: it is registered for no other
    request_id = f"{time.time_ns():X}"
    path = request.scope["raw_path"].decode("latin-1")
    headers = {"x-amz-request-id": request_id, "server": "Bucketcast"}
    unread = request.headers.get("content-length", "0")
    if "expect" in request.headers or not unread.isdecimal() or int(unread) > _LEFT_UNREAD:
        # What the client still sends would be read as its next request.
        headers["connection"] = "close"
    if error.status == S3Error("InternalError").status:
        telemetry.logger.error("internal error", reason=error.message, request_id=request_id)
    body = b"" if request.method == "HEAD" else error.document(path, request_id)
    return Response(body, error.status, headers, "application/xml")


async def _gone(_: Request, __: Exception) -> Response:
    return Response(status_code=400)


async def _unable(request: Request, error: Exception) -> Response:
    """AWS, most often, does not answer us: what it said is for the log, not for a stranger."""
    telemetry.logger.error("AWS cannot be asked", reason=str(error))
    return await _refused(request, S3Error("ServiceUnavailable"))


async def _broken(request: Request, error: Exception) -> Response:
    telemetry.logger.error("internal error", exc_info=error)
    return await _refused(request, S3Error("InternalError"))
