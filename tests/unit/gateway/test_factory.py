"""The application of a deployment, as its function calls it."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import boto3
import pytest

from bucketcast.gateway.factory import Serves, create_app
from bucketcast.listen.queue import QueueUnavailableError, Sqs
from bucketcast.users.aws import Users
from functions.gateway import url
from tests.unit.conftest import Deploy
from tests.unit.functions.test_gateway import event
from tests.unit.moto_aws import TABLE, MotoAws
from tests.unit.web.requests import ANNA, SECRET


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    deployed = deploy()
    users = Users("Bucketcast", TABLE, deployed.dynamodb, deployed.secretsmanager)
    users.add(replace(ANNA, admin=True), SECRET)
    return deployed


def called(
    aws: MotoAws, target: str, serves: Serves = "notifications", listen_url: str = ""
) -> dict[str, Any]:
    """Return the answer of a function to Anna's GET."""
    app = create_app("Bucketcast", TABLE, aws, serves=serves, listen_url=listen_url)
    return asyncio.run(url.answer(app, event("GET", target)))


def test_s3_is_where_botocore_finds_it(aws: MotoAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws, "s3", boto3.client("s3", region_name="eusc-de-east-1"))
    endpoint = "https://s3.eusc-de-east-1.amazonaws.eu"
    assert f"objects are at {endpoint}<" in called(aws, "/images/a.jpg")["body"]


LISTEN = "/images?events=s3%3AObjectCreated%3A%2A"
NOTIFICATIONS = "/images?notification"


def test_listening_says_how_it_is_switched_on(aws: MotoAws) -> None:
    """Of NotImplemented `mc` would not show the message."""
    answer = called(aws, LISTEN)
    assert answer["statusCode"] == 400
    assert "<Code>InvalidRequest</Code>" in answer["body"]
    assert "listen_concurrency in [gateway] of bucketcast.toml" in answer["body"]


def test_listening_elsewhere_names_the_endpoint(aws: MotoAws) -> None:
    answer = called(aws, LISTEN, listen_url="https://listen.example/")
    assert (answer["statusCode"], "https://listen.example/<" in answer["body"]) == (400, True)


def test_listen_calls_reach_the_function_that_serves_them(aws: MotoAws) -> None:
    """There is no such bucket, as only that function finds out."""
    answer = called(aws, LISTEN, serves="listeners")
    assert (answer["statusCode"], "<Code>NoSuchBucket<" in answer["body"]) == (404, True)


@pytest.mark.parametrize("serves", ["listeners", "notifications"])
def test_no_call_of_aws_blocks_the_event_loop(
    aws: MotoAws, monkeypatch: pytest.MonkeyPatch, serves: Serves
) -> None:
    """All listeners of a process would stand still meanwhile."""
    blocked: list[str] = []

    def check(model: Any, **_: Any) -> None:
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            blocked.append(model.name)

    describe = aws.cloudformation.describe_stacks

    def describe_stacks(**stack: str) -> Any:
        check(SimpleNamespace(name="DescribeStacks"))
        return describe(**stack)

    monkeypatch.setattr(aws.cloudformation, "describe_stacks", describe_stacks)
    monkeypatch.setattr("bucketcast.deployment.outputs.MAX_AGE_SECONDS", 0.0)
    monkeypatch.setattr(Sqs, "call", AsyncMock(side_effect=QueueUnavailableError))
    for client in (aws.dynamodb, aws.s3, aws.secretsmanager, aws.sqs):
        client.meta.events.register("before-call", check)
    target = NOTIFICATIONS if serves == "notifications" else LISTEN.replace("/images", "/")
    called(aws, target, serves=serves)
    for client in (aws.dynamodb, aws.s3, aws.secretsmanager, aws.sqs):
        client.meta.events.unregister("before-call", check)
    assert blocked == []


@pytest.mark.parametrize("target", [NOTIFICATIONS, "/images/a.jpg", "/minio/admin/v3/info"])
def test_function_for_listeners_answers_nothing_else(aws: MotoAws, target: str) -> None:
    answer = called(aws, target, serves="listeners")
    assert answer["statusCode"] == 501
    assert "this endpoint answers listen calls" in answer["body"]
