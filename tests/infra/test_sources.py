"""Who else may write to the ingress queue: buckets of other accounts, and topics of SNS."""

from typing import Any

from tests.infra.conftest import Make, Synthesised

TOPIC = "arn:aws:sns:eu-west-1:444455556666:uploads"
OTHERS = f"""
[source.s3]
accounts = ["444455556666"]

[source.sns]
topics = ["{TOPIC}"]
"""


def test_buckets_of_other_accounts_may_write_beside_those_of_this_one(make: Make) -> None:
    (statement,) = _statements(make(OTHERS), "BucketsOfThisAccount")
    accounts = statement["Condition"]["StringEquals"]["aws:SourceAccount"]
    assert accounts == [{"Ref": "AWS::AccountId"}, "444455556666"]


def test_a_topic_is_subscribed_in_its_region_and_may_write(make: Make) -> None:
    stack = make(OTHERS)
    (subscription,) = stack.of_type("AWS::SNS::Subscription").values()
    properties = subscription["Properties"]
    queue = properties.pop("Endpoint")
    assert properties == {
        "TopicArn": TOPIC,
        "Region": "eu-west-1",
        "Protocol": "sqs",
        "RawMessageDelivery": True,
    }
    (statement,) = _statements(stack, "Topics")
    assert statement["Resource"] == queue
    assert statement["Principal"] == {"Service": "sns.amazonaws.com"}
    assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": [TOPIC]}}
    policies = stack.of_type("AWS::SQS::QueuePolicy")
    assert policies.keys() & set(subscription["DependsOn"])


def test_without_them_nobody_else_may(typical: Synthesised) -> None:
    (statement,) = _statements(typical, "BucketsOfThisAccount")
    account = statement["Condition"]["StringEquals"]["aws:SourceAccount"]
    assert account == {"Ref": "AWS::AccountId"}
    assert _statements(typical, "Topics") == []


def _statements(stack: Synthesised, sid: str) -> list[dict[str, Any]]:
    found = [each for _, each in stack.statements("AWS::SQS::QueuePolicy")]
    return [each for each in found if each.get("Sid") == sid]
