from collections.abc import Iterator

import pytest
from moto import mock_aws

from bucketcast.arn import Arn
from bucketcast.attach.notifications import EVENTS
from bucketcast.aws import deployed
from bucketcast.aws.health import health
from tests.unit.fake_aws import INGRESS, FakeAws, refusal


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield FakeAws(("webhook", "webhook", "b"), ("postgres", "postgresql", "a"))


def test_targets_come_in_the_order_of_their_arns(aws: FakeAws) -> None:
    there = deployed.find("Bucketcast", aws)
    assert (there.ingress_queue, there.rules_table) == (INGRESS, "rules")
    assert [(each.kind, each.id, each.function) for each in there.targets] == [
        ("postgres", "a", "Bucketcast-postgres-a"),
        ("webhook", "b", "Bucketcast-webhook-b"),
    ]


def test_a_target_is_found_whatever_its_region(aws: FakeAws) -> None:
    there = deployed.find("Bucketcast", aws)
    assert there.target(Arn("b", "webhook", "eu-west-1")).kind == "webhook"
    with pytest.raises(deployed.NoSuchTargetError, match="arn:minio:sqs::a:postgresql"):
        there.target(Arn("b", "redis"))


def test_nothing_deployed_for_nobody_says_how_to_begin(aws: FakeAws) -> None:
    for key in [key for key in aws.outputs if key.startswith("Target")]:
        del aws.outputs[key]
    there = deployed.find("Bucketcast", aws)
    assert health(there.targets, aws) == []
    with pytest.raises(deployed.NoSuchTargetError, match="add one to bucketcast"):
        there.target(Arn("b", "webhook"))


@pytest.mark.parametrize(
    ("notification", "said"),
    [
        (
            {
                "QueueConfigurations": [
                    {
                        "QueueArn": "arn:aws:sqs:r:123456789012:Bucketcast-ingress",
                        "Events": list(EVENTS),
                    }
                ]
            },
            "",
        ),
        (
            {
                "QueueConfigurations": [
                    {
                        "QueueArn": "arn:aws:sqs:r:123456789012:Bucketcast-ingress",
                        "Events": ["s3:ObjectCreated:*"],
                    }
                ]
            },
            "is connected for a part only: s3:ObjectCreated:*",
        ),
        (
            {"QueueConfigurations": [{"QueueArn": "arn:aws:sqs:r:1:Bucketcast-ingress"}]},
            "is not connected",
        ),
        ({"EventBridgeConfiguration": {}}, ""),
        ({"TopicConfigurations": []}, "is not connected to this deployment"),
        (refusal("NoSuchBucket"), "does not exist"),
    ],
)
def test_whether_a_bucket_is_wired(aws: FakeAws, notification: object, said: str) -> None:
    aws.notification = notification
    there = deployed.find("Bucketcast", aws)
    why = deployed.why_not_attached("uploads", there, aws)
    assert said in why
    assert bool(said) is bool(why)
