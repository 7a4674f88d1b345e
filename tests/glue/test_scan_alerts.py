"""Alerts on the queue: MinIO's record, which the sources read and the rules match."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bucketcast import sources
from bucketcast.delivery.envelope import unpack
from bucketcast.event import Event
from bucketcast.event.scanner import KINDS
from bucketcast.rules import Rule
from glue_jobs.outbox.chunks import Message
from glue_jobs.scanner.alert_states import EVERYONE, Comparison, Finding, decide
from glue_jobs.scanner.alerts import Alerts, record
from glue_jobs.scanner.coverage import Coverage

AT = datetime(2026, 11, 21, 12, 17, 21, 320_000, tzinfo=UTC)
ARN = "arn:minio:sqs::hook:webhook"
RULE = Rule(bucket="vers", arn=ARN, events=("s3:Scanner:*",))
GOLDEN = Path(__file__).parents[1] / "events" / "minio" / "scanner-many-versions.json"


def finding(kind: str, key: str, count: int, versions: int = 0, size: int = 0) -> Finding:
    return Finding(kind, key, count, versions, size)


def bodies(*findings: Finding, to: str = EVERYONE) -> list[Message]:
    """Return the messages of new findings, for one destination or all."""
    now = Coverage("", 0, versions=True, thresholds=dict.fromkeys(KINDS, 0))
    alerts = Alerts("vers", (RULE,), AT)
    states = (decide(each, None, Comparison(0, 0, 0, now, ()), alerts) for each in findings)
    return list(alerts.pack([each._replace(to=[to]) for each in states if each]))


def read(document: dict[str, Any]) -> Event:
    """Return the event of an alert, as read from a message of its own."""
    body = {"EventName": document["eventName"], "Key": "", "Records": [document]}
    (event,) = sources.events(json.dumps(body))
    return event


def test_the_body_is_minios_with_our_counts() -> None:
    (message,) = bodies(finding("ManyVersions", "v/many.txt", 1_001, 1_001, 5_005))

    (wanted,) = json.loads(GOLDEN.read_bytes())["Records"]
    wanted["responseElements"] = {
        "x-amz-id-2": "",
        "x-amz-request-id": "",
        "x-minio-versions": "1001",
    }
    wanted["s3"]["object"]["size"] = 1_001
    wanted["source"]["host"] = ""
    (sent,) = json.loads(message.body)["Records"]
    wanted["s3"]["object"]["sequencer"] = sent["s3"]["object"]["sequencer"]
    assert sent == wanted
    assert list(sent) == list(wanted)
    sequencer = int(sent["s3"]["object"]["sequencer"], 16)
    assert sequencer == int(AT.timestamp() * 1_000) * 1_000_000
    assert (message.events, message.token, message.to) == (1, "", "")


def test_a_prefix_is_sent_as_a_key_of_its_bucket() -> None:
    document = record("vers", finding("BigPrefix", "logs/2026/", 50_001), AT)

    event = read(document)
    assert event.name == "s3:Scanner:BigPrefix"
    assert (event.bucket, event.key, event.size) == ("vers", "logs/2026/", 50_001)
    assert document["s3"]["object"]["key"] == "logs%2F2026%2F"


def test_an_alert_keeps_its_id_and_a_later_one_has_another() -> None:
    big = finding("LargeVersions", "k", 1 << 40, 3, 1 << 40)

    def event_id(at: datetime) -> str:
        return read(record("vers", big, at)).id

    assert event_id(AT) == event_id(AT)
    assert event_id(AT) != event_id(AT.replace(microsecond=321_000))
    elements = record("vers", big, AT)["responseElements"]
    assert elements["x-minio-versions-count"] == "3"
    assert elements["x-minio-versions-size"] == str(1 << 40)


def test_many_alerts_share_messages() -> None:
    keys = {f"k/{number}" for number in range(1_200)}
    sent = bodies(*(finding("ManyVersions", key, 9, 9) for key in keys))

    assert len(sent) == 24
    assert sum(message.events for message in sent) == 1_200
    received = [event for message in sent for event in sources.events(message.body)]
    assert {event.key for event in received} == keys


def test_characters_that_sqs_refuses_are_escaped() -> None:
    (message,) = bodies(finding("ManyVersions", "\uffff\x01ä", 9, 9))
    assert message.body.isascii()
    (event,) = sources.events(message.body)
    assert event.key == "\uffff\x01ä"


def test_an_alert_for_one_destination_has_its_rule() -> None:
    (message,) = bodies(finding("ManyVersions", "k", 9, 9), to=ARN)
    assert (message.events, message.to) == (1, ARN)
    ((rule, event),) = [(each.rule, each.event) for each in unpack(message.body)]
    assert (rule, event.key, event.size) == (RULE.id, "k", 9)
