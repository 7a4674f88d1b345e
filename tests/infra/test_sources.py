"""Who else may write to the ingress queue: buckets and buses of other accounts, topics of SNS."""

import json
from typing import Any

from tests.infra.conftest import Make, Synthesised

TOPIC = "arn:aws:sns:eu-west-1:444455556666:uploads"
OTHERS = f"""
[source.s3]
accounts = ["444455556666"]

[source.sns]
topics = ["{TOPIC}"]

[source.eventbridge]
accounts = ["444455556666", "777788889999"]
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


def test_accounts_may_put_events_of_s3_on_the_stacks_own_bus(make: Make) -> None:
    stack = make(OTHERS)
    ((logical_id, bus),) = stack.of_type("AWS::Events::EventBus").items()
    (allowed,) = bus["Properties"]["Policy"]["Statement"]
    assert (allowed["Effect"], allowed["Action"]) == ("Allow", "events:PutEvents")
    principals = json.dumps(allowed["Principal"]["AWS"])
    assert "::444455556666:root" in principals
    assert "::777788889999:root" in principals
    assert "event-bus/Bucketcast-accounts" in json.dumps(allowed["Resource"])
    (rule,) = [
        each["Properties"]
        for each in stack.event_rules().values()
        if each["Properties"].get("EventBusName") == {"Ref": logical_id}
    ]
    # Only EventBridge writes it: events that such an account puts itself are dropped.
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "account": ["444455556666", "777788889999"],
    }
    assert stack.json["Outputs"]["EventBus"]["Value"] == {"Fn::GetAtt": [logical_id, "Arn"]}
    (statement, _) = _statements(stack, "RulesOfThisStack")
    source_arn = json.dumps(statement["Condition"]["ArnLike"]["aws:SourceArn"])
    assert "rule/Bucketcast-*" in source_arn
    assert rule["Name"].startswith("Bucketcast-accounts-")


def test_other_accounts_have_no_access_by_default(typical: Synthesised) -> None:
    (statement,) = _statements(typical, "BucketsOfThisAccount")
    account = statement["Condition"]["StringEquals"]["aws:SourceAccount"]
    assert account == {"Ref": "AWS::AccountId"}
    assert _statements(typical, "Topics") == []
    assert typical.of_type("AWS::Events::EventBus") == {}


def _statements(stack: Synthesised, sid: str) -> list[dict[str, Any]]:
    found = [each for _, each in stack.statements("AWS::SQS::QueuePolicy")]
    return [each for each in found if each.get("Sid") == sid]
