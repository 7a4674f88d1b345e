"""Notifications of topics in a bucket: put, read and deleted by Id, and what is refused."""

import json
from typing import Any

import pytest

from bucketcast.destination import TopicArn
from bucketcast.notifications import api
from bucketcast.notifications.api import Notifications
from bucketcast.rules import regexes
from bucketcast.state.rules import Rules
from bucketcast.users import User
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from tests.unit.conftest import Deploy
from tests.unit.moto_aws import TABLE, MotoAws, make_bucket

ANN = User("ann", "", "AK", admin=False)
TOPIC = "arn:aws:sns:us-east-1::photos"
HOOK = "arn:minio:sqs::primary:webhook"


def bind(arn: str, user: User, *_: Any) -> str:
    """`photos` of any region is there, `secret` is another's."""
    name = arn.rpartition(":")[2]
    if name == "secret" and user is ANN:
        raise S3Error("AccessDenied", f"{user.name} may not use {arn}")
    if name not in ("photos", "secret"):
        raise S3Error("NoSuchKey", f"there is no topic {arn}")
    return f"arn:aws:sns:us-east-1::{name}"


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    make_bucket("uploads")
    deployed = deploy(("webhook", "webhook", "primary"))
    deployed.sqs.create_queue(QueueName="Bucketcast-ingress")
    deployed.outputs["Attachments0"] = json.dumps({"bucket": "uploads", "via": "sqs"})
    return deployed


