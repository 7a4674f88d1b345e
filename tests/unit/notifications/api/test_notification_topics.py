"""Notifications of topics in a bucket: put, read and deleted by Id, and what is refused."""

from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from bucketcast.notifications import api
from bucketcast.notifications.api import Notifications
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.rules import Rule
from bucketcast.rules.sent_events import Part, notified_events
from bucketcast.users import User
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from tests.unit.conftest import Watch
from tests.unit.moto_aws import WEBHOOK, MotoAws, refusal
from tests.unit.notifications.api import test_document as documents

ANN = User("1", "ann", "", ("AK",))
TOPIC = "arn:aws:sns:us-east-1::photos"


def bind(arn: str, user: User, *_: Any) -> str:
    """`photos` of any region is there, `secret` is another's."""
    name = arn.rpartition(":")[2]
    if name == "secret" and user is ANN:
        raise S3Error("AccessDenied", f"{user.name} may not use {arn}")
    if name not in ("photos", "secret"):
        raise S3Error("NoSuchKey", f"there is no topic {arn}")
    tenant = arn.split(":")[4]
    return f"arn:aws:sns:us-east-1:{tenant}:{name}"


@pytest.fixture(autouse=True)
def two_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "stored_topic_arn", bind)


def topic(id_: str, inside: str = "", arn: str = TOPIC) -> str:
    return f"<TopicConfiguration><Id>{id_}</Id><Topic>{arn}</Topic>{inside}</TopicConfiguration>"


def config(*inside: str) -> bytes:
    return documents.config(*inside).encode()


QUEUE = documents.queue(id_="q", events=("s3:ObjectCreated:*",))
TAGGED = "<Filter><S3Tags><FilterRule><Name>k</Name><Value>v</Value></FilterRule></S3Tags></Filter>"


def ids(text: bytes) -> list[str]:
    return [part.partition("</Id>")[0] for part in text.decode().split("<Id>")[1:]]


def disable_all(aws: MotoAws) -> None:
    aws.rules.change("uploads", lambda rules: [replace(rule, disabled=True) for rule in rules])


def test_put_stores_topics_by_their_stored_arn_beside_targets(
    notifications: Notifications, aws: MotoAws
) -> None:
    assert notifications.put("uploads", config(QUEUE), ANN) == [WEBHOOK]
    given = config(topic("one", arn="arn:aws:sns:default::photos"), topic("two"))
    assert notifications.put("uploads", given, ANN) == [TOPIC], "the webhook's rule has not changed"
    assert ids(notifications.get("uploads")) == ["q", "one", "two"]
    assert b"<Topic>arn:aws:sns:us-east-1::photos</Topic>" in notifications.get("uploads", "one")
    named = {rule.name: rule.arn for rule in aws.rules.of("uploads")}
    assert named == {"": WEBHOOK, "one": TOPIC, "two": TOPIC}


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


def test_disabled_rules_are_not_shown_and_stay(notifications: Notifications, aws: MotoAws) -> None:
    rules = aws.rules
    notifications.put("uploads", config(QUEUE, topic("one")), ANN)
    notifications.put("uploads", config(topic("two")), ANN)
    off = [replace(rule, disabled=rule.name != "two") for rule in rules.of("uploads")]
    rules.change("uploads", lambda _: off)
    assert ids(notifications.get("uploads")) == ["two"]
    with pytest.raises(S3Error, match="NoSuchKey"):
        notifications.get("uploads", "one")
    notifications.delete("uploads", "one")
    notifications.put("uploads", notifications.get("uploads"), ANN, whole=True)
    assert rules.of("uploads") == off
    notifications.delete("uploads")
    assert rules.active("uploads") == []
    notifications.put("uploads", config(), ANN)
    assert [rule.disabled for rule in rules.of("uploads")] == [True, True]
    notifications.forget("uploads")
    assert rules.of("uploads") == []


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
    disable_all(aws)
    aws.outputs.pop("ObjectFacts")
    with pytest.raises(S3Error, match=r"InvalidArgument: tag:k=v needs facts"):
        notifications.put("uploads", config(topic("one", TAGGED)), ANN)


def test_client_may_write_back_a_notification_of_a_deleted_topic(
    notifications: Notifications, monkeypatch: pytest.MonkeyPatch
) -> None:
    notifications.put("uploads", config(topic("one")), ANN)
    monkeypatch.setattr(api, "stored_topic_arn", Mock(side_effect=S3Error("NoSuchKey")))
    notifications.put("uploads", config(topic("one"), QUEUE), ANN, whole=True)
    assert ids(notifications.get("uploads")) == ["q", "one"]
    with pytest.raises(S3Error, match="NoSuchKey"):
        notifications.put("uploads", config(topic("one")), ANN)


