"""Other sources: topics of SNS, which only a configuration adds.

That they may write to the ingress queue, and no others, is in `test_resource_policies.py`.
"""

from typing import Any

from tests.infra.conftest import Make, Synthesised

TOPIC = "arn:aws:sns:eu-west-1:444455556666:uploads"
OTHERS = f"""
[source]
topics = ["{TOPIC}"]
"""


def test_a_topic_is_subscribed_in_its_region_once_it_may_write(make: Make) -> None:
    stack = make(OTHERS)
    (subscription,) = stack.of_type("AWS::SNS::Subscription").values()
    properties = subscription["Properties"]
    assert (
        properties.items()
        >= {
            "TopicArn": TOPIC,
            "Region": "eu-west-1",
            "Protocol": "sqs",
            "RawMessageDelivery": True,
        }.items()
    )
    policies = stack.of_type("AWS::SQS::QueuePolicy")
    assert policies.keys() & set(subscription["DependsOn"])


def test_other_accounts_have_no_access_by_default(typical: Synthesised) -> None:
    (statement,) = _statements(typical, "BucketsOfThisAccount")
    account = statement["Condition"]["StringEquals"]["aws:SourceAccount"]
    assert account == {"Ref": "AWS::AccountId"}
    assert _statements(typical, "Topics") == []


def _statements(stack: Synthesised, sid: str) -> list[dict[str, Any]]:
    found = [each for _, each in stack.statements("AWS::SQS::QueuePolicy")]
    return [each for each in found if each.get("Sid") == sid]
