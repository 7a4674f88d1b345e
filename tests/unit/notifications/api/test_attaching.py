"""Buckets that the gateway attaches, and forgets when they are removed."""

import time
from typing import Any
from unittest.mock import Mock

import pytest

from bucketcast.deployment import read_outputs
from bucketcast.errors import Busy
from bucketcast.notifications.api import Notifications
from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.aws.writer import ConcurrentWriteError, NotificationWriter
from bucketcast.notifications.document import Via
from bucketcast.state.rules import Rules
from bucketcast.users import User
from bucketcast.web.errors import S3Error, as_s3_error
from tests.unit.moto_aws import TABLE, MotoAws, event_patterns, make_bucket, notification
from tests.unit.notifications.api.test_document import config, queue
from tests.unit.notifications.command.test_attach import POLICY, THUMBS, admit

RULE = config(queue(events=("s3:ObjectCreated:*",))).encode()


@pytest.fixture(autouse=True)
def admitted(aws: MotoAws) -> None:
    admit(aws, POLICY)


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_a_bucket_that_is_removed_and_created_again_starts_unattached(
    notifications: Notifications, aws: MotoAws, via: Via
) -> None:
    make_bucket("images")
    Attachments(read_outputs("Bucketcast", aws), aws).attach("images", via)
    aws.s3.delete_bucket(Bucket="images")
    notifications.forget("images")
    assert AttachmentTimes(TABLE, aws.dynamodb).of("images") == Attachment()
    assert not event_patterns()
    make_bucket("images")
    assert not notification("images")
    notifications.attach("images")
    assert "QueueConfigurations" in notification("images")


def test_an_entry_of_others_for_the_same_events_is_named_and_stays(
    notifications: Notifications,
) -> None:
    make_bucket("photos", **THUMBS)
    with pytest.raises(S3Error, match=r"InvalidArgument.*'thumbs'"):
        notifications.put("photos", RULE, User("1", "ann", "", ("AK",)))
    assert notification("photos").keys() == THUMBS.keys()


@pytest.mark.parametrize(
    ("by", "fails", "result"),
    [
        (Rules, "_write", [False] * 30),
        (NotificationWriter, "write", ConcurrentWriteError("somebody else wrote")),
    ],
)
def test_who_meets_others_to_the_end_is_to_try_again(
    notifications: Notifications, monkeypatch: pytest.MonkeyPatch, by: Any, fails: str, result: Any
) -> None:
    monkeypatch.setattr(time, "sleep", Mock())
    monkeypatch.setattr(by, fails, Mock(side_effect=result))
    make_bucket("photos")
    with pytest.raises(Busy) as busy:
        notifications.put("photos", RULE, User("1", "ann", "", ("AK",)))
    shown = f"{as_s3_error(busy.value, '')}"
    assert shown.startswith(("ServiceUnavailable: others", "ServiceUnavailable: somebody else"))
