"""`bucketcast doctor --before-deploy`: what CloudFormation would say after minutes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest
from msgspec.structs import replace

from bucketcast.aws.clients import Aws
from bucketcast.destination import Destination
from bucketcast.rules import Rule
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Task, Topic
from tests.unit.conftest import Run, Watch
from tests.unit.moto_aws import (
    ACCOUNT,
    REGION,
    TABLE,
    MotoAws,
    client,
    make_bucket,
    notify,
    refusal,
)

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
BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
HAD = {
    "Bucketcast-ingest": "AWS::Lambda::Function",
    "Bucketcast-webhook-primary": "AWS::Lambda::Function",
    "https://sqs/123456789012/Bucketcast-ingress": "AWS::SQS::Queue",
    TABLE: "AWS::DynamoDB::Table",
    "fresh": "AWS::S3::Bucket",
}
"""What an earlier deploy made."""
Plant = Callable[[MotoAws], object]


class Stack(dict[str, str]):
    """The types of its resources by their physical ids, and the state of all."""

    state = "UPDATE_COMPLETE"

    def paginate(self, StackName: str) -> Any:  # noqa: N803 - boto3's name
        if not self:
            raise refusal("ValidationError")
        assert StackName == "Bucketcast"
        resources = [
            {"PhysicalResourceId": name, "ResourceType": kind, "ResourceStatus": self.state}
            for name, kind in self.items()
        ]
        return [{"StackResourceSummaries": resources}]


@pytest.fixture
def stack(aws: MotoAws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stack:
    """A new account in which nothing keeps the deploy from passing."""
    made = Stack()
    client("ssm").put_parameter(Name=BOOTSTRAP, Value="31", Type="String")
    monkeypatch.setattr(aws.cloudformation, "get_paginator", lambda _: made)
    limit = {"AccountLimit": {"UnreservedConcurrentExecutions": 1_000}}
    monkeypatch.setattr(aws.functions, "get_account_settings", Mock(return_value=limit))
    monkeypatch.setattr(aws.s3, "head_bucket", aws.s3.head_bucket)  # put back after `taken`
    aws.secretsmanager.create_secret(Name="hook", SecretString="x")
    make_bucket("uploads")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bucketcast.toml").write_text(CONFIG)
    return made


def test_rules_that_would_get_less_are_found(run: Run, aws: MotoAws, stack: Stack) -> None:
    stack.update(HAD)
    make_bucket("fresh")
    narrow = CONFIG.replace("[bucket.fresh]", 'events = "put"\n[bucket.fresh]')
    Path("bucketcast.toml").write_text(narrow)
    aws.rules.add(Rule(bucket="uploads", arn="a", events=("s3:ObjectAcl:Put",)))
    code, (one,) = problems(run)
    assert (code, one["subject"], one["status"]) == (1, "uploads", "error")
    assert "into [bucket.uploads]" in one["hint"]


def problems(run: Run) -> tuple[int, list[dict[str, str]]]:
    ran = run("doctor", "--before-deploy", "--json")
    return ran.code, ran.document["findings"]


def limited(aws: MotoAws, unreserved: int = 10) -> None:
    limit = {"AccountLimit": {"UnreservedConcurrentExecutions": unreserved}}
    aws.functions.get_account_settings = Mock(return_value=limit)  # type: ignore[method-assign]


def forgotten(aws: MotoAws) -> None:
    aws.secretsmanager.delete_secret(SecretId="hook", ForceDeleteWithoutRecovery=True)


def gone(aws: MotoAws) -> None:
    aws.s3.delete_bucket(Bucket="uploads")


def shared(_: MotoAws) -> None:
    notify("uploads", LambdaFunctionConfigurations=[THUMBS])


def left(aws: MotoAws) -> None:
    aws.sqs.create_queue(QueueName="Bucketcast-webhook-audit-dead")


def far(aws: MotoAws) -> None:
    gone(aws)
    there: Any = {"LocationConstraint": "eu-west-1"}
    aws.s3.create_bucket(Bucket="uploads", CreateBucketConfiguration=there)


def taken(aws: MotoAws) -> None:
    answers = [DEFAULT, refusal("403")]  # of the buckets uploads and fresh
    aws.s3.head_bucket = Mock(wraps=aws.s3.head_bucket, side_effect=answers)  # type: ignore[method-assign]


def test_an_account_that_takes_the_deploy_has_no_findings(
    run: Run, aws: MotoAws, stack: Stack
) -> None:
    assert problems(run) == (0, [])
    stack.update(HAD)
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    make_bucket("fresh")
    aws.functions.put_function_concurrency(
        FunctionName="Bucketcast-ingest", ReservedConcurrentExecutions=5
    )
    limited(aws, 100)
    assert problems(run) == (0, [])
    limited(aws, 99)
    assert [each["subject"] for each in problems(run)[1]] == ["concurrency"]


def test_what_a_rollback_removed_is_not_the_stacks(run: Run, aws: MotoAws, stack: Stack) -> None:
    stack.update(HAD)
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    make_bucket("fresh")
    limited(aws)
    left = {"Bucketcast-ingress", "concurrency", "fresh"}
    for stack.state in ("DELETE_COMPLETE", "DELETE_SKIPPED", "CREATE_FAILED"):
        assert {each["subject"] for each in problems(run)[1]} == left


def test_kinds_of_dynamic_targets_that_are_turned_off_are_found(
    run: Run, aws: MotoAws, stack: Stack
) -> None:
    stack.update(HAD)
    table = Table(TABLE, aws.dynamodb)
    topic = Topic(arn="arn:aws:sns:r::a", kind="amqp", id="", owner="ann", attributes={})
    made = DynamicTarget(arn="arn:minio:sqs::a:redis", kind="redis", id="a", queue="q")
    removed = replace(made, arn="arn:minio:sqs::b:nats", kind="nats", state="kept")
    for target in (topic, made, removed):
        task = Task(key=Destination.of(target.arn).key, holder="test", due=1)
        assert table.take(task, 0)
        table.commit(task, None, target, None)
    code, (one,) = problems(run)
    assert (code, one["found"].rpartition(": ")[2]) == (1, "amqp, redis")
    assert one["hint"] == 'write kinds = "amqp,redis" in [dynamic_targets]'
    Path("bucketcast.toml").write_text(f'{CONFIG}[dynamic_targets]\nkinds = "amqp,redis"\n')
    assert problems(run) == (0, [])


@pytest.mark.parametrize(
    ("plant", "subject", "found"),
    [
        (limited, "concurrency", "it reserves 5 of 10 concurrent executions"),
        (forgotten, "hook", "the secret does not exist"),
        (gone, "uploads", "the bucket does not exist"),
        (lambda _: make_bucket("fresh"), "fresh", "creates this bucket, which exists"),
        (shared, "uploads", "another entry takes its events"),
        (far, "uploads", "the bucket is in eu-west-1"),
        (taken, "fresh", "the name of this bucket is taken"),
        (left, "Bucketcast-webhook-audit-dead", "a queue of this name exists"),
    ],
)
@pytest.mark.usefixtures("stack")
def test_what_a_deploy_would_be_refused_for_is_found(
    run: Run, aws: MotoAws, plant: Plant, subject: str, found: str
) -> None:
    plant(aws)
    code, (one,) = problems(run)
    assert (code, one["subject"], one["status"]) == (1, subject, "error")
    assert found in one["found"]
    assert one["hint"]


@pytest.mark.usefixtures("stack")
def test_a_region_without_bootstrap_is_found(run: Run) -> None:
    client("ssm").delete_parameter(Name=BOOTSTRAP)
    assert problems(run)[1][0]["command"] == f"cdk bootstrap aws://{ACCOUNT}/{REGION}"


@pytest.mark.usefixtures("stack")
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
