"""Alerts as records of MinIO's scanner, for the ingress queue.

The record is MinIO's, as captured from a running one. MinIO drops its scanner's counts; ours are in
`size`, as in its BigPrefix, and under MinIO's names for them in `responseElements`. A BigPrefix
names its bucket, and the prefix in it, so that rules can match it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote_plus

import msgspec

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.event.scanner import KINDS
from bucketcast.rules import Rule, RuleIndex
from bucketcast.sources import minio
from glue_jobs.outbox.chunks import Message
from glue_jobs.scanner.alert_states import EVERYONE, AlertState, Finding

_PER_MESSAGE: Final = 50
"""The alerts that share a message; with the longest keys it has 200 KB."""


class Alerts:
    """The alerts of a scan by the bucket's rules; `at` is its time, and that of the events."""

    def __init__(self, bucket: str, rules: Sequence[Rule], at: datetime) -> None:
        self._bucket = bucket
        self._at = at
        self._index = RuleIndex(rules)

    def deliveries(self, finding: Finding | AlertState) -> dict[str, Delivery]:
        """Return what the rules make of a finding's event, by destination; named copies apart.

        Conditions on object facts count as met, as they do if S3 does not return the facts.
        """
        raw = msgspec.Raw(json.dumps(record(self._bucket, finding, self._at)).encode())
        event = minio.parse(raw)
        return {
            f"{hit.to.arn}\n{hit.rule}" if hit.named else hit.to.arn: Delivery(
                hit.rule, event, hit.named
            )
            for hit in self._index.match(event)
        }

    def pack(self, rows: Iterable[Sequence[Any]]) -> Iterator[Message]:
        """Yield the messages of rows of `ALERT_STATES`."""
        waiting: defaultdict[str, list[AlertState]] = defaultdict(list)
        for state in (AlertState(*row) for row in rows):
            for to in state.to:
                waiting[to].append(state)
                if len(waiting[to]) == _PER_MESSAGE:
                    yield from self._messages(to, waiting.pop(to))
        for to, states in waiting.items():
            yield from self._messages(to, states)

    def _messages(self, to: str, states: Sequence[AlertState]) -> Iterator[Message]:
        if to == EVERYONE:
            records = [record(self._bucket, state, self._at) for state in states]
            # In ASCII, as SQS refuses some characters of keys.
            yield Message(json.dumps({"Records": records}, separators=(",", ":")), len(states))
            return
        deliveries = [self.deliveries(state)[to] for state in states]
        for body, start, stop in pack(deliveries):
            yield Message(body, stop - start, to=to.partition("\n")[0])


def record(bucket: str, finding: Finding | AlertState, at: datetime) -> dict[str, Any]:
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
                "size": finding.count,
                "sequencer": f"{_nanoseconds(at):X}",
            },
        },
        "source": {"host": "", "port": "", "userAgent": "Scanner"},
    }


def _counts(finding: Finding | AlertState) -> dict[str, str]:
    elements = KINDS[finding.kind].elements
    return {element: str(getattr(finding, column)) for column, element in elements.items()}


def _nanoseconds(at: datetime) -> int:
    return (int(at.timestamp()) * 1_000_000 + at.microsecond) * 1_000
