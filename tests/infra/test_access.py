"""Access events: the trail, its log bucket, and the path of its events to the ingress queue."""

import json
from typing import Any

import pytest

from tests.infra.conftest import Make, Synthesised

ON = '[bucket.uploads]\naccess_events = "on"\n[bucket.other]\n'


@pytest.fixture(scope="module")
def found(make: Make) -> Synthesised:
    return make(ON)


def test_stack_without_access_events_has_no_trail(make: Make) -> None:
    assert make('[bucket.uploads]\nvia = "sqs"').of_type("AWS::CloudTrail::Trail") == {}


TRAIL = "arn:aws:cloudtrail:eu-central-1:111122223333:trail/everything"


def fields(selector: Any) -> dict[str, Any]:
    return {each["Field"]: each.get("Equals") for each in selector["FieldSelectors"]}


def test_new_trail_logs_no_data_events_yet(found: Synthesised) -> None:
    (trail,) = found.of_type("AWS::CloudTrail::Trail").values()
    properties = trail["Properties"]
    assert properties["IsLogging"] is True
    assert "EventSelectors" not in properties
    (selector,) = properties["AdvancedEventSelectors"]
    assert fields(selector)["eventCategory"] == ["Data"]
    unused = selector["FieldSelectors"][-1]
    assert unused["Field"] == "resources.ARN"
    assert "/unused/" in json.dumps(unused["StartsWith"])
    assert "CreateBucket" not in found.text()


def test_bucket_events_option_logs_bucket_creation_and_removal(make: Make) -> None:
    made = make(ON + '[trail]\nbucket_events = "on"\n')
    (trail,) = made.of_type("AWS::CloudTrail::Trail").values()
    (selector,) = trail["Properties"]["AdvancedEventSelectors"]
    assert fields(selector) == {"eventCategory": ["Management"], "readOnly": ["false"]}
    (rule,) = made.event_rules().values()
    assert "CreateBucket" in rule["Properties"]["EventPattern"]["detail"]["eventName"]
    assert made.json["Outputs"]["BucketEvents"]["Value"] == "on"


@pytest.mark.parametrize("name", ["everything", TRAIL])
def test_named_trail_is_used_and_none_is_made(make: Make, name: str) -> None:
    named = make(f'{ON}[trail]\nname = "{name}"\n')
    assert named.of_type("AWS::CloudTrail::Trail") == {}
    assert len(named.of_type("AWS::S3::Bucket")) == 2
    attachment = named.properties("Custom::BucketNotification", Bucket="uploads")
    assert "trail/everything" in json.dumps(attachment["Trail"])
    (logical_id,) = [key for key in named.of_type("AWS::IAM::Policy") if "AttachmentsTrail" in key]
    (statement,) = [each for policy, each in named.statements() if policy == logical_id]
    assert statement["Action"] == ["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"]
    assert statement["Resource"] == attachment["Trail"]
    found = named.of_type("Custom::BucketNotification").values()
    (resource,) = [each for each in found if each["Properties"]["Bucket"] == "uploads"]
    assert logical_id in resource["DependsOn"]
    assert "trail/everything" in json.dumps(named.json["Outputs"]["AccessTrail"])


def test_selectors_of_an_unmanaged_trail_stay(make: Make) -> None:
    """Members of an Organization cannot write its trail's selectors."""
    owner = TRAIL.replace("111122223333", "444455556666")
    stack = make(
        f'[gateway]\nfunction_url = "on"\n{ON}[trail]\nname = "{owner}"\nmanage_selectors = "off"\n'
    )
    assert stack.of_type("AWS::CloudTrail::Trail") == {}
    attachment = stack.properties("Custom::BucketNotification", Bucket="uploads")
    assert "Trail" not in attachment
    on_it = [each for _, each in stack.statements() if owner in json.dumps(each["Resource"])]
    assert on_it == []
    (rule,) = stack.event_rules().values()
    assert "GetObject" in rule["Properties"]["EventPattern"]["detail"]["eventName"]
    outputs = stack.json["Outputs"]
    assert outputs["AccessTrail"]["Value"] == owner
    assert outputs["TrailSelectors"]["Value"] == "off"
    outputs_read = [
        json.loads(each["Value"]) for key, each in outputs.items() if key.startswith("Attachments")
    ]
    assert {"bucket": "uploads", "via": "sqs", "access_events": "on"} in outputs_read


def test_trail_change_updates_the_selectors_of_each_bucket(make: Make) -> None:
    """CloudFormation writes all selectors of a trail anew, and ours for the buckets are gone."""
    made = make(ON + '[trail]\nbucket_events = "on"\n')
    attachment = made.properties("Custom::BucketNotification", Bucket="uploads")
    assert attachment["BucketEvents"] == "on"
    before = make(ON).properties("Custom::BucketNotification", Bucket="uploads")
    assert before["BucketEvents"] == "off"


def test_log_bucket_of_the_trail_expires_objects(found: Synthesised) -> None:
    buckets = found.of_type("AWS::S3::Bucket").values()
    (log,) = [each for each in buckets if "BucketName" not in each["Properties"]]
    (rule,) = log["Properties"]["LifecycleConfiguration"]["Rules"]
    assert (rule["ExpirationInDays"], rule["Status"]) == (7, "Enabled")
    assert log["DeletionPolicy"] == "RetainExceptOnCreate"


def test_access_rule_matches_successful_calls_of_its_bucket(found: Synthesised) -> None:
    (rule,) = [each["Properties"] for each in found.event_rules().values()]
    pattern = rule["EventPattern"]
    assert pattern["detail-type"] == ["AWS API Call via CloudTrail"]
    assert pattern["detail"]["requestParameters"] == {"bucketName": ["uploads"]}
    assert pattern["detail"]["errorCode"] == [{"exists": False}]
    assert "GetObject" in pattern["detail"]["eventName"]
    # Reads of objects are data events: only reads that are management events need more than this.
    assert rule["State"] == "ENABLED"


def test_attachment_with_access_events_has_the_trail(found: Synthesised) -> None:
    attachment = {
        each["Properties"]["Bucket"]: each["Properties"]
        for each in found.of_type("Custom::BucketNotification").values()
    }
    assert {"Trail", "StateTable", "Stack"} <= attachment["uploads"].keys()
    assert "Trail" not in attachment["other"]
    rights = [
        statement
        for policy, statement in found.statements()
        if policy.startswith("Attachments") and "cloudtrail" in json.dumps(statement["Action"])
    ]
    assert [each["Action"] for each in rights] == [
        ["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"]
    ]
    assert rights[0]["Resource"] != "*"


def test_outputs_name_the_trail(found: Synthesised) -> None:
    outputs: dict[str, Any] = found.json["Outputs"]
    assert "AccessTrail" in outputs
    made = [
        json.loads(each["Value"]) for key, each in outputs.items() if key.startswith("Attachments")
    ]
    assert {each["bucket"]: each["access_events"] for each in made} == {
        "uploads": "on",
        "other": "off",
    }


def test_local_stack_has_the_access_rule_and_no_trail(make: Make) -> None:
    found = make(ON, local=True)
    assert found.of_type("AWS::CloudTrail::Trail") == {}
    assert len(found.event_rules()) == 1
