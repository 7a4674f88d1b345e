"""Topics through the gateway: boto3's sns and curl as Ceph's page shows, and what they make."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.topics.model import topic_id
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


def curl(system: System, *fields: str, service: str = "sns", signed: bool = True) -> str:
    """What curl answers to a form of these fields."""
    where = system.environment
    keys = f"{where['BUCKETCAST_ACCESS_KEY']}:{where['BUCKETCAST_SECRET_KEY']}"
    login = ["--aws-sigv4", f"aws:amz:{where['AWS_REGION']}:{service}", "--user", keys]
    given = [part for field in fields for part in ("--data-urlencode", field)]
    ran = subprocess.run(
        ["curl", "-sS", *(login if signed else []), *given, where["BUCKETCAST_URL"]],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return ran.stdout


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
    target = f"webhook.{topic_id('', name)}"
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


@pytest.mark.parametrize("service", ["sns", "s3"])
def test_curl_as_the_page_shows(system: System, sns: Any, name: str, service: str) -> None:
    made = curl(
        system,
        "Action=CreateTopic",
        f"Name={name}",
        "Attributes.entry.3.key=OpaqueData",
        "Attributes.entry.7.key=push-endpoint",
        "Attributes.entry.3.value=a b+c",
        "Attributes.entry.7.value=http://127.0.0.1:1/",
        service=service,
    )
    assert f"<TopicArn>{_LOCAL}{name}</TopicArn>" in made
    got = curl(system, "Action=GetTopic", f"TopicArn={_LOCAL}{name}", service=service)
    assert "<OpaqueData>a b+c</OpaqueData>" in got
    assert "<EndpointAddress>http://127.0.0.1:1/</EndpointAddress>" in got
    sns.delete_topic(TopicArn=_LOCAL + name)
    assert f"{_LOCAL}{name}<" not in curl(system, "Action=ListTopics", service=service)


def test_who_does_not_sign_or_sends_a_password_in_the_clear_is_refused(
    system: System, sns: Any, name: str
) -> None:
    refused = curl(system, "Action=CreateTopic", f"Name={name}", signed=False)
    assert re.search("<Error>.*<Code>AccessDenied</Code>", refused)
    with pytest.raises(ClientError, match="only taken over HTTPS"):
        sns.create_topic(Name=name, Attributes={"push-endpoint": "https://u:hunter2@h"})
    assert _LOCAL + name not in listed(sns)


def test_another_tenant_s_topic_is_out_of_reach(system: System, sns: Any, name: str) -> None:
    arn = sns.create_topic(Name=name)["TopicArn"]
    added = system.bucketcast(
        "user", "add", f"bob-{name[-6:]}", "--tenant", "other", "--json"
    ).document
    own = {
        "BUCKETCAST_ACCESS_KEY": added["access_key"],
        "BUCKETCAST_SECRET_KEY": added["secret_key"],
    }
    system.environment, mine = {**system.environment, **own}, system.environment
    try:
        other = system.through("sns")
    finally:
        system.environment = mine
    with pytest.raises(ClientError, match="AuthorizationError"):
        other.get_topic_attributes(TopicArn=arn)
    with pytest.raises(ClientError, match="AuthorizationError"):
        other.delete_topic(TopicArn=arn)
    assert other.create_topic(Name=name)["TopicArn"] == f"arn:aws:sns:us-east-1:other:{name}"
    assert listed(other) == [f"arn:aws:sns:us-east-1:other:{name}"]
    assert {arn, *listed(other)} <= set(listed(sns))
    for each in (*listed(other), arn):
        sns.delete_topic(TopicArn=each)
    other.close()
    assert system.bucketcast("user", "rm", f"bob-{name[-6:]}").code == 0
