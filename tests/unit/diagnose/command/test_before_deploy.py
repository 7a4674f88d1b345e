"""`bucketcast doctor --before-deploy`: what CloudFormation would say after minutes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bucketcast.aws.clients import Aws
from tests.unit.conftest import Run, Watch
from tests.unit.moto_aws import MotoAws, make_bucket, notify, refusal

CONFIG = """
[bucket.uploads]
create = false
[bucket.fresh]
[notify_webhook.audit]
endpoint = "https://example.org/hook"
auth_token = "secret:hook"
[gateway]
function_url = "on"
"""
THUMBS = {
    "Id": "thumbs",
    "LambdaFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:Bucketcast-ingest",
    "Events": ["s3:ObjectCreated:*"],
    "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/"}]}},
}
Plant = Callable[[MotoAws], object]


class Stacks(dict[str, list[str]]):
    """The physical ids of the resources of each stack."""

    def paginate(self, StackName: str) -> Any:  # noqa: N803 - boto3's name
        if StackName not in self:
            raise refusal("ValidationError")
        resources = [{"PhysicalResourceId": each} for each in self[StackName]]
        return [{"StackResourceSummaries": resources}]


@pytest.fixture
def stacks(aws: MotoAws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stacks:
    """A new account in which nothing keeps the deploy from passing."""
    made = Stacks(CDKToolkit=["bucket"])
    monkeypatch.setattr(aws.cloudformation, "get_paginator", lambda _: made)
    limit = {"AccountLimit": {"UnreservedConcurrentExecutions": 1_000}}
    monkeypatch.setattr(aws.functions, "get_account_settings", Mock(return_value=limit))
    aws.secretsmanager.create_secret(Name="hook", SecretString="x")
    make_bucket("uploads")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bucketcast.toml").write_text(CONFIG)
    return made


def problems(run: Run) -> tuple[int, list[dict[str, str]]]:
    ran = run("doctor", "--before-deploy", "--json")
    return ran.code, ran.document["findings"]


def limited(aws: MotoAws) -> None:
    limit = {"AccountLimit": {"UnreservedConcurrentExecutions": 10}}
    aws.functions.get_account_settings = Mock(return_value=limit)  # type: ignore[method-assign]


def stale(_: MotoAws) -> None:
    gone = "arn:aws:lambda:us-east-1:123456789012:function:gone"
    entry = {**THUMBS, "LambdaFunctionArn": gone, "Events": ["s3:ObjectAcl:Put"]}
    notify("uploads", LambdaFunctionConfigurations=[entry])


def test_an_account_that_takes_the_deploy_has_no_findings(run: Run, stacks: Stacks) -> None:
    assert problems(run) == (0, [])
    stacks["Bucketcast"] = ["fresh", "https://sqs/123456789012/Bucketcast-ingress"]
    make_bucket("fresh")
    assert problems(run) == (0, [])


@pytest.mark.parametrize(
    ("plant", "subject", "found"),
    [
        (limited, "concurrency", "it reserves 5 of 10 concurrent executions"),
        (
            lambda aws: aws.secretsmanager.delete_secret(
                SecretId="hook", ForceDeleteWithoutRecovery=True
            ),
            "hook",
            "the secret does not exist",
        ),
        (
            lambda aws: aws.s3.delete_bucket(Bucket="uploads"),
            "uploads",
            "the bucket does not exist",
        ),
        (lambda _: make_bucket("fresh"), "fresh", "creates this bucket, which exists"),
        (
            lambda _: notify("uploads", LambdaFunctionConfigurations=[THUMBS]),
            "uploads",
            "another entry takes its events",
        ),
        (stale, "uploads", "function:gone, to which an entry"),
        (
            lambda aws: aws.sqs.create_queue(QueueName="Bucketcast-webhook-audit-dead"),
            "Bucketcast-webhook-audit-dead",
            "a queue of this name exists",
        ),
    ],
)
@pytest.mark.usefixtures("stacks")
def test_what_a_deploy_would_be_refused_for_is_found(
    run: Run, aws: MotoAws, plant: Plant, subject: str, found: str
) -> None:
    plant(aws)
    code, (one,) = problems(run)
    # Without a kms_key a stale entry refuses nothing.
    status = "warn" if plant is stale else "error"
    assert (code, one["subject"], one["status"]) == (int(status == "error"), subject, status)
    assert found in one["found"]
    assert one["hint"]


def test_a_region_without_bootstrap_is_found(run: Run, stacks: Stacks) -> None:
    del stacks["CDKToolkit"]
    assert problems(run)[1][0]["command"] == "cdk bootstrap aws://ACCOUNT/REGION"


@pytest.mark.usefixtures("stacks")
def test_what_may_not_be_read_is_said_and_the_rest_is_checked(
    run: Run, aws: Aws, watch: Watch
) -> None:
    watch(aws.secretsmanager, "describe_secret", refusal("AccessDeniedException"))
    make_bucket("fresh")
    _, findings = problems(run)
    assert [(each["subject"], each["status"]) for each in findings] == [
        ("fresh", "error"),
        ("hook", "warn"),
    ]
