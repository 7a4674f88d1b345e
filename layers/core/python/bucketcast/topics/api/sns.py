"""`POST /`: authenticated calls about topics."""

import base64
import binascii
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from bucketcast.aws.clients import aws_errors
from bucketcast.destination import Destination, TopicArn
from bucketcast.errors import did_you_mean
from bucketcast.limits import MOST_FORM_BYTES, MOST_PAGE_TOPICS
from bucketcast.topics.api import responses
from bucketcast.topics.api.form import Form
from bucketcast.topics.api.user_topics import TopicCall, UserTopics
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.web.authentication import Authenticator
from bucketcast.web.errors import as_s3_error
from bucketcast.web.request_body import ClientDisconnected, RequestStream
from bucketcast.web.secure import IsSecure
from bucketcast.web.signature.claims import UNSIGNED
from bucketcast.web.threads import in_thread

_SERVICES: Final = ("sns", "s3")
"""The allowed services in a signature's scope, the usual one first."""


class Sns:
    """Answers the actions of the SNS API; all other calls go to `fallback`."""

    def __init__(
        self,
        authenticator: Authenticator,
        is_secure: IsSecure,
        fallback: ASGIApp,
        topics: UserTopics,
    ) -> None:
        self._authenticator = authenticator
        self._is_secure = is_secure
        self._fallback = fallback
        self._topics = topics
        self._actions: Mapping[str, Callable[[TopicCall, Form], dict[str, Any] | None]] = {
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
            ClientDisconnected: the client has closed the connection.
        """
        if scope["type"] == "http" and self._is_own(scope):
            await self._respond(scope, receive, send)
        else:
            await self._fallback(scope, receive, send)

    def _is_own(self, scope: Scope) -> bool:
        """Return True for a POST without a bucket, which S3's API does not have."""
        if scope["method"] != "POST" or scope["raw_path"] != b"/":
            return False
        return not self._authenticator.read(scope).bucket

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = str(uuid.uuid4())
        stream = RequestStream(scope, receive)
        status = HTTPStatus.OK
        try:
            body = await self._answer(scope, stream, request_id)
        except ClientDisconnected:
            raise
        except Exception as error:  # noqa: BLE001 - clients expect every error in SNS's format
            status, code, text = await _refusal(error, stream, request_id)
            body = responses.error(status, code, text, request_id)
        headers = [
            (b"server", b"Bucketcast"),
            (b"content-type", b"application/xml"),
            (b"content-length", str(len(body)).encode()),
            (b"x-amz-request-id", request_id.encode()),
        ]
        await send({"type": "http.response.start", "status": status.value, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _answer(self, scope: Scope, stream: RequestStream, request_id: str) -> bytes:
        authenticated = await self._authenticator.authenticate(scope, stream, _SERVICES)
        body = await authenticated.body.read(MOST_FORM_BYTES)
        secure = self._is_secure(scope, authenticated.call.headers)
        return await in_thread(
            authenticated, self._run, TopicCall(authenticated, body, secure, request_id)
        )

    def _run(self, call: TopicCall) -> bytes:
        """Run a call and return the response's document.

        Raises:
            TopicError: the call is invalid or forbidden.
            BucketcastError: AWS does not answer, or refuses.
        """
        form = _form(call)
        name = form.require("Action")
        action = self._actions.get(name)
        if action is None:
            allowed = f"{did_you_mean(name, self._actions)}allowed are {', '.join(self._actions)}"
            raise TopicError("MethodNotAllowed", f"Action: found {name[:100]!r}; {allowed}")
        resource = form.values.get("TopicArn") or form.values.get("Name", "")
        changed = [*form.attributes, *filter(None, [form.values.get("AttributeName")])]
        call.authenticated.audited.update(action=name, resource=resource[:200], changed=changed)
        with aws_errors():
            return responses.response(name, action(call, form), call.request_id)

    def _create(self, call: TopicCall, form: Form) -> dict[str, Any]:
        topic = self._topics.create(call, form.require("Name"), form.attributes)
        return {"TopicArn": topic.arn}

    def _delete(self, call: TopicCall, form: Form) -> None:
        self._topics.delete(call.user, _arn(form))

    def _get(self, call: TopicCall, form: Form) -> dict[str, Any]:
        return {"Topic": responses.fields(self._topics.get(call, _arn(form)))}

    def _attributes(self, call: TopicCall, form: Form) -> dict[str, Any]:
        return {"Attributes": responses.attributes(self._topics.get(call, _arn(form)))}

    def _list(self, call: TopicCall, form: Form) -> dict[str, Any]:
        after = _marker(form.values.get("NextToken", ""))
        topics, after = self._topics.page(call, MOST_PAGE_TOPICS, after)
        listed = {"Topics": {"member": [*map(responses.fields, topics)]}}
        return {**listed, "NextToken": _token(after)} if after else listed

    def _set(self, call: TopicCall, form: Form) -> None:
        value = form.values.get("AttributeValue", "")
        self._topics.set(call, _arn(form), form.require("AttributeName"), value)


async def _refusal(
    error: Exception, stream: RequestStream, request_id: str
) -> tuple[HTTPStatus, str, str]:
    """Return the status, the code and the text of an error's response."""
    if isinstance(error, TopicError):
        return error.status, error.code, str(error)
    s3_error = as_s3_error(error, request_id)
    if s3_error is error:
        await stream.drain()
    return s3_error.status, s3_error.code, s3_error.message


def _form(call: TopicCall) -> Form:
    """Return the form in query and body; refuse an unsigned body of a presigned call."""
    request, body = call.request, call.body.strip()
    is_signed = call.authenticated.body.payload.digest != UNSIGNED
    if body and "X-Amz-Signature" in request.params and not is_signed:
        raise TopicError(
            "AccessDenied", "a presigned call signs no form: put all parameters into the URL"
        )
    return Form.parse(b"&".join(filter(None, (request.query.encode("latin-1"), body))))


def _arn(form: Form) -> TopicArn:
    destination = Destination.of(form.require("TopicArn"))
    if isinstance(destination, TopicArn):
        return destination
    raise invalid("TopicArn", repr(destination.arn), TopicArn.form)


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode()).decode()


def _marker(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken", repr(token[:100]), "what the page before gave") from None
