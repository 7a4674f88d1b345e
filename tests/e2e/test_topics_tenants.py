"""A topic of one tenant whose policy lets a user of another publish to it, through the gateway."""

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
    """A user who is not an administrator, and clients with the user's keys."""

    name: str
    sns: Any
    s3: Any


@pytest.fixture(scope="module")
def users(system: System) -> Iterator[Callable[[str], User]]:
    """Make a user of a tenant."""
    made: list[User] = []

    def make(tenant: str) -> User:
        name = f"u{uuid4().hex[:8]}"
        ran = system.bucketcast(
            *("user", "add", name, "--tenant", tenant, "--bucket", "uploads=notify", "--json")
        )
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
    system.bucketcast("topic", "rm", arn, "--yes")


def read(user: User, arn: str) -> dict[str, str]:
    return dict(user.sns.get_topic_attributes(TopicArn=arn)["Attributes"])


def change(user: User, arn: str, value: str, name: str = "OpaqueData") -> None:
    user.sns.set_topic_attributes(TopicArn=arn, AttributeName=name, AttributeValue=value)


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


def test_policy_allows_another_tenant_to_publish_only(
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

    system.until_equal("what bob bound arrives", arrived, [f"{prefix}a"])
    unbind(system, "uploads", prefix)
