"""The actions of the SNS API, by their names."""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

from bucketcast.control.sns import responses
from bucketcast.control.sns.form import Form
from bucketcast.control.topic_api import TopicCall
from bucketcast.control.user_topics import UserTopics
from bucketcast.errors import did_you_mean
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import TopicArn

PAGE: Final = 100


class Actions:
    """Runs the actions and writes their responses."""

    def __init__(self, topics: UserTopics) -> None:
        self._topics = topics
        self._known: Mapping[str, Callable[[TopicCall, Form], bytes]] = {
            "CreateTopic": self._create,
            "DeleteTopic": self._delete,
            "GetTopic": self._get,
            "GetTopicAttributes": self._attributes,
            "ListTopics": self._list,
            "SetTopicAttributes": self._set,
        }

    def __call__(self, call: TopicCall, form: Form) -> bytes:
        action = form.need("Action")
        answer = self._known.get(action)
        if answer is None:
            near = did_you_mean(action, self._known)
            allowed = f"{near}allowed are {', '.join(self._known)}"
            raise TopicError("MethodNotAllowed", f"Action: found {action[:100]!r}; {allowed}")
        return answer(call, form)

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


def _arn(form: Form) -> TopicArn:
    return TopicArn.parse(form.need("TopicArn"))


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode()).decode()


def _marker(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken", repr(token[:100]), "what the page before gave") from None
