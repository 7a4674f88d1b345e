"""Created and existing buckets, and the two transports of their events."""

import json

import pytest

from bucketcast.errors import ConfigErrors
from tests.infra.conftest import Make, Synthesised
from tests.infra.resolved import Resolved
from tests.infra.resource_policies import listed

CREATED = '[bucket.{name}]\ncreate = true\nvia = "{via}"\n'


def test_created_bucket_is_closed_encrypted_and_kept(typical: Synthesised) -> None:
    properties = typical.properties("AWS::S3::Bucket")
    assert properties["BucketName"] == "uploads"
    assert all(properties["PublicAccessBlockConfiguration"].values())
    assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"] == [
        {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    ]
    # What others write into the bucket's notifications is not CloudFormation's to reset.
    assert "NotificationConfiguration" not in properties


def test_created_and_existing_buckets_have_the_same_resource(typical: Synthesised) -> None:
    connected = typical.properties_of("Custom::BucketNotification")
    assert {(each["Bucket"], each["Via"], each["Id"]) for each in connected} == {
        ("uploads", "sqs", "Bucketcast-ingress"),
        ("archive", "eventbridge", "Bucketcast-ingress"),
    }
    # Should the function never answer, the deploy fails within minutes, not after an hour.
    (timeout,) = {int(each["ServiceTimeout"]) for each in connected}
    assert 300 >= timeout > typical.function("Bucketcast-custom-resources")["Timeout"]
    assert {each["TakesEffect"] for each in connected} == {"600"}


def test_what_a_bucket_sends_is_narrowed(make: Make) -> None:
    names = '["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]'
    made = make(f'[bucket.uploads]\nevents = {names}\nprefix = "in/"\nsuffix = ".jpg"\n')
    part = {"events": json.loads(names), "prefix": "in/", "suffix": ".jpg"}
    assert made.properties("Custom::BucketNotification")["Part"] == part
    (output,) = [each for name, each in made.json["Outputs"].items() if "Attachments" in name]
    assert json.loads(output["Value"])["part"] == part


def test_what_buckets_send_is_looked_at_daily(typical: Synthesised) -> None:
    found = Resolved(typical.json)
    requests = [
        json.loads(rule["Targets"][0]["Input"])
        for rule in found.of_type("AWS::Events::Rule").values()
        if rule.get("ScheduleExpression") == "rate(1 day)"
    ]
    assert {request.pop("RequestType") for request in requests} == {"Check"}
    wanted = found.of_type("Custom::BucketNotification").values()
    names = {name for each in wanted for name in each if not name.startswith("Service")}
    assert [request["ResourceProperties"] for request in requests] == [
        {name: each[name] for name in names & each.keys()} for each in wanted
    ]
    (alarm,) = (
        each["Metrics"][0]["MetricStat"]["Metric"]
        for each in found.of_type("AWS::CloudWatch::Alarm").values()
        if each["AlarmName"] == "Bucketcast-notifications"
    )
    (function,) = alarm["Dimensions"]
    assert (alarm["MetricName"], function["Value"]) == ("Errors", "Bucketcast-custom-resources")


def test_custom_resource_requests_are_not_retried(typical: Synthesised) -> None:
    properties = typical.properties("AWS::Lambda::EventInvokeConfig")
    assert properties["FunctionName"]["Ref"].startswith("AttachmentsCustomResources")
    assert properties["MaximumRetryAttempts"] == 0
    assert properties["MaximumEventAgeInSeconds"] <= 900


def test_locally_s3_applies_a_notification_at_once(make: Make) -> None:
    local = make(CREATED.format(name="uploads", via="eventbridge"), local=True)
    assert local.properties("Custom::BucketNotification")["TakesEffect"] == "0"
    assert local.json["Outputs"]["TakesEffect"]["Value"] == "0"


def test_eventbridge_rule_is_removed_after_the_entry(typical: Synthesised) -> None:
    (rule,) = typical.event_rules()
    (entry,) = [
        found
        for found in typical.of_type("Custom::BucketNotification").values()
        if found["Properties"]["Via"] == "eventbridge"
    ]
    assert rule in entry["DependsOn"]


