"""Topics through the gateway by the sns client of boto3, and what they make."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.destination import TopicArn
from tests.e2e.system import System

_LOCAL = "arn:aws:sns:us-east-1::"


@pytest.fixture(scope="module")
def sns(system: System) -> Iterator[Any]:
    client = system.through("sns")
    yield client
    client.close()


@pytest.fixture
def name(prefix: str) -> str:
    return prefix.strip("/")


def listed(sns: Any) -> list[str]:
    pages = sns.get_paginator("list_topics").paginate()
    return [each["TopicArn"] for page in pages for each in page["Topics"]]


def test_a_topic_is_made_read_changed_listed_and_deleted(
    system: System, sns: Any, name: str
) -> None:
    endpoint = f"http://{system.consumers.webhook.address}/{name}"
    attributes = {"push-endpoint": endpoint, "OpaqueData": "me+you", "persistent": "true"}
    arn = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
    assert arn == _LOCAL + name
    assert sns.create_topic(Name=name, Attributes=attributes)["TopicArn"] == arn
    sns.set_topic_attributes(TopicArn=arn, AttributeName="max_retries", AttributeValue="3")
    found = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    assert found["OpaqueData"] == "me+you"
    parsed = json.loads(found["EndPoint"])
    assert (parsed["EndpointAddress"], parsed["MaxRetries"]) == (endpoint, "3")
    assert arn in listed(sns)
    target = f"webhook.{TopicArn('', '', name).target_id}"
    fares = system.until(
        "its own target online",
        lambda: system.fares().get(target, {}),
        lambda seen: seen.get("online") is True,
        within=120,
    )
    assert fares["made"] == "at run time"
    sns.delete_topic(TopicArn=arn)
    sns.delete_topic(TopicArn=arn)
    assert arn not in listed(sns)
    with pytest.raises(ClientError, match="NotFound"):
        sns.get_topic_attributes(TopicArn=arn)
    assert target not in system.fares()
