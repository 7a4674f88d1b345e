"""Handlers of S3 calls, and responses in one piece."""

from collections.abc import Awaitable, Callable, MutableMapping
from http import HTTPStatus
from typing import Any

from bucketcast.web.authentication import AuthenticatedRequest

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler = Callable[[AuthenticatedRequest, Send], Awaitable[None]]


async def send_response(
    send: Send, body: bytes = b"", *, content_type: str = "application/xml"
) -> None:
    """Send a response of status 200."""
    headers = [(b"server", b"Bucketcast"), (b"content-length", str(len(body)).encode())]
    if body:
        headers.append((b"content-type", content_type.encode()))
    await send({"type": "http.response.start", "status": HTTPStatus.OK.value, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
