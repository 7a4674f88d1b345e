"""Whose topics are whose, through the gateway with users of two tenants, and what a policy lets."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.e2e.secure_gateway import client
from tests.e2e.system import System

OWNER, OTHER = "lake", "river"


class User(NamedTuple):
    """A user who is no administrator, and clients with the user's keys."""

    name: str
    sns: Any
    s3: Any


@pytest.fixture(scope="module")
def users(system: System) -> Iterator[Callable[[str], User]]:
    """Make a user of a tenant."""
    made: list[User] = []

    def make(tenant: str) -> User:
        name = f"u{uuid4().hex[:8]}"
        ran = system.bucketcast("user", "add", name, "--tenant", tenant, "--json")
        assert ran.code == 0, ran.err
        clients = [client(system, each, keys=ran.document) for each in ("sns", "s3")]
        made.append(User(name, *clients))
        return made[-1]

    yield make
    for user in made:
        user.sns.close()
        user.s3.close()
        ran = system.bucketcast("user", "rm", user.name)
        assert ran.code == 0, ran.err


@pytest.fixture(scope="module")
def alice(users: Callable[[str], User]) -> User:
    return users(OWNER)


@pytest.fixture(scope="module")
def bob(users: Callable[[str], User]) -> User:
    return users(OTHER)


@pytest.fixture
def topic(system: System, alice: User, prefix: str) -> Iterator[str]:
    endpoint = f"http://{system.consumers.flaky.address}/open/{prefix}"
    name = prefix.strip("/")
    arn = str(alice.sns.create_topic(Name=name, Attributes={"push-endpoint": endpoint})["TopicArn"])
    yield arn
    system.bucketcast("topic", "rm", arn)


def read(user: User, arn: str) -> dict[str, str]:
    return dict(user.sns.get_topic_attributes(TopicArn=arn)["Attributes"])


def change(user: User, arn: str, value: str, name: str = "OpaqueData") -> None:
    user.sns.set_topic_attributes(TopicArn=arn, AttributeName=name, AttributeValue=value)


def overwrite(user: User, arn: str) -> str:
    """CreateTopic of the same name makes one of the caller's tenant; the ARN says whose it is."""
    return str(user.sns.create_topic(Name=arn.rpartition(":")[2])["TopicArn"])


def bind(user: User, bucket: str, arn: str, prefix: str) -> None:
    below = {"Key": {"FilterRules": [{"Name": "prefix", "Value": prefix}]}}
    wanted = {"Id": prefix, "TopicArn": arn, "Events": ["s3:ObjectCreated:*"], "Filter": below}
    user.s3.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"TopicConfigurations": [wanted]}
    )


def unbind(system: System, bucket: str, prefix: str) -> None:
    ran = system.bucketcast("notification", "rm", "--bucket", bucket, "--notification-id", prefix)
    assert ran.code == 0, ran.err


def bound(system: System, bucket: str) -> list[str]:
    ran = system.bucketcast("notification", "ls", "--bucket", bucket, "--json")
    assert ran.code == 0, ran.err
    return [each["Id"] for each in ran.document["notifications"]]


def listed(user: User) -> list[str]:
    pages = user.sns.get_paginator("list_topics").paginate()
    return [each["TopicArn"] for page in pages for each in page["Topics"]]


def code(act: Callable[[], object]) -> tuple[str, int]:
    """The code and the status of the error that it is refused with."""
    with pytest.raises(ClientError) as caught:
        act()
    answer = caught.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def allow(alice: User, arn: str, principal: str, *actions: str) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": principal},
        "Action": list(actions),
        "Resource": arn,
    }
    text = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    change(alice, arn, text, "Policy")


def test_another_tenant_may_do_nothing(
    system: System, alice: User, bob: User, topic: str, prefix: str
) -> None:
    before = read(alice, topic)
    refused = ("AuthorizationError", 403)
    assert code(lambda: read(bob, topic)) == refused
    assert code(lambda: change(bob, topic, "mine")) == refused
    assert code(lambda: bob.sns.delete_topic(TopicArn=topic)) == refused
    assert code(lambda: bind(bob, "uploads", topic, prefix)) == ("AccessDenied", 403)
    assert topic not in listed(bob)
    assert read(alice, topic) == before
    assert prefix not in bound(system, "uploads")
    own = overwrite(bob, topic)
    assert own != topic
    assert listed(bob) == [own]
    bob.sns.delete_topic(TopicArn=own)
    assert read(alice, topic) == before


