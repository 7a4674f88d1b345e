"""`POST /`: calls about topics, let in by the gate; all other calls of the path are S3's."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.control.body import Gone, Wire
from bucketcast.control.errors import S3Error
from bucketcast.control.gate import Admitted, Gate
from bucketcast.control.signature.claims import UNSIGNED
from bucketcast.control.sns import replies
from bucketcast.control.sns.actions import Actions, Asked
from bucketcast.control.sns.form import Form
from bucketcast.errors import BucketcastError
from bucketcast.store.access import explained
from bucketcast.telemetry import logger
from bucketcast.topics.errors import TopicError

SERVICES: Final = ("sns", "s3")
_BODY_BYTES: Final = 1 << 20
_UNAVAILABLE: Final = 503
_BROKEN: Final = 500


class Sns:
    """Answers topic calls; whatever else comes goes to `others`."""

    def __init__(
        self,
        gate: Gate,
        actions: Actions,
        is_secure: Callable[[Mapping[str, Any], Mapping[str, str]], bool],
        others: ASGIApp,
    ) -> None:
        self._gate = gate
        self._actions = actions
        self._is_secure = is_secure
        self._others = others

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_ours(scope):
            await self._others(scope, receive, send)
            return
        request_id = str(uuid.uuid4())
        wire = Wire(receive)
        status, body = await self._answer(scope, wire, request_id)
        headers = [
            (b"server", b"Bucketcast"),
            (b"content-type", b"application/xml"),
            (b"content-length", str(len(body)).encode()),
            (b"x-amz-request-id", request_id.encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _is_ours(self, scope: Scope) -> bool:
        """A post to no bucket, of which S3 has none: its own forms go to a bucket's host."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["raw_path"] != b"/":
            return False
        return not self._gate.read(scope).bucket

    async def _answer(self, scope: Scope, wire: Wire, request_id: str) -> tuple[int, bytes]:
        """The status and the document of the answer."""
        try:
            admitted = await self._gate.admit(scope, wire, SERVICES)
            body = await admitted.body.read(_BODY_BYTES)
            form = _form(admitted, body.strip())
            secure = self._is_secure(scope, admitted.call.headers)
            asked = Asked(admitted.user, form, secure, request_id)
            return 200, await asyncio.to_thread(self._done, asked)
        except TopicError as error:
            status, code, message = error.status.value, error.code, str(error)
        except S3Error as error:
            headers = {
                name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]
            }
            await wire.drain(headers)
            status, code, message = error.status.value, error.code, error.message
        except BucketcastError as error:
            logger.error("AWS cannot be asked", reason=str(error))
            status, code = _UNAVAILABLE, "ServiceUnavailable"
            message = "Please reduce your request rate, or try again later."
        except Gone:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, a client reads it as SNS's
            logger.exception("internal error", request_id=request_id)
            status, code = _BROKEN, "InternalError"
            message = "We encountered an internal error, please try again."
        return status, replies.refused(code, message, status, request_id)

    def _done(self, asked: Asked) -> bytes:
        with explained():
            return self._actions(asked)


def _form(admitted: Admitted, body: bytes) -> Form:
    """What is asked in the query and the body; of a presigned call the latter may be anybody's."""
    is_signed = admitted.body.payload.digest != UNSIGNED
    if body and "X-Amz-Signature" in admitted.call.asked and not is_signed:
        raise TopicError("AccessDenied", "a presigned call signs no form: say all in the URL")
    query = admitted.call.query.encode("latin-1")
    return Form.parse(b"&".join(filter(None, (query, body))))
