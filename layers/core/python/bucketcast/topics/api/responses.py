"""Responses in XML: elements in Ceph's order, errors in SNS's format."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from bucketcast.topics.model import Topic
from bucketcast.web import xml


class Refusal(NamedTuple):
    """An error response."""

    status: HTTPStatus
    code: str
    message: str
    request_id: str


_NAMESPACE: Final = "https://sns.amazonaws.com/doc/2010-03-31/"
_INHERITED: Final = "None"


def topic_arn(topic: Topic, request_id: str) -> bytes:
    return _response("CreateTopic", {"TopicArn": topic.arn}, request_id)


def topic_attributes(topic: Topic, request_id: str) -> bytes:
    """Return the attributes for SDKs: each is a text, and `EndPoint` a JSON object."""
    entries = [
        {"key": key, "value": value if isinstance(value, str) else json.dumps(value)}
        for key, value in _shown(topic).items()
    ]
    return _response("GetTopicAttributes", {"Attributes": {"entry": entries}}, request_id)


def topic_document(topic: Topic, request_id: str) -> bytes:
    return _response("GetTopic", {"Topic": _shown(topic)}, request_id, namespace="")


def topic_list(topics: Iterable[Topic], token: str, request_id: str) -> bytes:
    result: dict[str, Any] = {"Topics": {"member": [_shown(topic) for topic in topics]}}
    if token:
        result["NextToken"] = token
    return _response("ListTopics", result, request_id)


def empty(action: str, request_id: str) -> bytes:
    return _response(action, None, request_id)


def error(refusal: Refusal) -> bytes:
    content = {
        "Type": "Receiver" if refusal.status >= HTTPStatus.INTERNAL_SERVER_ERROR else "Sender",
        "Code": refusal.code,
        "Message": refusal.message,
    }
    return _document("ErrorResponse", {"Error": content, "RequestId": refusal.request_id})


def endpoint(topic: Topic) -> dict[str, str | bool]:
    """Return the endpoint of a topic, without credentials."""
    return {
        "EndpointAddress": topic.endpoint,
        "EndpointArgs": topic.args,
        "EndpointTopic": topic.name,
        "HasStoredSecret": bool(topic.secret),
        "Persistent": topic.persistent,
        "TimeToLive": _limit(topic.time_to_live),
        "MaxRetries": _limit(topic.max_retries),
        "RetrySleepDuration": _limit(topic.retry_sleep_duration),
    }


def _shown(topic: Topic) -> dict[str, Any]:
    return {
        "User": topic.user,
        "Name": topic.name,
        "EndPoint": endpoint(topic),
        "TopicArn": topic.arn,
        "OpaqueData": topic.opaque_data,
        "Policy": topic.policy,
    }


def _limit(number: int | None) -> str:
    return _INHERITED if number is None else str(number)


def _response(
    action: str,
    result: Mapping[str, Any] | None,
    request_id: str,
    namespace: str = _NAMESPACE,
) -> bytes:
    inner = {} if result is None else {f"{action}Result": result}
    metadata = {"ResponseMetadata": {"RequestId": request_id}}
    return _document(f"{action}Response", {**inner, **metadata}, namespace)


def _document(root: str, content: Mapping[str, Any], namespace: str = _NAMESPACE) -> bytes:
    return (xml.DECLARATION + xml.write(root, content, namespace)).encode()
