"""Notifications that Ceph's PubSub API makes in a bucket."""

import json
from collections.abc import Iterator

import pytest
from moto import mock_aws

from bucketcast.aws.rules import Rules
from bucketcast.aws.topics.table import TopicTable
from bucketcast.control.pubsub.notifications import BucketTopics
from bucketcast.control.s3 import notification as api
from bucketcast.control.s3.notification import Notifications
from bucketcast.topics.model import TopicArn
from bucketcast.users import User
from tests.unit.fake_aws import TABLE, FakeAws
from tests.unit.fake_buckets import Buckets, EventRules

ANN = User("ann", "", "AK", admin=False)
BOB = User("bob", "acme", "BK", admin=False)


@pytest.fixture
def aws() -> Iterator[FakeAws]:
    with mock_aws():
        found = FakeAws()
        found.s3 = Buckets(b={})
        found.s3.head_bucket = lambda Bucket: {}  # noqa: ARG005, N803 - boto3's name
        found.events = EventRules()
        found.sqs.create_queue(QueueName="Bucketcast-ingress")
        found.outputs["Wiring0"] = json.dumps({"bucket": "b", "via": "sqs"})
        yield found


@pytest.fixture
def buckets(aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> BucketTopics:
    monkeypatch.setattr(api, "bindable", lambda arn, *_: arn)
    notifications = Notifications("Bucketcast", aws, "us-east-1")
    return BucketTopics(notifications, Rules(TABLE, aws.dynamodb), TopicTable(TABLE, aws.dynamodb))


def test_topics_of_one_name_in_two_tenants_do_not_replace_each_other(
    buckets: BucketTopics, aws: FakeAws
) -> None:
    ours, theirs = (TopicArn("us-east-1", each, "t") for each in ("", "acme"))
    buckets.bind("b", ours, None, ANN)
    buckets.bind("b", theirs, "OBJECT_CREATE", BOB)
    buckets.bind("b", theirs, "OBJECT_DELETE", BOB)
    rules = Rules(TABLE, aws.dynamodb)
    assert {rule.name: rule.arn for rule in rules.of("b")} == {
        "pubsub-t": str(ours),
        "pubsub-acme:t": str(theirs),
    }
    buckets.unbind("b", theirs)
    assert [rule.arn for rule in rules.of("b")] == [str(ours)]
