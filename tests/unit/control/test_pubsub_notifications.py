"""Notifications that Ceph's PubSub API makes in a bucket."""

import json

import pytest

from bucketcast.aws.rules import Rules
from bucketcast.aws.topics.table import TopicTable
from bucketcast.control.pubsub.notifications import BucketTopics
from bucketcast.control.s3 import notification as api
from bucketcast.control.s3.notification import Notifications
from bucketcast.topics.model import TopicArn
from bucketcast.users import User
from tests.unit.aws import TABLE, MotoAws, make_bucket
from tests.unit.conftest import Deploy

ANN = User("ann", "", "AK", admin=False)
BOB = User("bob", "acme", "BK", admin=False)


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    make_bucket("uploads")
    deployed = deploy()
    deployed.sqs.create_queue(QueueName="Bucketcast-ingress")
    deployed.outputs["Wiring0"] = json.dumps({"bucket": "uploads", "via": "sqs"})
    return deployed


@pytest.fixture
def buckets(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> BucketTopics:
    monkeypatch.setattr(api, "bindable", lambda arn, *_: arn)
    notifications = Notifications("Bucketcast", aws, "us-east-1")
    return BucketTopics(notifications, Rules(TABLE, aws.dynamodb), TopicTable(TABLE, aws.dynamodb))


def test_topics_of_one_name_in_two_tenants_do_not_replace_each_other(
    buckets: BucketTopics, aws: MotoAws
) -> None:
    ours, theirs = (TopicArn("us-east-1", each, "t") for each in ("", "acme"))
    buckets.bind("uploads", ours, None, ANN)
    buckets.bind("uploads", theirs, "OBJECT_CREATE", BOB)
    buckets.bind("uploads", theirs, "OBJECT_DELETE", BOB)
    rules = Rules(TABLE, aws.dynamodb)
    assert {rule.name: rule.arn for rule in rules.of("uploads")} == {
        "pubsub-t": str(ours),
        "pubsub-acme:t": str(theirs),
    }
    buckets.unbind("uploads", theirs)
    assert [rule.arn for rule in rules.of("uploads")] == [str(ours)]
