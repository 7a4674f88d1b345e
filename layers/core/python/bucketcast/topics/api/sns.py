"""`POST /`: authenticated calls about topics; all other calls of the path are S3's."""

import asyncio
import base64
import binascii
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.aws.clients import aws_errors
from bucketcast.destination import Destination, TopicArn
from bucketcast.errors import did_you_mean
from bucketcast.topics.api import responses
from bucketcast.topics.api.call import Refusal, TopicCall
from bucketcast.topics.api.form import Form
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.web.authentication import LARGEST_FORM, Authenticator
from bucketcast.web.errors import as_s3_error
from bucketcast.web.request_body import ClientDisconnected, RequestStream
from bucketcast.web.secure import IsSecure
from bucketcast.web.signature.claims import UNSIGNED

PAGE: Final = 100
_SERVICES: Final = ("sns", "s3")
"""The allowed services in a signature's scope, the usual one first."""


class Sns:
    """Answers the actions of the SNS API; all other calls go to `others`."""

    def __init__(
        self, gate: Authenticator, is_secure: IsSecure, others: ASGIApp, topics: UserTopics
    ) -> None:
        self._gate = gate
        self._is_secure = is_secure
        self._others = others
        self._topics = topics
        self._actions: Mapping[str, Callable[[TopicCall, Form], bytes]] = {
            "CreateTopic": self._create,
            "DeleteTopic": self._delete,
            "GetTopic": self._get,
            "GetTopicAttributes": self._attributes,
            "ListTopics": self._list,
            "SetTopicAttributes": self._set,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call.

        Raises:
            ClientDisconnected: nobody waits for the response.
        """
        if scope["type"] == "http" and self._is_own(scope):
            await self._respond(scope, receive, send)
        else:
            await self._others(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        """Return whether it is a POST without a bucket, which S3 does not have."""
        if scope["method"] != "POST" or scope["raw_path"] != b"/":
            return False
        return not self._gate.read(scope).bucket

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = str(uuid.uuid4())
        stream = RequestStream(scope, receive)
        status = HTTPStatus.OK
        try:
            body = await self._answer(scope, stream, request_id)
        except ClientDisconnected:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, a client reads it in its format
            refusal = await _refusal(error, stream, request_id)
            status, body = refusal.status, responses.refused(refusal)
        headers = [
            (b"server", b"Bucketcast"),
            (b"content-type", b"application/xml"),
            (b"content-length", str(len(body)).encode()),
            (b"x-amz-request-id", request_id.encode()),
        ]
        await send({"type": "http.response.start", "status": status.value, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _answer(self, scope: Scope, stream: RequestStream, request_id: str) -> bytes:
        admitted = await self._gate.admit(scope, stream, _SERVICES)
        body = await admitted.body.read(LARGEST_FORM)
        secure = self._is_secure(scope, admitted.call.headers)
        return await asyncio.to_thread(self._run, TopicCall(admitted, body, secure, request_id))

    def _run(self, call: TopicCall) -> bytes:
        """Run a call and return the response's document.

        Raises:
            TopicError: it is impossible or forbidden.
            BucketcastError: AWS does not answer, or refuses.
        """
        form = _form(call)
        name = form.need("Action")
        action = self._actions.get(name)
        if action is None:
            allowed = f"{did_you_mean(name, self._actions)}allowed are {', '.join(self._actions)}"
            raise TopicError("MethodNotAllowed", f"Action: found {name[:100]!r}; {allowed}")
        with aws_errors():
            return action(call, form)

    def _create(self, call: TopicCall, form: Form) -> bytes:
        made = self._topics.create(call, form.need("Name"), form.attributes)
        return responses.created(made, call.request_id)

    def _delete(self, call: TopicCall, form: Form) -> bytes:
        self._topics.delete(call.user, _arn(form))
        return responses.done("DeleteTopic", call.request_id)

    def _get(self, call: TopicCall, form: Form) -> bytes:
        return responses.one(self._topics.get(call, _arn(form)), call.request_id)

    def _attributes(self, call: TopicCall, form: Form) -> bytes:
        return responses.attributes(self._topics.get(call, _arn(form)), call.request_id)

    def _list(self, call: TopicCall, form: Form) -> bytes:
        after = _marker(form.values.get("NextToken", ""))
        topics, after = self._topics.page(call, PAGE, after)
        return responses.listed(topics, _token(after), call.request_id)

    def _set(self, call: TopicCall, form: Form) -> bytes:
        text = form.values.get("AttributeValue", "")
        self._topics.set(call, _arn(form), form.need("AttributeName"), text)
        return responses.done("SetTopicAttributes", call.request_id)


async def _refusal(error: Exception, stream: RequestStream, request_id: str) -> Refusal:
    if isinstance(error, TopicError):
        return Refusal(error.status, error.code, str(error), request_id)
    shown = as_s3_error(error, request_id)
    if shown is error:
        await stream.drain()
    return Refusal(shown.status, shown.code, shown.message, request_id)


def _form(call: TopicCall) -> Form:
    """Return the form from query and body; a presigned call's body is unsigned, so not used."""
    request, body = call.request, call.body.strip()
    is_signed = call.admitted.body.payload.digest != UNSIGNED
    if body and "X-Amz-Signature" in request.params and not is_signed:
        raise TopicError("AccessDenied", "a presigned call signs no form: say all in the URL")
    return Form.parse(b"&".join(filter(None, (request.query.encode("latin-1"), body))))


def _arn(form: Form) -> TopicArn:
    named = Destination.of(form.need("TopicArn"))
    if isinstance(named, TopicArn):
        return named
    raise invalid("TopicArn", repr(named.arn), TopicArn.form)


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode()).decode()


def _marker(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken", repr(token[:100]), "what the page before gave") from None
