"""Buckets that the gateway attaches for those who listen to all of theirs."""

from functools import partial

import pytest

from bucketcast.deployment import read_outputs
from bucketcast.notifications.api import Notifications
from bucketcast.notifications.aws.cutover import Cutovers
from tests.unit.conftest import Deploy, Watch
from tests.unit.moto_aws import TABLE, MotoAws, make_bucket, notification
from tests.unit.notifications.command.test_attach import POLICY, THUMBS, admit


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    deployed = deploy()
    deployed.sqs.create_queue(QueueName="Bucketcast-ingress")
    admit(deployed, POLICY)
    return deployed


@pytest.fixture
def notifications(aws: MotoAws) -> Notifications:
    return Notifications(partial(read_outputs, "Bucketcast", aws), aws, "us-east-1")


def test_all_buckets_of_a_user_are_attached_but_those_that_cannot_be(
    notifications: Notifications,
) -> None:
    make_bucket("images")
    make_bucket("photos", **THUMBS)
    make_bucket("foreign")
    notifications.attach_all(["images", "photos", "gone"])
    assert "QueueConfigurations" in notification("images")
    assert notification("photos").keys() == THUMBS.keys(), "another entry takes its events"
    assert not notification("foreign")


def test_buckets_that_were_attached_before_cost_no_call(
    notifications: Notifications, aws: MotoAws, watch: Watch
) -> None:
    make_bucket("images")
    notifications.attach_all(["images"])
    read = watch(aws.s3, "get_bucket_notification_configuration")
    notifications.attach_all(["images"])
    assert not read.called


def test_a_bucket_that_is_removed_and_created_again_is_attached_again(
    notifications: Notifications, aws: MotoAws
) -> None:
    for _ in range(2):
        make_bucket("images")
        notifications.attach_all(["images"])
        assert "QueueConfigurations" in notification("images")
        aws.s3.delete_bucket(Bucket="images")
        notifications.forget("images")
    assert Cutovers(TABLE, aws.dynamodb).of("images") is None
