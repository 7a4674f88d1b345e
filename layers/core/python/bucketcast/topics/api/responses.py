"""Responses in XML: elements in Ceph's order, errors in SNS's format."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from bucketcast.state.items import Topic
from bucketcast.web import xml

_NAMESPACE: Final = "https://sns.amazonaws.com/doc/2010-03-31/"
INHERITED: Final = "None"


def response(action: str, result: Mapping[str, Any] | None, request_id: str) -> bytes:
    """Return the document with an action's result; None if the action has none."""
    inner = {} if result is None else {f"{action}Result": result}
    metadata = {"ResponseMetadata": {"RequestId": request_id}}
    namespace = "" if action == "GetTopic" else _NAMESPACE  # SNS has no such action
    return _document(f"{action}Response", {**inner, **metadata}, namespace)


def error(status: HTTPStatus, code: str, message: str, request_id: str) -> bytes:
    kind = "Receiver" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "Sender"
    content = {"Type": kind, "Code": code, "Message": message}
    return _document("ErrorResponse", {"Error": content, "RequestId": request_id})


def attributes(topic: Topic) -> dict[str, Any]:
    """Return the attributes for SDKs: each is a text, and `EndPoint` a JSON object."""
    entries = [
        {"key": key, "value": value if isinstance(value, str) else json.dumps(value)}
        for key, value in fields(topic).items()
    ]
    return {"entry": entries}


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


def fields(topic: Topic) -> dict[str, Any]:
    return {
        "User": topic.user,
        "Name": topic.name,
        "EndPoint": endpoint(topic),
        "TopicArn": topic.arn,
        "OpaqueData": topic.opaque_data,
        "Policy": topic.policy,
    }


def _limit(number: int | None) -> str:
    return INHERITED if number is None else str(number)


def _document(root: str, content: Mapping[str, Any], namespace: str = _NAMESPACE) -> bytes:
    return (xml.DECLARATION + xml.write(root, content, namespace)).encode()
