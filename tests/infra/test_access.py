"""Access events: the trail, its log bucket, and the way of its events to the ingress queue."""

import json
from typing import Any

import pytest

from tests.infra.conftest import Make, Synthesised

ON = '[bucket.uploads]\naccess_events = "on"\n[bucket.other]\n'


@pytest.fixture(scope="module")
def found(make: Make) -> Synthesised:
    return make(ON)


def test_without_access_events_there_is_no_trail(make: Make) -> None:
    assert make('[bucket.uploads]\nvia = "sqs"').of_type("AWS::CloudTrail::Trail") == {}


def test_the_trail_is_made_to_log_what_costs_nothing(found: Synthesised) -> None:
    (trail,) = found.of_type("AWS::CloudTrail::Trail").values()
    properties = trail["Properties"]
    assert properties["IsLogging"] is True
    assert "EventSelectors" not in properties
    (selector,) = properties["AdvancedEventSelectors"]
    fields = {each["Field"]: each["Equals"] for each in selector["FieldSelectors"]}
    assert fields == {"eventCategory": ["Management"], "readOnly": ["false"]}


def test_its_log_empties_itself(found: Synthesised) -> None:
    buckets = found.of_type("AWS::S3::Bucket").values()
    (log,) = [each for each in buckets if "BucketName" not in each["Properties"]]
    (rule,) = log["Properties"]["LifecycleConfiguration"]["Rules"]
    assert (rule["ExpirationInDays"], rule["Status"]) == (7, "Enabled")
    assert log["DeletionPolicy"] == "RetainExceptOnCreate"


def test_a_rule_takes_the_calls_of_this_bucket_that_succeeded(found: Synthesised) -> None:
    (rule,) = [each["Properties"] for each in found.of_type("AWS::Events::Rule").values()]
    pattern = rule["EventPattern"]
    assert pattern["detail-type"] == ["AWS API Call via CloudTrail"]
    assert pattern["detail"]["requestParameters"] == {"bucketName": ["uploads"]}
    assert pattern["detail"]["errorCode"] == [{"exists": False}]
    assert "GetObject" in pattern["detail"]["eventName"]
    # Reads of objects are data events: only reads that are management events need more than this.
    assert rule["State"] == "ENABLED"


def test_the_wiring_of_such_a_bucket_selects_what_its_rules_ask_for(found: Synthesised) -> None:
    wired = {
        each["Properties"]["Bucket"]: each["Properties"]
        for each in found.of_type("Custom::BucketNotification").values()
    }
    assert {"Trail", "RulesTable", "Stack"} <= wired["uploads"].keys()
    assert "Trail" not in wired["other"]
    rights = [
        statement
        for policy, statement in found.statements()
        if policy.startswith("Wiring") and "cloudtrail" in json.dumps(statement["Action"])
    ]
    assert [each["Action"] for each in rights] == [
        ["cloudtrail:GetEventSelectors", "cloudtrail:PutEventSelectors"]
    ]
    assert rights[0]["Resource"] != "*"


def test_the_command_line_learns_the_trail(found: Synthesised) -> None:
    outputs: dict[str, Any] = found.json["Outputs"]
    assert "AccessTrail" in outputs
    told = [json.loads(each["Value"]) for key, each in outputs.items() if key.startswith("Wiring")]
    assert {each["bucket"]: each["access_events"] for each in told} == {
        "uploads": "on",
        "other": "off",
    }


def test_the_local_aws_has_the_rule_and_no_trail(make: Make) -> None:
    found = make(ON, local=True)
    assert found.of_type("AWS::CloudTrail::Trail") == {}
    assert len(found.of_type("AWS::Events::Rule")) == 1
