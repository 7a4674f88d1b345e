"""Buckets that are made, buckets that are found, and the two ways from them to the queue."""

import json
from pathlib import Path
from typing import Any

import pytest

from bucketcast.config import load
from stacks.limits import mistakes
from tests.infra.conftest import Make, Synthesised

CREATED = '[bucket.{name}]\ncreate = true\nvia = "{via}"\n'


def test_a_bucket_that_is_made_is_closed_encrypted_and_kept(typical: Synthesised) -> None:
    (bucket,) = typical.of_type("AWS::S3::Bucket").values()
    properties = bucket["Properties"]
    assert properties["BucketName"] == "uploads"
    assert all(properties["PublicAccessBlockConfiguration"].values())
    assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"] == [
        {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
    ]
    assert bucket["DeletionPolicy"] == "RetainExceptOnCreate"
    # What others write into the bucket's notifications is not CloudFormation's to reset.
    assert "NotificationConfiguration" not in properties


def test_made_and_found_buckets_are_wired_by_the_same_resource(typical: Synthesised) -> None:
    wired = [
        found["Properties"] for found in typical.of_type("Custom::BucketNotification").values()
    ]
    assert {(each["Bucket"], each["Via"], each["Id"]) for each in wired} == {
        ("uploads", "sqs", "Bucketcast-ingress"),
        ("archive", "eventbridge", "Bucketcast-ingress"),
    }
    # Should the function never answer, the deploy fails within minutes, not after an hour.
    patience = {int(each["ServiceTimeout"]) for each in wired}
    assert max(patience) <= 900
    # It may wait that long itself: for S3, which heeds a change late, and for rights.
    assert min(patience) > typical.function("Bucketcast-wiring")["Timeout"] > 600
    assert {each["Overlap"] for each in wired} == {"600"}


def test_here_s3_heeds_at_once_and_nobody_waits(make: Make) -> None:
    local = make(CREATED.format(name="uploads", via="eventbridge"), local=True)
    (wired,) = local.of_type("Custom::BucketNotification").values()
    assert wired["Properties"]["Overlap"] == "0"
    assert local.function("Bucketcast-wiring")["Timeout"] <= 300
    assert local.json["Outputs"]["TakesEffect"]["Value"] == "0"


def test_a_rule_of_eventbridge_is_there_before_the_entry_goes(typical: Synthesised) -> None:
    (rule,) = typical.of_type("AWS::Events::Rule")
    (entry,) = [
        found
        for found in typical.of_type("Custom::BucketNotification").values()
        if found["Properties"]["Via"] == "eventbridge"
    ]
    assert rule in entry["DependsOn"]


def test_the_function_writes_beside_the_rules_and_to_none(typical: Synthesised) -> None:
    (written,) = [
        json.dumps(statement["Condition"])
        for policy, statement in typical.statements()
        if policy.startswith("Wiring") and "dynamodb:PutItem" in statement["Action"]
    ]
    assert json.loads(written) == {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["#wired", "#lock"]}
    }


def test_what_all_buckets_need_is_in_one_policy_that_goes_after_their_entries(
    typical: Synthesised,
) -> None:
    (common,) = {
        policy
        for policy, statement in typical.statements()
        if policy.startswith("Wiring") and "dynamodb:PutItem" in statement["Action"]
    }
    for found in typical.of_type("Custom::BucketNotification").values():
        assert common in found["DependsOn"]


def _inline(made: Synthesised) -> int:
    """Count the characters that IAM counts of the inline policies of wiring's role."""
    (role,) = [name for name in made.of_type("AWS::IAM::Role") if name.startswith("WiringWire")]
    policies = [
        found["Properties"]["PolicyDocument"]
        for found in made.of_type("AWS::IAM::Policy").values()
        if {"Ref": role} in found["Properties"]["Roles"]
    ]
    values = {
        "AWS::Partition": "aws-us-gov",
        "AWS::Region": "ap-southeast-1",
        "AWS::StackId": "arn:aws-us-gov:cloudformation:ap-southeast-1:111122223333:stack/"
        + "x" * 77,
    }

    def text(value: Any) -> Any:
        """Put long values in place of what only the deploy knows."""
        if isinstance(value, list):
            return [text(each) for each in value]
        if not isinstance(value, dict):
            return value
        if "Fn::Join" in value:
            return "".join(text(each) for each in value["Fn::Join"][1])
        if "Fn::GetAtt" in value:
            return "arn:aws-us-gov:dynamodb:ap-southeast-1:111122223333:table/" + "x" * 90
        if "Ref" in value:
            return values.get(value["Ref"], "x" * 12)
        return {key: text(each) for key, each in value.items()}

    return sum(len(json.dumps(text(each), separators=(",", ":"))) for each in policies)