def test_another_user_of_the_tenant_may_do_nothing_either(
    alice: User, users: Callable[[str], User], topic: str, prefix: str
) -> None:
    carol = users(OWNER)
    before = read(alice, topic)
    refused = ("AuthorizationError", 403)
    assert code(lambda: read(carol, topic)) == refused
    assert code(lambda: overwrite(carol, topic)) == refused
    assert code(lambda: change(carol, topic, "mine")) == refused
    assert code(lambda: carol.sns.delete_topic(TopicArn=topic)) == refused
    assert code(lambda: bind(carol, "uploads", topic, prefix)) == ("AccessDenied", 403)
    assert listed(carol) == []
    assert read(alice, topic) == before


@pytest.mark.parametrize("action", ["GetTopicAttributes", "SetTopicAttributes", "DeleteTopic"])
def test_a_policy_lets_another_tenant_do_just_that(
    system: System, alice: User, bob: User, topic: str, prefix: str, action: str
) -> None:
    allow(alice, topic, f"arn:aws:iam::{OTHER}:user/{bob.name}", f"sns:{action}")
    acts: dict[str, Callable[[], object]] = {
        "GetTopicAttributes": lambda: read(bob, topic),
        "SetTopicAttributes": lambda: change(bob, topic, "bob's"),
        "DeleteTopic": lambda: bob.sns.delete_topic(TopicArn=topic),
    }
    for name, act in acts.items():
        if name != action:
            assert code(act) == ("AuthorizationError", 403), name
    assert code(lambda: bind(bob, "uploads", topic, prefix)) == ("AccessDenied", 403)
    assert prefix not in bound(system, "uploads")
    acts[action]()
    if action == "SetTopicAttributes":
        assert read(alice, topic)["OpaqueData"] == "bob's"
    if action == "DeleteTopic":
        assert code(lambda: read(alice, topic)) == ("NotFound", 404)


def test_a_policy_lets_another_tenant_publish_from_a_bucket_and_no_more(
    system: System, alice: User, bob: User, users: Callable[[str], User], topic: str, prefix: str
) -> None:
    dave = users(OTHER)
    allow(alice, topic, f"arn:aws:iam::{OTHER}:user/{bob.name}", "sns:Publish")
    assert code(lambda: bind(dave, "uploads", topic, prefix)) == ("AccessDenied", 403)
    bind(bob, "uploads", topic, prefix)
    assert code(lambda: read(bob, topic)) == ("AuthorizationError", 403)
    assert code(lambda: bob.sns.delete_topic(TopicArn=topic)) == ("AuthorizationError", 403)
    system.put("uploads", f"{prefix}a")
    hook = system.consumers.flaky

    def arrived() -> list[str]:
        found = [each.body for each in hook.requests() if each.path == f"/open/{prefix}"]
        return [json.loads(body)["Records"][0]["s3"]["object"]["key"] for body in found]

    system.until_equal("what bob bound arrives", arrived, [f"{prefix}a"], within=120)
    unbind(system, "uploads", prefix)


def test_a_policy_for_a_whole_tenant_and_what_is_denied(
    alice: User, bob: User, users: Callable[[str], User], topic: str
) -> None:
    dave = users(OTHER)
    allow(alice, topic, f"arn:aws:iam::{OTHER}:root", "sns:GetTopicAttributes")
    assert read(bob, topic) == read(dave, topic) == read(alice, topic)
    denied = json.dumps(
        {
            "Statement": [
                {"Effect": "Allow", "Principal": "*", "Action": "sns:*", "Resource": "*"},
                {
                    "Effect": "Deny",
                    "Principal": {"AWS": f"arn:aws:iam::{OTHER}:user/{bob.name}"},
                    "Action": "sns:GetTopicAttributes",
                    "Resource": "*",
                },
            ]
        }
    )
    change(alice, topic, denied, "Policy")
    assert code(lambda: read(bob, topic)) == ("AuthorizationError", 403)
    assert read(dave, topic)["TopicArn"] == topic
