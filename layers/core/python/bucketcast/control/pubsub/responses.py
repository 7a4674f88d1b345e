"""Responses in JSON, with the fields of Ceph's PubSub sync module."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from bucketcast.aws.topics.stored_events import Page
from bucketcast.control.sns.responses import endpoint
from bucketcast.control.topic_api import Refusal
from bucketcast.topics.model import Topic
from bucketcast.topics.subscription import Subscription, name_of

_CODES: Final[Mapping[str, str]] = {"AuthorizationError": "AccessDenied", "NotFound": "NoSuchKey"}
"""Codes of the SNS API that S3 names differently."""


class _Records(msgspec.Struct):
    next_marker: str
    is_truncated: bool
    Records: Sequence[msgspec.Raw]


def created(arn: str) -> bytes:
    return _encode({"arn": arn})


def topic(one: Topic) -> bytes:
    return _encode(_with_subscriptions(one))


def topics(listed: Iterable[Topic]) -> bytes:
    return _encode({"topics": [_with_subscriptions(each) for each in listed]})


def notifications(listed: Iterable[tuple[Topic, Sequence[str]]]) -> bytes:
    return _encode(
        {"topics": [{"topic": _topic(each), "events": list(events)} for each, events in listed]}
    )


def subscription(one: Subscription) -> bytes:
    """Return a subscription; the fields of Ceph's bucket with its events are empty."""
    return _encode(
        {
            "user": one.user,
            "name": one.name,
            "topic": one.topic_name,
            "dest": _destination("", "", one.topic_name),
            "s3_id": "",
        }
    )


def events(page: Page) -> bytes:
    records = [msgspec.Raw(each.record) for each in page.events]
    return _encode(_Records(page.marker, bool(page.marker), records))


def refused(what: Refusal) -> bytes:
    code = _CODES.get(what.code, what.code)
    return _encode(
        {"Code": code, "Message": what.message, "RequestId": what.request_id, "HostId": ""}
    )


def _with_subscriptions(one: Topic) -> dict[str, Any]:
    return {"topic": _topic(one), "subs": [name_of(each) for each in one.subscriptions]}


def _topic(one: Topic) -> dict[str, Any]:
    shown = endpoint(one)
    where = _destination(str(shown["EndpointAddress"]), str(shown["EndpointArgs"]), one.name)
    return {
        "user": one.user,
        "name": one.name,
        "dest": where,
        "arn": one.arn,
        "opaqueData": one.opaque_data,
    }


def _destination(address: str, arguments: str, name: str) -> dict[str, str]:
    return {
        "bucket_name": "",
        "oid_prefix": "",
        "push_endpoint": address,
        "push_endpoint_args": arguments,
        "push_endpoint_topic": name,
    }


_encode = msgspec.json.Encoder().encode
