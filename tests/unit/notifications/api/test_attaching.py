"""Buckets that the gateway attaches, and forgets when they are removed."""

from functools import partial

import pytest

from bucketcast.deployment import read_outputs
from bucketcast.notifications.api import Notifications
from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.document import Via
from bucketcast.users import User
from bucketcast.web.errors import S3Error
from tests.unit.conftest import Deploy
from tests.unit.moto_aws import TABLE, MotoAws, event_patterns, make_bucket, notification
from tests.unit.notifications.command.test_attach import POLICY, THUMBS, admit

RULE = (
    b"<NotificationConfiguration><QueueConfiguration><Event>s3:ObjectCreated:*</Event>"
    b"<Queue>arn:minio:sqs::primary:webhook</Queue></QueueConfiguration>"
    b"</NotificationConfiguration>"
)


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    deployed = deploy(("webhook", "webhook", "primary"))
    deployed.sqs.create_queue(QueueName="Bucketcast-ingress")
    admit(deployed, POLICY)
    return deployed


@pytest.mark.parametrize("via", ["sqs", "eventbridge"])
def test_a_bucket_that_is_removed_and_created_again_starts_unattached(
    aws: MotoAws, via: Via
) -> None:
    notifications = Notifications(partial(read_outputs, "Bucketcast", aws), aws, "us-east-1")
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


def test_an_entry_of_others_for_the_same_events_is_named_and_stays(aws: MotoAws) -> None:
    notifications = Notifications(partial(read_outputs, "Bucketcast", aws), aws, "us-east-1")
    make_bucket("photos", **THUMBS)
    with pytest.raises(S3Error, match=r"InvalidArgument.*'thumbs'"):
        notifications.put("photos", RULE, User("1", "ann", "", ("AK",)))
    assert notification("photos").keys() == THUMBS.keys()
