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


def bob(found: Policy, action: str = "sns:Publish", arn: str = ARN) -> str:
    return found.verdict("other", "bob", action, arn)


def test_a_policy_allows_its_actions_to_its_principals() -> None:
    found = policy({"Action": ["sns:Publish", "sns:getTopic*"]})
    assert bob(found) == "Allow"
    assert bob(found, "sns:GetTopicAttributes") == "Allow"
    assert bob(found, "sns:DeleteTopic") == ""
    assert bob(found, arn=ARN + "2") == ""
    assert found.verdict("other", "eve", "sns:Publish", ARN) == ""
    assert found.verdict("acme", "bob", "sns:Publish", ARN) == ""


def test_a_policy_without_end_is_refused() -> None:
    with pytest.raises(TopicError, match="no JSON") as caught:
        Policy.parse('{"Statement":' + "[" * 10_000)
    assert caught.value.code == "MalformedPolicyDocument"


@pytest.mark.parametrize("effect", ["Allow", "Deny"])
def test_a_topic_matches_a_policy_of_any_region(effect: str) -> None:
    """As one does that comes from Ceph, whose region is the zone group."""
    found = policy({"Effect": effect, "Action": "*"})
    assert bob(found, arn=ARN.replace("default", "us-east-1")) == effect
    assert bob(found, arn=ARN.replace("acme", "other")) == ""


def test_a_deny_goes_before_every_allow() -> None:
    found = policy({"Action": "sns:*"}, {"Effect": "Deny", "Action": "sns:DeleteTopic"})
    assert bob(found) == "Allow"
    assert bob(found, "sns:DeleteTopic") == "Deny"


@pytest.mark.parametrize(
    "principal", ["*", {"AWS": "*"}, {"AWS": ["x", "arn:aws:iam::other:root"]}, {"AWS": "other"}]
)
def test_everyone_and_whole_tenants_can_be_named(principal: Any) -> None:
    assert bob(policy({"Principal": principal, "Action": "*"})) == "Allow"


def test_the_default_can_be_written_too() -> None:
    found = Policy.parse(
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
    assert bob(found, "sns:DeleteTopic") == "Deny"
    assert bob(found) == ""
    assert found.verdict("acme", "ann", "sns:DeleteTopic", ARN) == ""


def test_the_tenant_of_no_name_is_not_everyone() -> None:
    found = policy({"Principal": {"AWS": "arn:aws:iam:::user/ann"}, "Action": "*"})
    assert found.verdict("", "ann", "sns:Publish", ARN) == "Allow"
    assert found.verdict("", "bob", "sns:Publish", ARN) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "{}",
        '{"Version":"1","Statement":[]}',
        '{"Statement":[{"Effect":"Allow","Action":"sns:*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Perhaps","Principal":"*","Action":"sns:*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"x","Action":"*","Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"*","Action":[],"Resource":"*"}]}',
        '{"Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{}}]}',
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(TopicError) as caught:
        Policy.parse(text)
    assert caught.value.code == "MalformedPolicyDocument"


def test_a_policy_has_the_limit_of_sns() -> None:
    """Every call to a topic reads its policy: one of 185 KB took half a second of it."""
    one = {"Effect": "Allow", "Action": "sns:Publish", "Principal": "*", "Resource": "*"}
    text = msgspec.json.encode({"Statement": [one]}).decode()
    assert Policy.parse(text.ljust(30_720)).statements
    with pytest.raises(TopicError, match="30,721 bytes: allowed are 30,720"):
        Policy.parse(text.ljust(30_721))


def test_a_policy_of_many_wildcards_is_read_at_once() -> None:
    hard = "*a" * 500 + "b"
    found = policy({"Action": "sns:*", "Resource": hard, "Principal": {"AWS": hard}})
    assert bob(found, arn=ARN + "a" * 256) == ""
