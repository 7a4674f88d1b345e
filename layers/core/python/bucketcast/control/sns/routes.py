"""`POST /`: authenticated calls about topics; all other calls of the path are S3's."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.aws.clients import aws_errors
from bucketcast.control.authentication import LARGEST_FORM, AuthenticatedRequest, Authenticator
from bucketcast.control.request_body import RequestStream
from bucketcast.control.signature.claims import UNSIGNED
from bucketcast.control.sns import responses
from bucketcast.control.sns.actions import Actions, SnsCall
from bucketcast.control.sns.form import Form
from bucketcast.control.topic_calls import Format, respond
from bucketcast.topics.errors import TopicError

SERVICES: Final = ("sns", "s3")
_XML: Final = Format("application/xml", responses.refused)


class Sns:
    """Answers topic calls; all others go to `others`."""

    def __init__(
        self,
        gate: Authenticator,
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
        await respond(scope, receive, send, self._answer, _XML)

    def _is_ours(self, scope: Scope) -> bool:
        """Return whether it is a POST without a bucket, which S3 does not have."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["raw_path"] != b"/":
            return False
        return not self._gate.read(scope).bucket

    async def _answer(self, scope: Scope, wire: RequestStream, request_id: str) -> bytes:
        admitted = await self._gate.admit(scope, wire, SERVICES)
        body = await admitted.body.read(LARGEST_FORM)
        form = _form(admitted, body.strip())
        secure = self._is_secure(scope, admitted.call.headers)
        call = SnsCall(admitted.user, form, secure, request_id)
        return await asyncio.to_thread(self._done, call)

    def _done(self, call: SnsCall) -> bytes:
        with aws_errors():
            return self._actions(call)


def _form(admitted: AuthenticatedRequest, body: bytes) -> Form:
    """Return the form from query and body; a presigned call's body is unsigned, so not used."""
    is_signed = admitted.body.payload.digest != UNSIGNED
    if body and "X-Amz-Signature" in admitted.call.params and not is_signed:
        raise TopicError("AccessDenied", "a presigned call signs no form: say all in the URL")
    query = admitted.call.query.encode("latin-1")
    return Form.parse(b"&".join(filter(None, (query, body))))