@pytest.fixture
def notifications(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> Notifications:
    monkeypatch.setattr(api, "stored_topic_arn", bind)
    return Notifications("Bucketcast", aws, "us-east-1")


def topic(id_: str, inside: str = "", arn: str = TOPIC) -> str:
    return f"<TopicConfiguration><Id>{id_}</Id><Topic>{arn}</Topic>{inside}</TopicConfiguration>"


def config(*inside: str) -> bytes:
    return f"<NotificationConfiguration>{''.join(inside)}</NotificationConfiguration>".encode()


QUEUE = (
    "<QueueConfiguration><Id>q</Id><Event>s3:ObjectCreated:*</Event>"
    f"<Queue>{HOOK}</Queue></QueueConfiguration>"
)
TAGGED = "<Filter><S3Tags><FilterRule><Name>k</Name><Value>v</Value></FilterRule></S3Tags></Filter>"


def ids(text: bytes) -> list[str]:
    return [part.partition("</Id>")[0] for part in text.decode().split("<Id>")[1:]]


def test_put_stores_topics_by_their_stored_arn_beside_targets(
    notifications: Notifications, aws: MotoAws
) -> None:
    notifications.put("uploads", config(QUEUE), ANN)
    notifications.put(
        "uploads", config(topic("one", arn="arn:aws:sns:default::photos"), topic("two")), ANN
    )
    assert ids(notifications.get("uploads")) == ["q", "one", "two"]
    assert b"<Topic>arn:aws:sns:us-east-1::photos</Topic>" in notifications.get("uploads", "one")
    named = {rule.name: rule.arn for rule in Rules(TABLE, aws.dynamodb).of("uploads")}
    assert named == {"": HOOK, "one": TOPIC, "two": TOPIC}


def test_one_is_read_and_deleted_by_its_id(notifications: Notifications) -> None:
    notifications.put("uploads", config(topic("one"), topic("two"), QUEUE), ANN)
    assert ids(notifications.get("uploads", "two")) == ["two"]
    with pytest.raises(S3Error, match="NoSuchKey") as caught:
        notifications.get("uploads", "three")
    assert caught.value.status == 404
    notifications.delete("uploads", "two")
    notifications.delete("uploads", "two")
    assert ids(notifications.get("uploads")) == ["q", "one"]
    notifications.delete("uploads")
    assert ids(notifications.get("uploads")) == []


@pytest.mark.parametrize(
    ("query", "id_"),
    [
        ("notification=a%20b", "a b"),
        ("notification&notification-id=one", "one"),
        ("notification=", ""),
        ("notification", ""),
    ],
)
def test_id_may_be_in_either_of_cephs_parameters(query: str, id_: str) -> None:
    call = RawRequest.of("DELETE", "/bucket", query, {"host": "gateway"}.items())
    assert api.requested_id(call) == id_


def test_topics_own_target_cannot_be_named(notifications: Notifications, aws: MotoAws) -> None:
    arn = f"arn:minio:sqs::{TopicArn('', '', 'photos').target_id}:webhook"
    text = aws.outputs["Target0"].replace("arn:minio:sqs::primary:webhook", arn)
    aws.outputs["Target1"] = text
    with pytest.raises(S3Error, match=r"InvalidArgument: .*ARN does not exist"):
        notifications.put("uploads", config(QUEUE.replace(HOOK, arn)), ANN)


def test_an_error_in_one_changes_none(notifications: Notifications) -> None:
    notifications.put("uploads", config(topic("one")), ANN)
    for inside, code, status in (
        (topic("x", arn="arn:aws:sns:us-east-1::gone"), "NoSuchKey", 404),
        (topic("x", arn="arn:aws:sns:us-east-1::secret"), "AccessDenied", 403),
        (topic("x", "<Event>s3:Nothing</Event>"), "InvalidArgument", 400),
    ):
        with pytest.raises(S3Error, match=code) as caught:
            notifications.put("uploads", config(topic("new"), inside), ANN)
        assert caught.value.status == status
    assert ids(notifications.get("uploads")) == ["one"]


def test_conditions_on_unreadable_objects_are_refused(
    notifications: Notifications, aws: MotoAws
) -> None:
    with pytest.raises(S3Error, match=r"InvalidArgument: tag:k=v needs facts .* object_facts"):
        notifications.put("uploads", config(topic("one", TAGGED)), ANN)
    aws.outputs["ObjectFacts"] = '["uploads"]'
    notifications.put("uploads", config(topic("one", TAGGED)), ANN)
    assert b"<S3Tags>" in notifications.get("uploads")


def test_expressions_too_large_for_ingest_together_are_refused(
    notifications: Notifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regexes, "MAX_INSTRUCTIONS", 100)

    def filtered(number: int) -> str:
        pattern = f"<FilterRule><Name>regex</Name><Value>{number}a{{60}}</Value></FilterRule>"
        return topic(str(number), f"<Filter><S3Key>{pattern}</S3Key></Filter>")

    notifications.put("uploads", config(filtered(1)), ANN)
    with pytest.raises(S3Error, match="InvalidArgument: the regular expressions of the bucket"):
        notifications.put("uploads", config(filtered(2)), ANN)
    assert ids(notifications.get("uploads")) == ["1"]


def test_client_may_write_back_a_notification_of_a_deleted_topic(
    notifications: Notifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifications.put("uploads", config(topic("one")), ANN)

    def gone(arn: str, *_: Any) -> str:
        raise S3Error("NoSuchKey", arn)

    monkeypatch.setattr(api, "stored_topic_arn", gone)
    notifications.put("uploads", config(topic("one"), QUEUE), ANN, whole=True)
    assert ids(notifications.get("uploads")) == ["q", "one"]
    with pytest.raises(S3Error, match="NoSuchKey"):
        notifications.put("uploads", config(topic("one")), ANN)


def test_client_may_write_back_another_users_notification(
    notifications: Notifications, aws: MotoAws
) -> None:
    aws.outputs["ObjectFacts"] = '["uploads"]'
    bob = User("bob", "", "BK", admin=False)
    secret = TOPIC.replace("photos", "secret")
    notifications.put("uploads", config(topic("one", TAGGED, secret)), bob)
    notifications.put("uploads", config(topic("one", arn=secret), QUEUE), ANN, whole=True)
    assert ids(notifications.get("uploads")) == ["q", "one"]
    assert b"<S3Tags>" in notifications.get("uploads", "one")
    events = "<Event>s3:ObjectRemoved:*</Event>"
    with pytest.raises(S3Error, match="AccessDenied"):
        notifications.put("uploads", config(topic("one", events, secret)), ANN, whole=True)
