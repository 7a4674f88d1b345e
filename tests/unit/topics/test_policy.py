"""Policies of topics: whom they let do what, and which are refused."""

import json
from typing import Any

import msgspec
import pytest

from bucketcast.topics.errors import TopicError
from bucketcast.topics.policy import Policy

ARN = "arn:aws:sns:default:acme:t1"
BOB = "arn:aws:iam::other:user/bob"


def policy(*statements: dict[str, Any], **more: Any) -> Policy:
    usual = {"Effect": "Allow", "Principal": {"AWS": BOB}, "Resource": ARN}
    listed = [{**usual, **each} for each in statements]
    return Policy.parse(json.dumps({"Version": "2012-10-17", "Statement": listed, **more}))


def bob(parsed: Policy, action: str = "sns:Publish", arn: str = ARN) -> str:
    return parsed.evaluate("other", "bob", action, arn)


def test_a_policy_allows_its_actions_to_its_principals() -> None:
    parsed = policy({"Action": ["sns:Publish", "sns:getTopic*"]})
    assert bob(parsed) == "Allow"
    assert bob(parsed, "sns:GetTopicAttributes") == "Allow"
    assert bob(parsed, "sns:DeleteTopic") == ""
    assert bob(parsed, arn=ARN + "2") == ""
    assert parsed.evaluate("other", "eve", "sns:Publish", ARN) == ""
    assert parsed.evaluate("acme", "bob", "sns:Publish", ARN) == ""


@pytest.mark.parametrize("effect", ["Allow", "Deny"])
def test_a_topic_matches_a_policy_of_any_region(effect: str) -> None:
    """As one does that comes from Ceph, whose region is the zone group."""
    parsed = policy({"Effect": effect, "Action": "*"})
    assert bob(parsed, arn=ARN.replace("default", "us-east-1")) == effect
    assert bob(parsed, arn=ARN.replace("acme", "other")) == ""


def test_deny_overrides_every_allow() -> None:
    parsed = policy({"Action": "sns:*"}, {"Effect": "Deny", "Action": "sns:DeleteTopic"})
    assert bob(parsed) == "Allow"
    assert bob(parsed, "sns:DeleteTopic") == "Deny"


@pytest.mark.parametrize(
    "principal", ["*", {"AWS": "*"}, {"AWS": ["x", "arn:aws:iam::other:root"]}, {"AWS": "other"}]
)
def test_everyone_and_whole_tenants_can_be_named(principal: Any) -> None:
    assert bob(policy({"Principal": principal, "Action": "*"})) == "Allow"


def test_policy_may_use_negated_elements() -> None:
    parsed = Policy.parse(
        json.dumps(
            {
                "Statement": {
                    "Effect": "Deny",
                    "NotPrincipal": {"AWS": "arn:aws:iam::acme:user/ann"},
                    "NotAction": "sns:Publish",
                    "NotResource": "arn:aws:sns:*:*:other",
                }
            }
        )
    )
    assert bob(parsed, "sns:DeleteTopic") == "Deny"
    assert bob(parsed) == ""
    assert parsed.evaluate("acme", "ann", "sns:DeleteTopic", ARN) == ""


def test_empty_tenant_is_not_everyone() -> None:
    parsed = policy({"Principal": {"AWS": "arn:aws:iam:::user/ann"}, "Action": "*"})
    assert parsed.evaluate("", "ann", "sns:Publish", ARN) == "Allow"
    assert parsed.evaluate("", "bob", "sns:Publish", ARN) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"Version":"1","Statement":[]}',
        '{"Statement":' + "[" * 10_000,
        '{"Statement":[{"Effect":"Allow","Action":"sns:*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Perhaps","Principal":"*","Action":"sns:*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"x","Action":"*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"*","Action":[],"Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{}}]}',
    ],
)
def test_invalid_policy_is_refused(text: str) -> None:
    with pytest.raises(TopicError) as caught:
        Policy.parse(text)
    assert caught.value.code == "MalformedPolicyDocument"


def test_policy_has_the_size_limit_of_sns() -> None:
    """Every call to a topic reads its policy: one of 185 KB took half a second of it."""
    statement = {"Effect": "Allow", "Action": "sns:Publish", "Principal": "*", "Resource": "*"}
    text = msgspec.json.encode({"Statement": [statement]}).decode()
    assert Policy.parse(text.ljust(30_720)).statements
    with pytest.raises(TopicError, match="30,721 bytes: allowed are 30,720"):
        Policy.parse(text.ljust(30_721))


@pytest.mark.parametrize(
    "hard", [["*a" * 500], [f"*{number}" for number in range(500)], ["?" * 500]]
)
def test_policy_with_many_wildcards_is_refused(hard: list[str]) -> None:
    """Whoever lists topics reads it: one of 30 KB took up to a second of it."""
    for part, value in (("Resource", hard), ("Principal", {"AWS": hard})):
        whole = {"Effect": "Allow", "Action": "sns:Get*", "Principal": "*", "Resource": "*"}
        text = msgspec.json.encode({"Statement": [whole | {part: value}]}).decode()
        for each in (text, text.replace("*", "\\u002a")):
            with pytest.raises(TopicError, match=r"it has 50[12] wildcards: allowed are 100"):
                Policy.parse(each)
