"""The headers of a CloudEvent, whose form the binding of each protocol says.

That headers arrive as they are, the contract tests show.
"""

from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import read
from tests.unit.samples import TIME, event

PUT = event('a "é"')
ESCAPED = "a+%22%C3%A9%22"
ESCAPED_AGAIN = "a+%2522%25C3%25A9%2522"
TYPE = "application/json"
MINIO = {"minio-bucket": "uploads", "minio-event": "s3:ObjectCreated:Put"}


@pytest.mark.parametrize(
    ("kind", "settings", "prefix", "subject", "beside"),
    [
        (
            "amqp",
            {"url": "amqp://h", "exchange": "e"},
            "cloudEvents_",
            ESCAPED,
            {"content-type": TYPE, "message-id": PUT.id, **MINIO},
        ),
        (
            "kafka",
            {"brokers": "h", "topic": "t"},
            "ce_",
            ESCAPED,
            {"content-type": TYPE, "event-id": PUT.id},
        ),
        (
            "mqtt",
            {"broker": "tcp://h", "topic": "t"},
            "",
            ESCAPED,
            {"content-type": TYPE, "event-id": PUT.id},
        ),
        (
            "nats",
            {"address": "h", "subject": "s"},
            "ce-",
            ESCAPED_AGAIN,
            {"Content-Type": TYPE, "Nats-Msg-Id": PUT.id, "ce-datacontenttype": TYPE},
        ),
        (
            "webhook",
            {"endpoint": "https://h/"},
            "ce-",
            ESCAPED_AGAIN,
            {"Content-Type": TYPE, "webhook-id": PUT.id},
        ),
    ],
)
def test_a_cloud_event_has_its_attributes_in_headers(
    kind: str, settings: dict[str, str], prefix: str, subject: str, beside: dict[str, str]
) -> None:
    attributes = {
        "specversion": "1.0",
        "id": PUT.id[:16],
        "source": "aws:s3..uploads",
        "type": "com.amazonaws.s3.ObjectCreated:Put",
        "subject": subject,
        "time": TIME,
        "sequence": f"{1:032}",
    }
    declared: Any = targets.load(kind)
    target = declared(read(declared.Settings, {**settings, "shape": "cloudevents-binary"}))
    assert target.headers(PUT) == {
        **beside,
        **{prefix + name: value for name, value in attributes.items()},
    }