def test_shared_policy_is_removed_after_the_entries(typical: Synthesised) -> None:
    (common,) = {
        policy
        for policy, statement in typical.statements()
        if policy.startswith("Attachments") and "dynamodb:PutItem" in statement["Action"]
    }
    functions = typical.of_type("AWS::Lambda::Function")
    for found in typical.of_type("Custom::BucketNotification").values():
        (called, _) = found["Properties"]["ServiceToken"]["Fn::GetAtt"]
        assert common in functions[called]["DependsOn"]


def test_outputs_name_the_buckets_of_the_deploy(typical: Synthesised) -> None:
    outputs = typical.json["Outputs"]
    buckets = [
        json.loads(each["Value"]) for key, each in outputs.items() if key.startswith("Attachments")
    ]
    assert {each["bucket"]: each["via"] for each in buckets} == {
        "uploads": "sqs",
        "archive": "eventbridge",
    }


def test_entry_depends_on_queue_policy_and_rights(typical: Synthesised) -> None:
    for name, found in typical.of_type("Custom::BucketNotification").items():
        bucket = found["Properties"]["Bucket"]
        needed = [typical.json["Resources"][before] for before in found["DependsOn"]]
        types = {before["Type"] for before in needed}
        assert {"AWS::SQS::QueuePolicy", "AWS::IAM::ManagedPolicy"} <= types, name
        assert ("AWS::S3::Bucket" in types) == (bucket == "uploads")


def _notification_rights(made: Synthesised) -> dict[str, list[str]]:
    """The buckets of each policy that lets the function write notifications."""
    return {
        policy: [
            each["Fn::Join"][1][-1].rpartition(":")[2] for each in listed(statement["Resource"])
        ]
        for policy, statement in made.statements("AWS::IAM::ManagedPolicy")
        if "s3:PutBucketNotification" in statement["Action"]
    }


def test_removed_bucket_is_detached_before_its_permission_goes(make: Make) -> None:
    """A policy with another list is another policy: the old one goes after what depends on it."""
    (before,) = _notification_rights(make("[bucket.a1a]\n[bucket.b2b]\n"))
    (after,) = _notification_rights(make("[bucket.a1a]\n"))
    assert before != after
    for text, policy in (("[bucket.a1a]\n[bucket.b2b]\n", before), ("[bucket.a1a]\n", after)):
        for entry in make(text).of_type("Custom::BucketNotification").values():
            assert policy in entry["DependsOn"]


def _buckets(count: int) -> str:
    return "".join(f"[bucket.{number:063}]\ncreate = false\n" for number in range(count))


def test_buckets_beyond_one_policy_are_refused(make: Make) -> None:
    made = make(_buckets(60))
    (found,) = _notification_rights(made).values()
    assert len(found) == 60
    (policy,) = Resolved(made.json).of_type("AWS::IAM::ManagedPolicy").values()
    size = len(json.dumps(policy["PolicyDocument"], separators=(",", ":")))
    longer_partition = 60 * len("-us-gov")
    assert size + longer_partition <= 6_144
    with pytest.raises(ConfigErrors, match=r"61 buckets .* by `bucketcast bucket attach`"):
        make(_buckets(61))


def test_one_statement_allows_all_rules_to_write(make: Make) -> None:
    """A queue's policy takes 20."""
    made = make("".join(CREATED.format(name=f"b-{each}", via="eventbridge") for each in "123"))
    assert len(made.event_rules()) == 3
    for policy in made.of_type("AWS::SQS::QueuePolicy").values():
        statements = policy["Properties"]["PolicyDocument"]["Statement"]
        rules = [each for each in statements if "events.amazonaws.com" in json.dumps(each)]
        assert len(rules) <= 1


def test_eventbridge_rule_has_retries_and_dead_letters(typical: Synthesised) -> None:
    (rule,) = [found["Properties"] for found in typical.event_rules().values()]
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail": {"bucket": {"name": ["archive"]}},
    }
    (target,) = rule["Targets"]
    assert target["RetryPolicy"] == {
        "MaximumEventAgeInSeconds": 86_400,
        "MaximumRetryAttempts": 185,
    }
    assert "Arn" in target["DeadLetterConfig"]


def test_a_bucket_by_both_transports_has_a_rule(make: Make) -> None:
    found = make(CREATED.format(name="uploads", via="both"))
    assert len(found.event_rules()) == 1
