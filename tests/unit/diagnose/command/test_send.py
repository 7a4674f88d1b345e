"""`bucketcast send`: one event again, to one target, whatever the rules say."""

from typing import Any

import pytest

from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.event import Event
from tests.unit.conftest import Run
from tests.unit.moto_aws import MotoAws, configure

URI, TARGET = "s3://uploads/a b?versionId=3.jpg", ("--target", "webhook:primary")


@pytest.fixture(autouse=True)
def settings(aws: MotoAws) -> None:
    url = "https://example.org/hook"
    configure("Bucketcast-webhook-primary", endpoint=url, facts="metadata,tags")
    configure(
        "Bucketcast-postgres-main", connection_string="secret:db", table="t", format="namespace"
    )
    tagged: Any = {"Tagging": "class=public", "Metadata": {"team": "red"}}
    aws.s3.put_object(Bucket="uploads", Key="a b?versionId=3.jpg", Body=b"four", **tagged)
    aws.s3.put_object(Bucket="uploads", Key="a b", Body=b"another")


def sent(aws: MotoAws, queue: str = "Bucketcast-webhook-primary") -> list[Delivery]:
    received = aws.sqs.receive_message(QueueUrl=aws.queue(queue), MaxNumberOfMessages=10)
    return [each for message in received.get("Messages", ()) for each in unpack(message["Body"])]


def only(aws: MotoAws) -> Event:
    (delivery,) = sent(aws)
    assert (delivery.rule, delivery.created > 0) == ("bucketcast-send", True)
    assert sent(aws, "Bucketcast-postgres-main") == []
    return delivery.event


def test_an_object_is_sent_as_s3_has_it_now(run: Run, aws: MotoAws) -> None:
    ran = run("send", URI, *TARGET)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "Sent 1 event to webhook:primary, without asking the rules\n"
    event = only(aws)
    head = aws.s3.head_object(Bucket="uploads", Key="a b?versionId=3.jpg")
    assert (event.name, event.size) == ("s3:ObjectCreated:Put", 4)
    assert (event.key, event.version_id) == ("a b?versionId=3.jpg", None)
    assert event.time.startswith(f"{head['LastModified']:%Y-%m-%dT%H:%M:%S}")
    assert event.etag == head["ETag"].strip('"')
    assert event.metadata == {"x-amz-meta-team": "red"}
    assert event.tags == [("class", "public")]


def test_a_version_is_sent_and_to_a_mirror_the_current_one(run: Run, aws: MotoAws) -> None:
    enabled: Any = {"Status": "Enabled"}
    aws.s3.put_bucket_versioning(Bucket="uploads", VersioningConfiguration=enabled)
    old, newer = (
        aws.s3.put_object(Bucket="uploads", Key="v", Body=body)["VersionId"]
        for body in (b"old", b"newer")
    )
    uri, mirror = "s3://uploads/v", ("--target", "postgres:main")
    assert run("send", uri, *TARGET, "--version-id", old).code == 0
    event = only(aws)
    assert (event.version_id, event.size) == (old, 3)
    refused = run("send", uri, *mirror, "--version-id", old).said(1)
    assert f"{old} is not the current one" in refused
    for words in ((uri, "--version-id", newer), (uri,), (URI, "--version-id", "null"), (URI,)):
        assert run("send", *words, *mirror).code == 0
        (delivery,) = sent(aws, "Bucketcast-postgres-main")
        assert delivery.event.version_id == (newer if uri in words else None)
        assert delivery.event.order < ("1".rjust(32, "0"), "")
        assert delivery.event.listed > "2026"


def test_nothing_is_sent_of_an_object_that_does_not_exist(run: Run, aws: MotoAws) -> None:
    refused = run("send", "s3://uploads/gone", *TARGET).said(1)
    assert "s3://uploads/gone does not exist" in refused
    assert "`bucketcast reconcile uploads --target T --repair` removes" in refused
    assert run("send", URI, *TARGET, "--event", "delete").code == 2
    assert sent(aws) == []
