"""The headers of a CloudEvent, whose form the binding of each protocol says.

That headers arrive as they are, the contract tests show.
"""

import pytest

from tests.unit.samples import TIME, event
from tests.unit.targets.test_settings import target

PUT = event('a "é"')
ESCAPED = "a+%22%C3%A9%22"
ESCAPED_AGAIN = "a+%2522%25C3%25A9%2522"
TYPE = "application/json"
NATS = {"ce-datacontenttype": TYPE}
MINIO = {"minio-bucket": "uploads", "minio-event": "s3:ObjectCreated:Put"}


@pytest.mark.parametrize(
    ("kind", "prefix", "subject", "beside"),
    [
        ("amqp", "cloudEvents_", ESCAPED, {"content-type": TYPE, "message-id": PUT.id, **MINIO}),
        ("kafka", "ce_", ESCAPED, {"content-type": TYPE, "event-id": PUT.id}),
        ("mqtt", "", ESCAPED, {"content-type": TYPE, "event-id": PUT.id}),
        ("nats", "ce-", ESCAPED_AGAIN, {"Content-Type": TYPE, "Nats-Msg-Id": PUT.id, **NATS}),
        ("webhook", "ce-", ESCAPED_AGAIN, {"Content-Type": TYPE, "webhook-id": PUT.id}),
    ],
)
def test_a_cloud_event_has_its_attributes_in_headers(
    kind: str, prefix: str, subject: str, beside: dict[str, str]
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
    headers = target(kind, {"shape": "cloudevents-binary"}).headers(PUT)
    assert headers == beside | {prefix + name: value for name, value in attributes.items()}
