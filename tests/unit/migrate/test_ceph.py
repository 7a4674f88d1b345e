"""Reading what radosgw-admin prints."""

import json
from typing import Any

import pytest

from bucketcast.errors import ConfigErrors
from bucketcast.migrate import ceph
from bucketcast.notifications import topic_configuration
from bucketcast.notifications.topic_configuration import Notification

ARN = "arn:aws:sns:default:acme:photos"
TOPIC: dict[str, Any] = {
    "owner": "acme$ann",
    "name": "photos",
    "dest": {
        "push_endpoint": "https://u:hunter2@h/x",
        "push_endpoint_args": "verify-ssl=false&cloudevents=true&Version=2010-03-31",
        "push_endpoint_topic": "photos",
        "stored_secret": True,
        "persistent": True,
        "persistent_queue": "acme:photos",
        "time_to_live": "30",
        "max_retries": "None",
        "retry_sleep_duration": "0",
    },
    "arn": ARN,
    "opaqueData": "me",
    "policy": "",
    "subscribed_buckets": ["uploads"],
}
PUT = "s3:ObjectCreated:Put"
WITH_A_LIST = {"TopicArn": ARN, "Id": "n", "Filter": {"S3Key": [{"Name": "prefix", "Value": "a"}]}}


def topics(document: Any) -> list[ceph.ParsedTopic]:
    return ceph.read([("t.json", json.dumps(document))]).topics


@pytest.mark.parametrize("document", [[TOPIC], {"topics": [TOPIC]}, [{"topic": TOPIC}]])
def test_topics_of_every_release(document: Any) -> None:
    (found,) = topics(document)
    assert (str(found.arn), found.owner) == (ARN, "ann")
    assert found.attributes == {
        "push-endpoint": "https://u:hunter2@h/x",
        "persistent": "true",
        "verify-ssl": "false",
        "cloudevents": "true",
        "time_to_live": "30",
        "retry_sleep_duration": "0",
        "OpaqueData": "me",
    }
    assert "hunter2" not in repr(found)


def test_the_older_fields_are_read() -> None:
    older = {key: text for key, text in TOPIC.items() if key != "owner"}
    dest = {"push_endpoint": "http://h", "push_endpoint_args": "", "persistent": "false"}
    (found,) = topics([{**older, "user": "bob", "dest": dest}])
    assert (found.owner, found.attributes["persistent"]) == ("bob", "false")


def test_topics_that_rgw_made_for_notifications_are_left_out() -> None:
    made = {**TOPIC, "name": "n1_photos", "arn": ARN.replace("photos", "n1_photos")}
    found = ceph.read([("t.json", json.dumps([TOPIC, made]))])
    assert [each.arn.name for each in found.topics] == ["photos"]
    assert "RGW created it" in found.left_out[0].why


ONE = Notification(
    id="one",
    topic=ARN,
    events=(PUT,),
    key=(("prefix", "in/"), ("regex", "([a-z]+)")),
    metadata=(("x-amz-meta-a", "1"),),
    tags=(("k", "v"),),
)
# As older releases print them: the same key for each rule.
OLDER = (
    f'{{"notifications": [{{"TopicArn": "{ARN}", "Id": "one", "Events": ["{PUT}"], "Filter": {{'
    '"S3Key": {"FilterRule": {"Name": "prefix", "Value": "in/"},'
    ' "FilterRule": {"Name": "regex", "Value": "([a-z]+)"}},'
    '"S3Metadata": {"FilterRule": {"Name": "x-amz-meta-a", "Value": "1"}},'
    '"S3Tags": {"FilterRule": {"Name": "k", "Value": "v"}}}}]}'
)


@pytest.mark.parametrize(
    "text", [json.dumps({"notifications": [topic_configuration.document(ONE)]}), OLDER]
)
def test_notifications_of_every_release(text: str) -> None:
    assert ceph.read([("n.json", text)], bucket="uploads").notifications == [("uploads", ONE)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topics", "invalid JSON"),
        ('{"other": 1}', "found unknown JSON"),
        ('[{"name": "x"}]', "invalid topic"),
        (OLDER.replace("([a-z]+)", "([a-z]"), "regular expression"),
        (OLDER.replace(ARN, "x"), "cannot be imported"),
        (OLDER.replace('"in/"', "5"), "cannot be imported"),
        ('{"notifications": [5]}', "notification 1: cannot be imported"),
        (json.dumps({"notifications": [WITH_A_LIST]}), "notification n: cannot be imported"),
        ('{"notifications": {"Id": "n"}}', "found unknown JSON"),
        (json.dumps([TOPIC | {"dest": "https://h"}]), "topic 1: invalid topic"),
    ],
)
def test_problems_are_reported(text: str, expected: str) -> None:
    with pytest.raises(ConfigErrors, match=expected):
        ceph.read([("n.json", text)], bucket="uploads")


def test_the_bucket_is_required() -> None:
    with pytest.raises(ConfigErrors, match="--bucket NAME"):
        ceph.read([("n.json", OLDER)])
