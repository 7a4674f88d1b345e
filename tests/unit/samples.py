"""Made-up records, messages and events, each with only what a test is about."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from bucketcast.event import Event
from bucketcast.rules import RuleIndex

RECORDED = Path(__file__).parent.parent / "events"
RELEASED: dict[str, Any] = json.loads(
    (RECORDED.parent / "released.json").read_text(encoding="utf-8")
)
"""What release 1.0.0 wrote to queues, the state table and databases, and its stack."""
TIME = "2026-03-14T09:26:53.589Z"
LATELY = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
"""The time of what a mirror is to take: not long ago."""


def recorded(name: str) -> str:
    """A recorded body, by its path below `tests/events` without `.json`."""
    return (RECORDED / f"{name}.json").read_text(encoding="utf-8")


def lambda_context(**more: Any) -> SimpleNamespace:
    """The context that Lambda gives to a handler."""
    fields: dict[str, Any] = {
        "aws_request_id": "c0ffee00-0000-4000-8000-000000000001",
        "function_name": "made",
        "invoked_function_arn": "arn:aws:lambda:eu-west-1:111122223333:function:made",
        "log_stream_name": "2026/11/21/[$LATEST]abc",
        "memory_limit_in_mb": 256,
        "get_remaining_time_in_millis": lambda: 240_000,
    }
    return SimpleNamespace(**(fields | more))


def sqs_record(
    body: str,
    *,
    number: int = 0,
    queue: str = "Bucketcast-ingress",
    receives: int = 1,
    sent: int | None = None,
    beside: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A message as Lambda hands it over: sent at so many ms, by default now, with texts beside."""
    now = round(time.time() * 1_000)
    return {
        "messageId": str(number),
        "receiptHandle": f"receipt {number}",
        "body": body,
        "eventSourceARN": f"arn:aws:sqs:eu-central-1:123456789012:{queue}",
        "attributes": {
            "SentTimestamp": str(now if sent is None else sent),
            "ApproximateReceiveCount": str(receives),
        },
        "messageAttributes": {
            name: {"stringValue": text, "dataType": "String"}
            for name, text in (beside or {}).items()
        },
    }


def event(
    key: str = "photos/cat.jpg",
    *,
    name: str = "s3:ObjectCreated:Put",
    sequencer: str = "1",
    **more: Any,
) -> Event:
    fields: dict[str, Any] = {"bucket": "uploads", "time": TIME, "stored": msgspec.Raw(b"{}")}
    return Event(name=name, key=key, sequencer=sequencer, **(fields | more))


def told(event: Event) -> Event:
    """The event with all that it says, however it is stored; its rule is its delivery's."""
    return msgspec.structs.replace(
        event, stored=event.record, known_id=event.id, rule="", named=False, plain=False
    )


def matched(index: RuleIndex, name: str, key: str) -> dict[str, str]:
    """Whom an event of this name and key is for, and by which rule."""
    return {hit.to.arn: hit.rule for hit in index.match(event(key, name=name))}


def record(key: str = "photos/cat.jpg", **changes: Any) -> dict[str, Any]:
    """One S3 record; `changes` go by dotted path with `__` for the dots, None removes."""
    made: dict[str, Any] = {
        "eventVersion": "2.1",
        "eventTime": TIME,
        "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": "uploads"}, "object": {"key": key, "sequencer": "1"}},
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        node = made
        for parent in parents:
            node = node[parent]
        if value is None:
            del node[last]
        else:
            node[last] = value
    return made


def message(*records: Mapping[str, Any]) -> str:
    """The body of a message with these records."""
    return json.dumps({"Records": records or (record(),)})


def kinds_of(failures: Mapping[int, Exception]) -> dict[int, type[Exception]]:
    """The classes of failures, by the indexes of their events."""
    return {index: type(error) for index, error in failures.items()}


def depth(sqs: Any, url: str, which: str = "") -> int:
    """How many messages can be received at once, or are `Delayed` or `NotVisible`."""
    name = f"ApproximateNumberOfMessages{which}"
    answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
    return int(answer["Attributes"][name])


def received(sqs: Any, url: str, *, wait: int = 0) -> list[dict[str, Any]]:
    """All that can be received within `wait` seconds, with its attributes as plain texts."""
    found: list[dict[str, Any]] = []
    while messages := sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        WaitTimeSeconds=0 if found else wait,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["All"],
    ).get("Messages"):
        for each in messages:
            attributes = each.get("MessageAttributes", {})
            texts = {name: value["StringValue"] for name, value in attributes.items()}
            found.append({**each, "texts": texts})
    return found
