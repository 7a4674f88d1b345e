"""`POST /`: authenticated calls about topics; all other calls of the path are S3's."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

from starlette.types import ASGIApp, Scope

from bucketcast.control.authentication import LARGEST_FORM, Authenticator
from bucketcast.control.signature.claims import UNSIGNED
from bucketcast.control.sns import responses
from bucketcast.control.sns.form import Form
from bucketcast.control.topic_api import IsSecure, Refusal, TopicApi, TopicCall
from bucketcast.control.user_topics import UserTopics
from bucketcast.errors import did_you_mean
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import TopicArn

PAGE: Final = 100


class Sns(TopicApi):
    """Answers the actions of the SNS API; all other calls go to `others`."""

    services = ("sns", "s3")
    media_type = "application/xml"
    max_bytes = LARGEST_FORM

    def __init__(
        self, gate: Authenticator, is_secure: IsSecure, others: ASGIApp, topics: UserTopics
    ) -> None:
        super().__init__(gate, is_secure, others)
        self._topics = topics
        self._actions: Mapping[str, Callable[[TopicCall, Form], bytes]] = {
            "CreateTopic": self._create,
            "DeleteTopic": self._delete,
            "GetTopic": self._get,
            "GetTopicAttributes": self._attributes,
            "ListTopics": self._list,
            "SetTopicAttributes": self._set,
        }

    def is_own(self, scope: Scope) -> bool:
        """Return whether it is a POST without a bucket, which S3 does not have."""
        if scope["method"] != "POST" or scope["raw_path"] != b"/":
            return False
        return not self.gate.read(scope).bucket

    def run(self, call: TopicCall) -> bytes:
        form = _form(call)
        name = form.need("Action")
        action = self._actions.get(name)
        if action is None:
            allowed = f"{did_you_mean(name, self._actions)}allowed are {', '.join(self._actions)}"
            raise TopicError("MethodNotAllowed", f"Action: found {name[:100]!r}; {allowed}")
        return action(call, form)

    def refused(self, what: Refusal) -> bytes:
        return responses.refused(what)

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


def _form(call: TopicCall) -> Form:
    """Return the form from query and body; a presigned call's body is unsigned, so not used."""
    request, body = call.request, call.body.strip()
    is_signed = call.admitted.body.payload.digest != UNSIGNED
    if body and "X-Amz-Signature" in request.params and not is_signed:
        raise TopicError("AccessDenied", "a presigned call signs no form: say all in the URL")
    return Form.parse(b"&".join(filter(None, (request.query.encode("latin-1"), body))))


def _arn(form: Form) -> TopicArn:
    return TopicArn.parse(form.need("TopicArn"))


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode()).decode()


def _marker(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken", repr(token[:100]), "what the page before gave") from None