def test_client_may_write_back_another_users_notification(
    notifications: Notifications, aws: MotoAws
) -> None:
    aws.outputs["ObjectFacts"] = '["uploads"]'
    bob = User("2", "bob", "", ("BK",))
    secret = TOPIC.replace("photos", "secret")
    notifications.put("uploads", config(topic("one", TAGGED, secret)), bob)
    notifications.put("uploads", config(topic("one", arn=secret), QUEUE), ANN, whole=True)
    assert ids(notifications.get("uploads")) == ["q", "one"]
    assert b"<S3Tags>" in notifications.get("uploads", "one")
    events = "<Event>s3:ObjectRemoved:*</Event>"
    with pytest.raises(S3Error, match="AccessDenied"):
        notifications.put("uploads", config(topic("one", events, secret)), ANN, whole=True)
    disable_all(aws)
    with pytest.raises(S3Error, match="AccessDenied"):
        notifications.put("uploads", config(topic("one", arn=secret)), ANN, whole=True)


def filtered(value: str) -> str:
    return f"<Filter><S3Key>{documents.rule('prefix', value)}</S3Key></Filter>"


def numbered(begin: int, end: int, tenants: int) -> bytes:
    """Return a document with the topics of these numbers, of so many tenants."""
    arns = {number: f"arn:aws:sns:r:t{number % tenants}:photos" for number in range(begin, end)}
    return config(*(topic(f"{number}", arn=arn) for number, arn in arns.items()))


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([config(topic("i" * 256))], "Id: allowed are 255 characters"),
        ([config(topic("i", filtered("p" * 1_025)))], "allowed are 1,024 bytes"),
        (
            [numbered(0, 60, tenants=1), numbered(60, 120, tenants=1)],
            "120 notifications of topics for uploads; allowed are 1,000, of one tenant 100",
        ),
        (
            [numbered(0, 501, tenants=11), numbered(500, 1_001, tenants=11)],
            "1,001 notifications of topics for uploads; allowed are 1,000",
        ),
    ],
)
def test_what_ingest_could_not_hold_is_refused(
    notifications: Notifications, aws: MotoAws, documents: list[bytes], message: str
) -> None:
    *accepted, refused = documents
    for document in accepted:
        notifications.put("uploads", document, ANN)
    before = aws.rules.of("uploads")
    with pytest.raises(S3Error, match="InvalidArgument") as error:
        notifications.put("uploads", refused, ANN)
    assert message in error.value.message
    assert aws.rules.of("uploads") == before


def test_an_entry_of_the_deploy_that_is_gone_is_restored(
    notifications: Notifications, aws: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the rule would be accepted and could never fire."""
    attached: list[tuple[str, str]] = []
    monkeypatch.setattr(
        Attachments, "attach", lambda _, bucket, via: attached.append((bucket, via))
    )
    notifications.put("uploads", config(QUEUE), ANN)
    assert attached == []
    aws.s3.put_bucket_notification_configuration(Bucket="uploads", NotificationConfiguration={})
    notifications.put("uploads", config(QUEUE, topic("t")), ANN)
    assert attached == [("uploads", "sqs")]


@pytest.mark.parametrize(
    ("inside", "refused"),
    [
        ("<Event>s3:ObjectCreated:*</Event>" + filtered("a/b"), False),
        ("<Event>s3:ObjectCreated:*</Event>", True),
        ("<Event>s3:ObjectRemoved:*</Event>" + filtered("a/"), True),
    ],
)
def test_a_rule_beyond_the_attached_part_is_refused(
    notifications: Notifications, aws: MotoAws, inside: str, *, refused: bool
) -> None:
    aws.attach_part(Part.of(notified_events("put"), "a/"))
    if refused:
        with pytest.raises(S3Error, match=r"write .* into \[bucket.uploads\] of bucketcast.toml"):
            notifications.put("uploads", config(topic("t", inside)), ANN)
        heard = Rule(bucket="uploads", arn="", events=("s3:ObjectRemoved:*",))
        with pytest.raises(S3Error, match=r"write .* into \[bucket.uploads\]"):
            notifications.attach("uploads", [heard])
    else:
        notifications.put("uploads", config(topic("t", inside)), ANN)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("SlowDown", "SlowDown"),
        ("OperationAborted", "OperationAborted"),
        ("AccessDenied", "AccessDenied"),
        ("InternalError", "ServiceUnavailable"),
    ],
)
def test_s3s_trouble_is_not_the_clients(
    notifications: Notifications, monkeypatch: pytest.MonkeyPatch, code: str, answer: str
) -> None:
    message = "User: arn:aws:sts::123456789012:role may not"
    refused = refusal(code, "PutBucketNotificationConfiguration", message)
    monkeypatch.setattr(Attachments, "read_status", Mock(side_effect=refused))
    with pytest.raises(S3Error) as error:
        notifications.put("uploads", config(topic("t")), ANN)
    assert error.value.code == answer
    assert "123456789012" not in error.value.message


@pytest.mark.parametrize(
    ("status", "answer"),
    [("400", "InvalidBucketName"), ("403", "AccessDenied"), ("404", "NoSuchBucket")],
)
def test_a_bucket_that_may_not_be_seen_has_s3s_answer(
    notifications: Notifications, aws: MotoAws, watch: Watch, status: str, answer: str
) -> None:
    watch(aws.s3, "head_bucket", refusal(status, "HeadBucket"))
    with pytest.raises(S3Error, match=answer):
        notifications.get("uploads")
