"""Alerts as records of MinIO's scanner, for the ingress queue.

The record is MinIO's, as captured from a running one. MinIO drops its scanner's counts; ours are in
`size`, as in its BigPrefix, and under MinIO's names for them in `responseElements`. A BigPrefix
names its bucket, and the prefix in it, so that rules can match it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final
from urllib.parse import quote_plus

from pyspark.sql import Row

from bucketcast.event.scanner import KINDS
from glue_jobs.outbox.chunks import Message

_MAX_SINGLE: Final = 1_000
"""Up to this number, alerts are sent as MinIO would, each in a message of its own."""
_PER_MESSAGE: Final = 50
"""The alerts that share a message beyond that; with the longest keys it has 200 KB."""


def pack_alerts(
    number: int, bucket: str, at: datetime, queue: str, rows: Iterable[Row]
) -> Iterator[Message]:
    """Yield the messages of alerts, rows of `ALERT_STATES`; there are `number` of them in all.

    `at` is the time of the scan: the events' time, and their order among others of their key.
    """
    each = 1 if number <= _MAX_SINGLE else _PER_MESSAGE
    remaining = iter(rows)
    while findings := list(islice(remaining, each)):
        yield Message(queue, _body(bucket, findings, at), len(findings), "")


def record(bucket: str, finding: Row, at: datetime) -> dict[str, Any]:
    """Return a finding as an event's record, with its fields as MinIO writes them."""
    at = at.astimezone(UTC)
    return {
        "eventVersion": "2.0",
        "eventSource": "minio:s3",
        "awsRegion": "",
        "eventTime": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1_000:03}Z",
        "eventName": KINDS[finding.kind].event,
        "userIdentity": {"principalId": ""},
        "requestParameters": None,
        "responseElements": {"x-amz-id-2": "", "x-amz-request-id": "", **_counts(finding)},
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "Config",
            "bucket": {
                "name": bucket,
                "ownerIdentity": {"principalId": ""},
                "arn": f"arn:aws:s3:::{bucket}",
            },
            "object": {
                "key": quote_plus(finding.key, safe=""),
                # A row has a method named `count`.
                "size": finding["count"],
                "sequencer": f"{_nanoseconds(at):X}",
            },
        },
        "source": {"host": "", "port": "", "userAgent": "Scanner"},
    }


def _body(bucket: str, findings: Sequence[Row], at: datetime) -> str:
    records = [record(bucket, finding, at) for finding in findings]
    document: dict[str, Any] = {"Records": records}
    if len(records) == 1:
        key = f"{bucket}/{findings[0].key}"
        document = {"EventName": records[0]["eventName"], "Key": key, **document}
    return json.dumps(
        document, separators=(",", ":")
    )  # in ASCII: SQS refuses some characters of keys


def _counts(finding: Row) -> dict[str, str]:
    elements = KINDS[finding.kind].elements
    return {element: str(finding[column]) for column, element in elements.items()}


def _nanoseconds(at: datetime) -> int:
    return (int(at.timestamp()) * 1_000_000 + at.microsecond) * 1_000
