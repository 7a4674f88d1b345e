"""What arrives on the ingress queue from Amazon S3, and what only looks like it."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.errors import BadEvent
from tests.unit.samples import RECORDED, message, record, recorded

CAT = "photos/cat.jpg"
ETAG = "b94d27b9934d3e08a52e52d7da7dabfa"
VERSION = "096fKKXTRTtl3on89fVO.nfljtsv6qko"

EXPECTED: dict[str, dict[str, Any]] = {
    "put-2.0": {"name": "s3:ObjectCreated:Put", "key": CAT, "size": 1305107, "etag": ETAG},
    "put-2.1": {"sequencer": "0055AED6DCD90281E5", "version_id": None, "region": "eu-central-1"},
    "put-2.6-generated-tags": {"version_id": VERSION, "size": 1305107},
    "put-empty-object": {"size": 0, "etag": "d41d8cd98f00b204e9800998ecf8427e"},
    "put-bare": {"principal": "", "owner": "", "source_ip": "", "request_id": "", "region": ""},
    "post": {"name": "s3:ObjectCreated:Post", "source_ip": "2001:db8::17"},
    "copy-encoded-key": {"key": "copies/a b+c% é😀\"'&.txt", "name": "s3:ObjectCreated:Copy"},
    "complete-multipart": {
        "name": "s3:ObjectCreated:CompleteMultipartUpload",
        "size": 5_368_709_120,
    },
    "delete": {"name": "s3:ObjectRemoved:Delete", "size": None, "etag": None},
    "delete-version": {"version_id": "null", "size": None},
    "delete-marker": {
        "name": "s3:ObjectRemoved:DeleteMarkerCreated",
        "size": None,
        "version_id": "UIORUnfndfiufdisojhr398493jfdkjF",
    },
    "tagging-put": {"name": "s3:ObjectCreated:PutTagging", "sequencer": "", "size": None},
    "tagging-delete": {"name": "s3:ObjectCreated:DeleteTagging", "sequencer": ""},
    "acl-put": {"name": "s3:ObjectAcl:Put", "sequencer": ""},
    "lifecycle-expiration-delete": {
        "name": "s3:ObjectRemoved:Delete",
        "principal": "s3.amazonaws.com",
    },
    "lifecycle-expiration-marker": {"name": "s3:ObjectRemoved:DeleteMarkerCreated"},
    "lifecycle-transition": {"name": "s3:ObjectTransition:Complete", "size": 4096},
    "intelligent-tiering": {"name": "s3:IntelligentTiering"},
    "restore-post": {"name": "s3:ObjectRestore:Post", "size": 9001},
    "restore-completed": {"name": "s3:ObjectRestore:Completed"},
    "restore-delete": {"name": "s3:ObjectRestore:Delete", "size": None},
    "replication-failed-with-prefix": {
        "name": "s3:Replication:OperationFailedReplication",
        "key": "object-key-one",
    },
    "replication-after-threshold": {"name": "s3:Replication:OperationReplicatedAfterThreshold"},
    "reduced-redundancy-lost": {"name": "s3:ReducedRedundancyLostObject", "size": None},
    "annotation-put": {"name": "s3:ObjectAnnotation:Put", "sequencer": ""},
    "retention-put": {"name": "s3:ObjectCreated:PutRetention", "version_id": VERSION},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_recorded_notification_becomes_one_event(name: str) -> None:
    body = recorded(f"s3/{name}")
    (event,) = sources.events(body)
    found = {field: getattr(event, field) for field in EXPECTED[name]}
    assert found == EXPECTED[name]
    assert (event.bucket, event.time) == ("uploads", "2026-03-14T09:26:53.589Z")
    assert json.loads(bytes(event.record)) == json.loads(body)["Records"][0]


def test_every_recorded_notification_is_expected() -> None:
    several = {"multi-delete-three-records", "test-event"}
    assert {path.stem for path in (RECORDED / "s3").glob("*.json")} == EXPECTED.keys() | several


def test_test_event_is_dropped() -> None:
    assert sources.events(recorded("s3/test-event")) == []


def test_fields_of_later_versions_are_ignored_and_kept_in_the_record() -> None:
    newer = record(eventVersion="2.99", s3__object__colour={"deep": [1, {"er": None}]})
    (event,) = sources.events(message(newer))
    assert json.loads(bytes(event.record)) == newer


NO_JSON = {
    "empty": "",
    "two": message() + message(),
    "raw zero byte": '{"Records": "\0"}',
    "lone surrogate": message(record("\udead")),
    "lone surrogate, unescaped": message(record("x")).replace('"x"', '"\udead"'),
    "swapped surrogates": message(record("\ude00\ud83d")),
    "bottomless list": '{"Records":' + "[" * 500_000,
    "bottomless object": '{"Records":' + '{"a":' * 500_000,
    "deep in an unknown field": message(record(s3__object__x="?")).replace(
        '"?"', "[" * 50_000 + "]" * 50_000
    ),
    "array": "[]",
    "1 MiB of an unfinished string": '{"Records": "' + "x" * 1_048_576,
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_message_that_is_no_json_object_is_refused(body: str) -> None:
    with pytest.raises(BadEvent, match=r"the message is not a JSON object: .+"):
        sources.events(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{}", "among its fields ()"),
        ('{"b": 1, "a": 2}', "among its fields (a, b)"),
        ('{"Event": "s3:OtherEvent"}', "among its fields (Event)"),
        ('{"Event": {"x": 1}}', "among its fields (Event)"),
        ('{"records": []}', "among its fields (records)"),
    ],
)
def test_unknown_object_is_refused_with_its_fields(body: str, expected: str) -> None:
    with pytest.raises(BadEvent) as refused:
        sources.events(body)
    assert expected in str(refused.value)


def test_error_lists_only_some_of_a_thousand_fields() -> None:
    with pytest.raises(BadEvent) as refused:
        sources.events(json.dumps({"x" * 50 + str(n): n for n in range(1000)}))
    assert len(str(refused.value)) < 400


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"eventVersion": None}, "eventVersion"),
    ({"eventVersion": "3.0"}, "eventVersion is '3.0'; only 2.x is known"),
    ({"eventVersion": "20.1"}, "eventVersion is '20.1'"),
    ({"eventVersion": ""}, "eventVersion is ''"),
    ({"eventTime": "yesterday"}, "$.eventTime"),
    ({"eventTime": "2026-03-14T09:26:53.589+02:00"}, "$.eventTime"),
    ({"eventTime": "2026-03-14T09:26:53.589Z\n"}, "$.eventTime"),
    ({"eventName": ["ObjectCreated:Put"]}, "$.eventName"),
    ({"userIdentity": {"principalId": 7}}, "$.userIdentity.principalId"),
    ({"s3": "uploads/photos/cat.jpg"}, "$.s3"),
    ({"s3__bucket__name": ""}, "$.s3.bucket.name"),
    ({"s3__bucket__name": "b" * 256}, "$.s3.bucket.name"),
    ({"s3__object__key": 1}, "$.s3.object.key"),
    ({"s3__object__size": 1.5}, "$.s3.object.size"),
    ({"s3__object__size": -1}, "$.s3.object.size"),
    ({"s3__object__size": 2**63}, "$.s3.object.size"),
    ({"s3__object__sequencer": "not hex"}, "$.s3.object.sequencer"),
    ({"s3__object__sequencer": "0" * 33}, "$.s3.object.sequencer"),
]


@pytest.mark.parametrize(("change", "path"), BROKEN)
def test_broken_record_is_refused_with_the_path(change: dict[str, Any], path: str) -> None:
    with pytest.raises(BadEvent) as refused:
        sources.events(message(record(**change)))
    assert path in str(refused.value)


def test_one_broken_record_breaks_the_message() -> None:
    """Half a message cannot be acknowledged: its good records would come again and again."""
    with pytest.raises(BadEvent):
        sources.events(message(record(), record(s3=None)))


@pytest.mark.parametrize("text", ["[" * 500, "{" * 500, '\\"' + "[" * 500, "[" * 500 + "\\\\"])
def test_brackets_in_strings_are_not_nesting(text: str) -> None:
    body = message(record(s3__object__x="?")).replace("?", text)
    assert len(sources.events(body)) == 1
    wrapped = {"Type": "Notification", "TopicArn": "arn", "Message": body}
    assert len(sources.events(json.dumps(wrapped))) == 1


def test_message_nested_too_deeply_is_refused() -> None:
    """It could be read here, but not where it lies in an envelope beside its neighbours."""
    body = message(record(s3__object__x="?"))
    nested = {depth: body.replace('"?"', "[" * depth + "]" * depth) for depth in (395, 396, 900)}
    assert len(sources.events(nested[395])) == 1
    for depth in (396, 900):
        with pytest.raises(BadEvent, match=r"nested [0-9]+ levels deep; allowed are 400"):
            sources.events(nested[depth])
    wrapped = {"Type": "Notification", "TopicArn": "arn", "Message": nested[900]}
    with pytest.raises(BadEvent, match="nested"):
        sources.events(json.dumps(wrapped))


def test_message_that_is_read_can_also_be_read_from_an_envelope() -> None:
    body = message(record(s3__object__x="?")).replace('"?"', "[" * 395 + "]" * 395)
    (event,) = sources.events(body)
    (packed,) = pack([Delivery("rule", event)])
    assert unpack(packed.body)[0].event.key == event.key


def test_message_without_records_has_no_events() -> None:
    assert sources.events('{"Records": []}') == []


@given(st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=2))
def test_any_field_value_gives_an_event_or_bad_event(value: Any) -> None:
    body = message(record(s3__object__versionId=value, s3__object__size=value, awsRegion=value))
    with suppress(BadEvent):
        assert len(sources.events(body)) == 1
