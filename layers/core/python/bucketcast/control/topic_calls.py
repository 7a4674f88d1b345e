"""Responses of the APIs about topics: one way to fail, in each API's own format."""

import uuid
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from bucketcast.control.errors import Refusal, S3Error
from bucketcast.control.request_body import ClientDisconnected, RequestStream
from bucketcast.errors import BucketcastError
from bucketcast.telemetry import logger
from bucketcast.topics.errors import TopicError


class Format(NamedTuple):
    """An API's format: its media type, and how it writes an error."""

    media_type: str
    error: Callable[[Refusal], bytes]


Answer = Callable[[Scope, RequestStream, str], Awaitable[bytes | None]]
"""Returns the document of a successful call, by its id; None if the API is disabled."""


async def respond(scope: Scope, receive: Receive, send: Send, answer: Answer, form: Format) -> bool:
    """Answer a call; return False, with nothing read or sent, if `answer` returns None.

    Raises:
        ClientDisconnected: nobody waits for the response.
    """
    request_id = str(uuid.uuid4())
    wire = RequestStream(receive)
    status = HTTPStatus.OK
    try:
        body = await answer(scope, wire, request_id)
    except ClientDisconnected:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, a client reads it in its format
        refusal = await _refusal(error, scope, wire, request_id)
        status, body = refusal.status, form.error(refusal)
    if body is None:
        return False
    headers = [
        (b"server", b"Bucketcast"),
        (b"content-type", form.media_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"x-amz-request-id", request_id.encode()),
    ]
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else body
    await send({"type": "http.response.body", "body": body, "more_body": False})
    return True


async def _refusal(error: Exception, scope: Scope, wire: RequestStream, request_id: str) -> Refusal:
    """Return the response to a failed call; details of AWS's errors and ours are only logged."""
    if isinstance(error, TopicError):
        return Refusal(error.status, error.code, str(error), request_id)
    if isinstance(error, S3Error):
        await wire.drain({k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]})
    elif isinstance(error, BucketcastError):
        logger.error("AWS cannot be reached", reason=str(error))
        error = S3Error("ServiceUnavailable")
    else:
        logger.error("internal error", exc_info=error, request_id=request_id)
        error = S3Error("InternalError")
    return Refusal(error.status, error.code, error.message, request_id)