ACCESS = 'access_events = "on"\n'


@pytest.mark.parametrize("more", ["", ACCESS])
def test_forty_buckets_are_within_what_iam_takes_of_one_role(make: Make, more: str) -> None:
    names = [f"uploads-of-customer-{number:02}" for number in range(40)]
    made = make("".join(f"[bucket.{name}]\n{more}" for name in names))
    assert len(made.of_type("Custom::BucketNotification")) == 40
    assert _inline(made) <= 10_240


@pytest.mark.parametrize("stack", ["B", "B" * 40])
def test_as_many_buckets_as_are_accepted_fit_and_one_more_is_refused(
    make: Make, tmp_path: Path, stack: str
) -> None:
    config = tmp_path / "bucketcast.toml"

    def refused(count: int) -> str:
        config.write_text(text(count))
        return "; ".join(map(str, mistakes(load(config, {}, local=False), stack)))

    def text(count: int) -> str:
        return "".join(f"[bucket.{number:063}]\n" for number in range(count))

    most = next(count for count in range(100) if refused(count + 1))
    assert most >= 35
    assert "bucket: " in refused(most + 1)
    assert "IAM takes 10,240" in refused(most + 1)
    assert _inline(make(text(most), stack=stack)) <= 10_240


def test_the_command_line_learns_which_buckets_are_the_deploys(typical: Synthesised) -> None:
    outputs = typical.json["Outputs"]
    told = [json.loads(each["Value"]) for key, each in outputs.items() if key.startswith("Wiring")]
    assert {each["bucket"]: each["via"] for each in told} == {
        "uploads": "sqs",
        "archive": "eventbridge",
    }


def test_an_entry_waits_for_queue_policy_and_rights_and_leaves_before_them(
    typical: Synthesised,
) -> None:
    for name, found in typical.of_type("Custom::BucketNotification").items():
        bucket = found["Properties"]["Bucket"]
        needed = [typical.json["Resources"][before] for before in found["DependsOn"]]
        types = {before["Type"] for before in needed}
        assert {"AWS::SQS::QueuePolicy", "AWS::IAM::Policy"} <= types, name
        assert ("AWS::S3::Bucket" in types) == (bucket == "uploads")


def test_each_bucket_has_a_policy_of_its_own(typical: Synthesised) -> None:
    granted = [
        statement["Resource"]["Fn::Join"][1][-1]
        for _, statement in typical.statements()
        if "s3:PutBucketNotification" in statement["Action"]
    ]
    assert sorted(granted) == [":s3:::archive", ":s3:::uploads"]


def test_eventbridge_has_a_rule_for_the_bucket_with_retries_and_dead_letters(
    typical: Synthesised,
) -> None:
    (rule,) = [found["Properties"] for found in typical.of_type("AWS::Events::Rule").values()]
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


@pytest.mark.parametrize(("via", "rules"), [("sqs", 0), ("eventbridge", 1)])
def test_only_eventbridge_needs_a_rule(make: Make, via: str, rules: int) -> None:
    found = make(CREATED.format(name="uploads", via=via))
    assert len(found.of_type("AWS::Events::Rule")) == rules
    assert len(found.of_type("Custom::BucketNotification")) == 1


def test_without_buckets_and_targets_there_is_still_a_queue_to_write_to(make: Make) -> None:
    found = make("")
    assert len(found.of_type("AWS::SQS::Queue")) == 2
    functions = found.of_type("AWS::Lambda::Function").values()
    names = {each["Properties"]["FunctionName"] for each in functions}
    here = {name for name in names if not name.startswith("Bucketcast-runtime-")}
    assert here == {"Bucketcast-ingest", "Bucketcast-wiring"}
    assert found.mapping("Bucketcast-ingest")["BatchSize"] == 10
