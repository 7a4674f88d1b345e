"""Destinations, and the ARNs that name them."""

import pytest

from bucketcast.destination import Destination, ListenerArn, TargetArn, TopicArn, Unknown


def test_text_and_arn_are_one() -> None:
    text, arn = "arn:minio:sqs:eu-central-1:1:redis", TargetArn("1", "redis", "eu-central-1")
    assert (TargetArn.parse(text), str(arn)) == (arn, text)


@pytest.mark.parametrize(
    "text",
    [
        "arn:aws:sqs::1:webhook",
        "arn:minio:sns::1:webhook",
        "arn:minio:sqs::webhook",
        "arn:minio:sqs:::webhook",
        "arn:minio:sqs::1:",
        "arn:minio:sqs::1:webhook:more",
    ],
)
def test_invalid_arn_is_reported_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match="invalid ARN") as refused:
        TargetArn.parse(text)
    assert f"'{text}'" in str(refused.value)
    assert "arn:minio:sqs:<region>:<id>:<type>" in str(refused.value)


@pytest.mark.parametrize(
    ("arn", "what"),
    [
        ("arn:minio:sqs::primary:webhook", TargetArn("primary", "webhook")),
        ("arn:aws:sns:eu-west-1:acme:t1", TopicArn("eu-west-1", "acme", "t1")),
        ("arn:aws:sns:::t1", TopicArn("", "", "t1")),
        ("arn:bucketcast:listen:::0a1b", ListenerArn("0a1b")),
        ("arn:aws:sns:eu-west-1:acme:", Unknown("arn:aws:sns:eu-west-1:acme:")),
        ("arn:aws:sns:eu-west-1:acme:t1:more", Unknown("arn:aws:sns:eu-west-1:acme:t1:more")),
    ],
)
def test_arn_is_read_as_its_destination(arn: str, what: Destination) -> None:
    assert Destination.of(arn) == what
    assert (what.arn, str(what)) == (arn, arn)


def test_the_key_of_a_topic_is_its_own_in_any_region() -> None:
    here, there = TopicArn("eu-west-1", "acme", "t1"), TopicArn("", "acme", "t1")
    assert here.key == there.key
    assert here.key.startswith(TopicArn.keys_of("acme"))
    assert here.key != TopicArn("eu-west-1", "", "t1").key
    kinds = ("topic", "topic-", "", "webhook")
    assert here.key not in {TargetArn(here.id, kind).key for kind in kinds}, "it has a policy"


def test_rules_store_targets_without_their_region_and_topics_as_they_are() -> None:
    assert Destination.of("arn:minio:sqs:eu:1:redis").plain == "arn:minio:sqs::1:redis"
    assert Destination.of("arn:aws:sns:eu::t1").plain == "arn:aws:sns:eu::t1"
