"""The one writer of bucket notifications, which a deploy and `bucketcast bucket attach` share."""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ReadTimeoutError

from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws import propagation
from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.notifications.aws.deployed_bucket import DeployedBucket
from bucketcast.notifications.aws.writer import (
    ConcurrentWriteError,
    EntryLostError,
    NotificationWriter,
)
from bucketcast.rules.sent_events import Part

ACCOUNT = "123456789012"
BUCKET = "uploads"
OURS = "Bucketcast-ingress"
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:Bucketcast-ingress"
THUMBS = {
    "Id": "thumbs",
    "LambdaFunctionArn": f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:thumbs",
    "Events": ["s3:Later:Put"],
    "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/"}]}},
}
AUDIT = {**THUMBS, "Id": "audit", "Events": ["s3:Later:Copy"]}
CREATED = ["s3:ObjectCreated:*"]
Interrupt = Callable[[Callable[[], None]], None]


@pytest.fixture
def s3(sqs: Any) -> Any:
    """S3 with another's entry in the bucket; tests change what this client does."""
    client = boto3.client("s3")
    client.create_bucket(Bucket=BUCKET)
    sqs.create_queue(QueueName="Bucketcast-ingress")
    put(client, {"LambdaFunctionConfigurations": [THUMBS]})
    return client


@pytest.fixture
def after_put(s3: Any) -> Interrupt:
    """Do something right after the next write, before anything else is called."""

    def register(action: Callable[[], None]) -> None:
        def once(**_: Any) -> None:
            s3.meta.events.unregister("after-call.s3.PutBucketNotificationConfiguration", once)
            action()

        s3.meta.events.register("after-call.s3.PutBucketNotificationConfiguration", once)

    return register


def put(s3: Any, document: Any) -> None:
    s3.put_bucket_notification_configuration(
        Bucket=BUCKET, NotificationConfiguration=document, SkipDestinationValidation=True
    )


def ids(s3: Any) -> set[str]:
    found = s3.get_bucket_notification_configuration(Bucket=BUCKET)
    lists = ("LambdaFunctionConfigurations", "QueueConfigurations", "TopicConfigurations")
    return {entry["Id"] for name in lists for entry in found.get(name, [])}


def writer(s3: Any) -> NotificationWriter:
    return NotificationWriter(s3, entry_id=OURS, account=ACCOUNT, sleep=lambda _: None)


def attach(document: notifications.Document) -> dict[str, Any]:
    return notifications.attach(document, OURS, QUEUE, Part.of(CREATED))


def test_restore_keeps_simultaneous_additions(s3: Any, after_put: Interrupt) -> None:
    after_put(lambda: put(s3, {"LambdaFunctionConfigurations": [AUDIT]}))
    with pytest.raises(EntryLostError):
        writer(s3).write(BUCKET, attach)
    assert ids(s3) == {"thumbs", "audit"}


def test_a_write_of_others_that_drops_ours_is_an_error(s3: Any, after_put: Interrupt) -> None:
    after_put(lambda: put(s3, {"LambdaFunctionConfigurations": [THUMBS, AUDIT]}))
    with pytest.raises(ConcurrentWriteError, match="try again"):
        writer(s3).write(BUCKET, attach)
    assert ids(s3) == {"thumbs", "audit"}
    writer(s3).write(BUCKET, attach)
    assert ids(s3) == {"thumbs", "audit", OURS}


def test_a_write_without_a_response_is_undone(s3: Any, after_put: Interrupt) -> None:
    def lose_response() -> None:
        raise ReadTimeoutError(endpoint_url="x")

    after_put(lose_response)
    with pytest.raises(ReadTimeoutError):
        writer(s3).write(BUCKET, attach)
    assert ids(s3) == {"thumbs"}


def test_a_read_that_is_still_the_old_one_is_read_again(s3: Any) -> None:
    """S3's bucket configurations are eventually consistent."""
    made = writer(s3)
    real, reads = made.read, list[str]()

    def stale(bucket: str) -> dict[str, Any]:
        reads.append(bucket)
        return {"LambdaFunctionConfigurations": [THUMBS]} if len(reads) < 4 else real(bucket)

    made.read = stale  # type: ignore[method-assign]
    made.write(BUCKET, attach)
    assert (len(reads), ids(s3)) == (4, {"thumbs", OURS})


def test_a_write_that_shows_late_still_counts_as_a_change(
    s3: Any, dynamodb: Any, state_table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From then on S3 needs minutes again, which `backfill` has to wait for."""
    times, real, reads = (
        AttachmentTimes(state_table, dynamodb),
        NotificationWriter.read,
        list[str](),
    )
    times.put(BUCKET, Attachment(1.0))

    def stale(self: NotificationWriter, bucket: str) -> dict[str, Any]:
        reads.append(bucket)
        old = {"LambdaFunctionConfigurations": [THUMBS]}
        return old if len(reads) <= 6 else real(self, bucket)

    monkeypatch.setattr(NotificationWriter, "read", stale)
    wanted = {"Account": ACCOUNT, "Bucket": BUCKET, "Id": OURS, "QueueArn": QUEUE, "Via": "sqs"}
    bucket = DeployedBucket(
        s3,
        times,
        wanted,
        policy=str,
        rules=list,
        retry=lambda call: propagation.retry(call, lambda _: None),
        is_rolled_back=bool,
        sleep=lambda _: None,
        now=lambda: 1_000.0,
    )
    bucket.attach(previous="sqs")
    assert times.of(BUCKET).since == 1_000.0
