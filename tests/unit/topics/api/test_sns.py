"""The SNS API of topics: what every action answers to boto3's own client."""

import json
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.topics.api import sns
from bucketcast.topics.api.user_topics import UserTopics
from bucketcast.users import User
from tests.unit.dynamic_targets.account import Account
from tests.unit.topics.api.sns_calls import Server, refused

T1 = "arn:aws:sns:us-east-1:acme:t1"
FULL = {
    "push-endpoint": "amqp://rabbit:5672/v",
    "OpaqueData": "me@example.com & <you>",
    "persistent": "true",
    "time_to_live": "60",
    "max_retries": "0",
    "retry_sleep_duration": "None",
    "amqp-exchange": "ex",
    "amqp-ack-level": "routable",
}


@pytest.fixture
def ann(server: Server) -> Any:
    return server.client("ANN")


def read(client: Any, arn: str = T1) -> dict[str, Any]:
    attributes: dict[str, Any] = dict(client.get_topic_attributes(TopicArn=arn)["Attributes"])
    return {**attributes, "EndPoint": json.loads(attributes["EndPoint"])}


@pytest.mark.parametrize(
    ("key", "text", "where", "expected"),
    [
        ("OpaqueData", "new", None, "new"),
        ("push-endpoint", "amqp://other", "EndpointAddress", "amqp://other"),
        ("persistent", "false", "Persistent", False),
        ("time_to_live", "", "TimeToLive", "None"),
        ("max_retries", "5", "MaxRetries", "5"),
        ("retry_sleep_duration", "7", "RetrySleepDuration", "7"),
        ("amqp-exchange", "ex2", "EndpointArgs", "amqp-ack-level=routable&amqp-exchange=ex2"),
    ],
)
def test_set_changes_one_attribute_only(
    ann: Any, server: Server, key: str, text: str, where: str | None, expected: object
) -> None:
    assert ann.create_topic(Name="t1", Attributes=FULL)["TopicArn"] == T1
    before = read(ann)
    ann.set_topic_attributes(TopicArn=T1, AttributeName=key, AttributeValue=text)
    audited = [server.audited[name] for name in ("action", "resource", "changed")]
    assert audited == ["SetTopicAttributes", T1, [key]]
    after = read(ann)
    attributes, part = (after, key) if where is None else (after["EndPoint"], where)
    assert attributes.pop(part) == expected
    assert (before if where is None else before["EndPoint"]).pop(part) != expected
    assert after == before


def test_delete_may_be_repeated_and_get_then_fails(ann: Any) -> None:
    ann.create_topic(Name="t1")
    ann.delete_topic(TopicArn=T1)
    ann.delete_topic(TopicArn=T1)
    assert refused(lambda: ann.get_topic_attributes(TopicArn=T1)) == ("NotFound", 404)
    with pytest.raises(ann.exceptions.NotFoundException):
        ann.set_topic_attributes(TopicArn=T1, AttributeName="OpaqueData", AttributeValue="x")


def test_sdk_paginator_lists_topics_in_pages(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sns, "MOST_PAGE_TOPICS", 2)
    for number in range(5):
        ann.create_topic(Name=f"t{number}")
    pages = list(ann.get_paginator("list_topics").paginate())
    assert [len(page["Topics"]) for page in pages] == [2, 2, 1]
    listed = [topic["TopicArn"] for page in pages for topic in page["Topics"]]
    assert sorted(listed) == [f"arn:aws:sns:us-east-1:acme:t{number}" for number in range(5)]
    assert refused(lambda: ann.list_topics(NextToken="what?")) == ("InvalidArgument", 400)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "ä", "a:b", "a/b", "x" * 257])
def test_invalid_names_are_refused(ann: Any, name: str) -> None:
    assert refused(lambda: ann.create_topic(Name=name)) == ("InvalidArgument", 400)


@pytest.mark.parametrize("arn", ["t1", "arn:aws:sns:us-east-1:acme:", "arn:aws:s3:::b", T1 + ":x"])
def test_invalid_arn_is_refused(ann: Any, arn: str) -> None:
    for ask in (ann.get_topic_attributes, ann.delete_topic):
        assert refused(partial(ask, TopicArn=arn)) == ("InvalidArgument", 400)


def test_unknown_attribute_cannot_be_set(ann: Any) -> None:
    ann.create_topic(Name="t1")
    with pytest.raises(ClientError, match=r"InvalidArgument.* did you mean.* OpaqueData"):
        ann.set_topic_attributes(TopicArn=T1, AttributeName="OpaqeData", AttributeValue="x")


def test_action_unknown_to_ceph_is_refused(ann: Any) -> None:
    assert refused(lambda: ann.publish(TopicArn=T1, Message="x")) == ("MethodNotAllowed", 405)


def test_user_has_no_more_topics_than_allowed(account: Account) -> None:
    server = Server(account, topics_per_user=2)
    ann = server.client("ANN")
    for name in ("t1", "t2", "t2"):
        ann.create_topic(Name=name)
    assert refused(lambda: ann.create_topic(Name="t3")) == ("TopicLimitExceeded", 403)
    server.client("ALF").create_topic(Name="t3")
    ann.delete_topic(TopicArn=T1)
    ann.create_topic(Name="t4")


def test_the_limit_holds_for_calls_that_overtake_each_other(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has counted before the others are stored."""
    server = Server(account, topics_per_user=2)
    ann = server.client("ANN")
    count, names = UserTopics._check_quota, ["t3", "t2"]

    def overtaken(topics: UserTopics, user: User, limit: int) -> None:
        count(topics, user, limit)
        if names:
            with suppress(ClientError):
                ann.create_topic(Name=names.pop())

    monkeypatch.setattr(UserTopics, "_check_quota", overtaken)
    assert refused(lambda: ann.create_topic(Name="t1")) == ("ServiceUnavailable", 503)
    assert len(ann.list_topics()["Topics"]) == 2
