import json
from dataclasses import replace
from typing import Any

import pytest

from bucketcast import deployment as deployed
from bucketcast.deployment.health import health
from bucketcast.destination import TargetArn
from bucketcast.errors import BucketcastError
from bucketcast.notifications.aws import checks
from bucketcast.rules import Rule
from tests.unit.conftest import Deploy
from tests.unit.moto_aws import ENTRY, MotoAws, make_bucket


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    return deploy(("webhook", "webhook", "b"), ("postgres", "postgresql", "a"))


def test_a_target_is_found_whatever_its_region(aws: MotoAws) -> None:
    deployment = deployed.find("Bucketcast", aws)
    assert deployment.target(TargetArn("b", "webhook", "eu-west-1")).kind == "webhook"
    with pytest.raises(BucketcastError, match="postgres:a"):
        deployment.target(TargetArn("b", "redis"))


def test_a_stack_without_targets_says_where_to_add_one(aws: MotoAws) -> None:
    for key in [key for key in aws.outputs if key.startswith("Target")]:
        del aws.outputs[key]
    deployment = deployed.find("Bucketcast", aws)
    assert health(deployment.targets, [], aws) == []
    with pytest.raises(BucketcastError, match="add one to bucketcast"):
        deployment.target(TargetArn("b", "webhook"))


def asked(bucket: str) -> Rule:
    return Rule(bucket=bucket, arn="", events=("s3:ObjectRemoved:*",))


@pytest.mark.parametrize(
    ("notification", "expected"),
    [
        ({"QueueConfigurations": [ENTRY]}, ""),
        (
            {"QueueConfigurations": [{**ENTRY, "Events": ["s3:ObjectCreated:*"]}]},
            "S3 sends only s3:ObjectCreated:*: run ",
        ),
        (
            {"QueueConfigurations": [{**ENTRY, "QueueArn": f"{ENTRY['QueueArn']}-other"}]},
            "is not connected",
        ),
        ({"EventBridgeConfiguration": {}}, "is not connected to this deployment"),
        ({}, "is not connected to this deployment"),
    ],
)
def test_why_not_heard_reads_the_notifications(
    aws: MotoAws, notification: dict[str, Any], expected: str
) -> None:
    make_bucket("uploads", **notification)
    why = checks.why_not_heard([asked("uploads")], deployed.find("Bucketcast", aws), aws)
    assert expected in why
    assert bool(expected) is bool(why)


def test_buckets_that_a_listener_to_all_does_not_hear_are_named(aws: MotoAws) -> None:
    pipeline = deployed.DeployedPipeline("pipeline", {}, {})
    deployment = replace(deployed.find("Bucketcast", aws), pipeline=pipeline)
    make_bucket("attached", QueueConfigurations=[ENTRY])
    make_bucket("cdk-hnb659fds-assets-123456789012-us-east-1")
    make_bucket("pipeline")
    assert checks.not_heard(asked, deployment, aws) == ""
    make_bucket("incomplete", QueueConfigurations=[{**ENTRY, "Events": ["s3:ObjectCreated:*"]}])
    for number in range(9):
        make_bucket(f"other-{number}")
    text = checks.not_heard(asked, deployment, aws)
    assert text.startswith("not all events of incomplete, other-0, other-1, ")
    assert "other-6 and 2 more are reported" in text
    assert "`bucketcast bucket attach BUCKET`" in text


def test_a_bucket_that_does_not_exist_is_not_attached(aws: MotoAws) -> None:
    deployment = deployed.find("Bucketcast", aws)
    why = checks.why_not_heard([asked("uploads")], deployment, aws)
    assert why.startswith(checks.bucket_missing("uploads"))


def test_what_an_older_deploy_said_beside_is_no_error(aws: MotoAws) -> None:
    recorded = {"bucket": "pipeline", "jobs": {}, "scans": {}, "writes": "images"}
    aws.outputs["Pipeline"] = json.dumps(recorded)
    aws.change("arn:minio:sqs::b:webhook", writes="images")
    deployment = deployed.read_outputs("Bucketcast", aws)
    assert deployment.target(TargetArn("b", "webhook")).id == "b"
    assert deployment.pipeline == deployed.DeployedPipeline("pipeline", {}, {})
